// SPDX-License-Identifier: Apache-2.0

// Package policytext reads what policy files and seal files have in common: strict YAML
// whose mistakes are told with their place, and the patterns that paths are written as. It
// is pure: text in, text out.
package policytext

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxSize is the largest file that is read, in bytes.
const MaxSize = 1 << 20

// maxNesting bounds brackets and columns: the YAML parser recurses. maxKeys bounds the
// keys of one mapping: it compares each with all.
const (
	maxNesting = 64
	maxKeys    = 4096
)

// checkBytes refuses what a text editor would not show, which YAML scanners treat in
// ways of their own.
func (t *Text) checkBytes(text []byte) error {
	line, col := 1, 1
	for _, c := range text {
		switch {
		case c == '\n':
			line, col = line+1, 0
		case c < 0x20 && c != '\t' && c != '\r' || c == 0x7f:
			return t.Fail(Place{Line: line, Col: col}, fmt.Errorf("a control character (\\x%02x) in the %s", c, t.What))
		}
		col++
	}
	return nil
}

// Parse gives the one document of the text.
func (t *Text) Parse(text []byte) (root ast.Node, err error) {
	if len(text) > MaxSize {
		return nil, t.Fail(Place{}, fmt.Errorf("the %s is %d bytes long; at most %d are read", t.What, len(text), MaxSize))
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark, which YAML allows here
	t.Of(text)
	if err := t.checkBytes(text); err != nil {
		return nil, err
	}
	at := Place{Line: 1, Col: 1}
	defer func() {
		// A parser that gives up in a panic has not read the policy.
		if v := recover(); v != nil {
			root, err = nil, t.Fail(at, fmt.Errorf("not readable as YAML: %v", v))
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if err := t.checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, t.syntax(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			return nil, t.Fail(NodePlace(doc.Body), errors.New("a second YAML document: one file is one "+t.What))
		}
		root = doc.Body
	}
	if _, comment := root.(*ast.CommentGroupNode); root == nil || comment {
		return nil, t.Fail(at, &WordError{Msg: "the " + t.What + " is empty", Suggestion: "it begins with the line: " + t.First})
	}
	return root, nil
}

// checkTokens refuses, before the parser sees it, what policies have no use for and what
// could make the parser take very long or recurse very deep.
func (t *Text) checkTokens(tokens token.Tokens) error {
	depth := 0                       // of brackets
	var flowKeys [maxNesting + 1]int // keys of the mappings in brackets, by depth
	blockKeys := map[int]int{}       // keys of the open block mappings, by column
	for _, tok := range tokens {
		refuse := func(msg, suggestion string) error {
			return t.Fail(tokenPlace(tok), &WordError{Msg: msg, Suggestion: suggestion})
		}
		column := tok.Position.Column
		switch tok.Type {
		case token.SequenceStartType, token.MappingStartType:
			if depth++; depth > maxNesting {
				return refuse("nested too deeply", "")
			}
			flowKeys[depth] = 0
		case token.SequenceEndType, token.MappingEndType:
			depth = max(0, depth-1)
		case token.AnchorType, token.AliasType:
			return refuse("anchors and aliases (& and *) are not used here", "quote a pattern that begins with *, as in \"**/.env\"")
		case token.TagType:
			return refuse("tags (!) are not used here", "")
		case token.DirectiveType:
			return refuse("directives (%) are not used here", "")
		case token.MergeKeyType:
			return refuse("merge keys (<<) are not used here", "")
		case token.MappingKeyType:
			return refuse("complex keys (?) are not used here", "")
		case token.SequenceEntryType:
			if column > maxNesting*8 {
				return refuse("nested too deeply", "")
			}
			for c := range blockKeys {
				if c > column {
					delete(blockKeys, c)
				}
			}
		case token.MappingValueType:
			if depth > 0 {
				if flowKeys[depth]++; flowKeys[depth] > maxKeys {
					return refuse("too many keys", "")
				}
				continue
			}
			if tok.Prev != nil {
				column = tok.Prev.Position.Column
			}
			if tok.Position.IndentNum > maxNesting*8 || tok.Position.IndentLevel > maxNesting {
				return refuse("nested too deeply", "")
			}
			for c := range blockKeys {
				if c > column {
					delete(blockKeys, c)
				}
			}
			if blockKeys[column]++; blockKeys[column] > maxKeys {
				return refuse("too many keys", "")
			}
		}
	}
	return nil
}

// syntax turns an error of the YAML parser into ours.
func (t *Text) syntax(err error) error {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		return t.Fail(Place{Line: 1, Col: 1}, fmt.Errorf("not readable as YAML: %w", err))
	}
	at, msg := tokenPlace(y.GetToken()), y.GetMessage()
	w := &WordError{Msg: "not readable as YAML: " + msg}
	switch {
	case strings.Contains(msg, "already defined"):
		w = &WordError{Msg: strings.Replace(msg, "mapping key", "the key", 1)}
	case strings.Contains(msg, "reserved character"):
		w.Suggestion = "quote a word that begins with @, as in \"@work/out\""
	case at.Line <= len(t.lines) && strings.Contains(t.lines[at.Line-1], "*"):
		w.Suggestion = "quote a pattern that begins with *, as in \"**/.env\""
	}
	return t.Fail(at, w)
}

func tokenPlace(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{Line: 1, Col: 1}
	}
	return Place{Line: max(1, t.Position.Line), Col: max(1, t.Position.Column)}
}

// NodePlace is where a node begins: for a mapping its first key.
func NodePlace(n ast.Node) Place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle || len(n.Values) == 0 {
			return tokenPlace(n.Start)
		}
		return NodePlace(n.Values[0].Key)
	case *ast.MappingValueNode:
		return NodePlace(n.Key)
	case *ast.SequenceNode:
		return tokenPlace(n.Start)
	case nil:
		return Place{Line: 1, Col: 1}
	}
	return tokenPlace(n.GetToken())
}

// Mapping reads a mapping whose keys are known.
func (r Reader) Mapping(n ast.Node, where string, keys []Key) error {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *Shape:
		return n.object(keys)
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		if where == "" {
			return r.Fail(n, "the %s is %s: want %s", r.T.What, Show(n), keyList(keys))
		}
		return r.Fail(n, "%s is %s: want %s", where, Show(n), keyList(keys))
	}
	seen := map[string]bool{}
	for _, v := range values {
		name := KeyName(v.Key)
		full := name
		if where != "" {
			full = where + "." + name
		}
		if seen[name] {
			return r.Fail(v.Key, "the key %q is there twice", full)
		}
		seen[name] = true
		known := false
		for _, k := range keys {
			if k.Name != name {
				continue
			}
			known = true
			if k.Read == nil {
				return r.Fail(v.Key, "%s is not supported by this version", full)
			}
			if err := k.Read(v.Value); err != nil {
				return err
			}
		}
		if !known {
			var names []string
			for _, k := range keys {
				names = append(names, k.Name)
			}
			msg := fmt.Sprintf("unknown key %q", name)
			if where != "" {
				msg += " in " + where
			}
			return r.T.Fail(NodePlace(v.Key), &WordError{Msg: msg, Suggestion: Likely(name, names, strings.Join(names, ", "))})
		}
	}
	return nil
}

// Section is Mapping for a key of another mapping.
func (r Reader) Section(where string, keys []Key) func(ast.Node) error {
	return func(n ast.Node) error { return r.Mapping(n, where, keys) }
}

// KeyName is the text of a key.
func KeyName(k ast.Node) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	return k.GetToken().Value
}

func keyList(keys []Key) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return "the keys " + strings.Join(names, ", ")
}

// Show words what was found, for "X is ...: want ...".
func Show(n ast.Node) string {
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.StringNode:
		return strconv.Quote(n.Value)
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.LiteralNode:
		return "a block of text"
	}
	return n.GetToken().Value
}

// List reads a list and hands each element to item.
func (r Reader) List(of string, item func(ast.Node) error) func(ast.Node) error {
	return func(n ast.Node) error {
		if d, ok := n.(*Shape); ok {
			return d.list(item)
		}
		seq, ok := n.(*ast.SequenceNode)
		if !ok {
			return r.Fail(n, "%s where a list of %s is wanted: write [ … ]", Show(n), of)
		}
		for _, v := range seq.Values {
			if err := item(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// Text reads a string. A number or truth value must be quoted, or 010 and yes would mean
// different things to different readers.
func (r Reader) Text(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *Shape:
		return "", n.Note(map[string]any{"type": "string"})
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return "", r.Fail(n, "%s is not text: quote it, as in %q", Show(n), n.GetToken().Value)
	}
	return "", r.Fail(n, "%s where text is wanted", Show(n))
}

// Path reads a path or address; a bare ~ is null to YAML and home to us.
func (r Reader) Path(n ast.Node, take func(string, Place) error) error {
	if d, ok := n.(*Shape); ok {
		return d.path()
	}
	if null, ok := n.(*ast.NullNode); ok && null.GetToken().Value == "~" {
		return take("~", NodePlace(n))
	}
	text, err := r.Text(n)
	if err != nil {
		return err
	}
	return take(text, NodePlace(n))
}

// Paths is Path for one or a list of them.
func (r Reader) Paths(n ast.Node, take func(string, Place) error) error {
	if d, ok := n.(*Shape); ok {
		return d.paths()
	}
	if _, ok := n.(*ast.SequenceNode); ok {
		return r.List("paths", func(n ast.Node) error { return r.Path(n, take) })(n)
	}
	return r.Path(n, take)
}

// Reader walks the tree of one file.
type Reader struct{ T *Text }

// Key is a word that may stand in a mapping; Read is nil for one that is documented and
// that this version does not enforce.
type Key struct {
	Name string
	Read func(ast.Node) error
}

// Fail makes the error for a node.
func (r Reader) Fail(n ast.Node, format string, args ...any) error {
	return r.T.Fail(NodePlace(n), fmt.Errorf(format, args...))
}
