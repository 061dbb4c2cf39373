// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"ptguard/decode"
)

// MaxPolicySize is the largest policy file that is read, in bytes.
const MaxPolicySize = 1 << 20

// maxNesting bounds brackets and columns: the YAML parser recurses. maxKeys bounds the
// keys of one mapping: it compares each with all. maxPaths bounds what `{a,b}` may make of
// the paths of one policy.
const (
	maxNesting = 64
	maxKeys    = 4096
	maxPaths   = 100_000
)

// Read parses one policy file, strictly: what it does not know is a *PosError. name is
// used in messages and positions.
func Read(name string, text []byte) (*Source, error) {
	return read(name, LayerFile, text)
}

func read(name string, layer Layer, text []byte) (*Source, error) {
	s := &Source{name: name, layer: layer}
	if len(text) > MaxPolicySize {
		return nil, s.fail(place{}, fmt.Errorf("the policy is %d bytes long; at most %d are read", len(text), MaxPolicySize))
	}
	s.lines = strings.Split(string(text), "\n")
	if err := checkBytes(s, text); err != nil {
		return nil, err
	}
	root, err := parse(s, text)
	if err != nil {
		return nil, err
	}
	r := reader{s: s}
	if err := r.policy(root); err != nil {
		return nil, err
	}
	return s, nil
}

// checkBytes refuses what a text editor would not show, which YAML scanners treat in
// ways of their own.
func checkBytes(s *Source, text []byte) error {
	line, col := 1, 1
	for _, c := range text {
		switch {
		case c == '\n':
			line, col = line+1, 0
		case c < 0x20 && c != '\t' && c != '\r' || c == 0x7f:
			return s.fail(place{line: line, col: col}, fmt.Errorf("a control character (\\x%02x) in the policy", c))
		}
		col++
	}
	return nil
}

// parse gives the one document of the text.
func parse(s *Source, text []byte) (root ast.Node, err error) {
	at := place{line: 1, col: 1}
	defer func() {
		// A parser that gives up in a panic has not read the policy.
		if v := recover(); v != nil {
			root, err = nil, s.fail(at, fmt.Errorf("not readable as YAML: %v", v))
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if err := checkTokens(s, tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, s.syntax(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			return nil, s.fail(nodePlace(doc.Body), errors.New("a second YAML document: one file is one policy"))
		}
		root = doc.Body
	}
	if _, comment := root.(*ast.CommentGroupNode); root == nil || comment {
		return nil, s.fail(at, &wordError{msg: "the policy is empty", suggestion: "it begins with the line: ptguard: 1"})
	}
	return root, nil
}

// checkTokens refuses, before the parser sees it, what policies have no use for and what
// could make the parser take very long or recurse very deep.
func checkTokens(s *Source, tokens token.Tokens) error {
	depth := 0                       // of brackets
	var flowKeys [maxNesting + 1]int // keys of the mappings in brackets, by depth
	blockKeys := map[int]int{}       // keys of the open block mappings, by column
	for _, t := range tokens {
		refuse := func(msg, suggestion string) error {
			return s.fail(tokenPlace(t), &wordError{msg: msg, suggestion: suggestion})
		}
		column := t.Position.Column
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			if depth++; depth > maxNesting {
				return refuse("nested too deeply", "")
			}
			flowKeys[depth] = 0
		case token.SequenceEndType, token.MappingEndType:
			depth = max(0, depth-1)
		case token.AnchorType, token.AliasType:
			return refuse("anchors and aliases (& and *) are not used in policies", "quote a pattern that begins with *, as in \"**/.env\"")
		case token.TagType:
			return refuse("tags (!) are not used in policies", "")
		case token.DirectiveType:
			return refuse("directives (%) are not used in policies", "")
		case token.MergeKeyType:
			return refuse("merge keys (<<) are not used in policies", "")
		case token.MappingKeyType:
			return refuse("complex keys (?) are not used in policies", "")
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
			if t.Prev != nil {
				column = t.Prev.Position.Column
			}
			if t.Position.IndentNum > maxNesting*8 || t.Position.IndentLevel > maxNesting {
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
func (s *Source) syntax(err error) error {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		return s.fail(place{line: 1, col: 1}, fmt.Errorf("not readable as YAML: %w", err))
	}
	at, msg := tokenPlace(y.GetToken()), y.GetMessage()
	w := &wordError{msg: "not readable as YAML: " + msg}
	switch {
	case strings.Contains(msg, "already defined"):
		w = &wordError{msg: strings.Replace(msg, "mapping key", "the key", 1)}
	case strings.Contains(msg, "reserved character"):
		w.suggestion = "quote a word that begins with @, as in \"@work/out\""
	case at.line <= len(s.lines) && strings.Contains(s.lines[at.line-1], "*"):
		w.suggestion = "quote a pattern that begins with *, as in \"**/.env\""
	}
	return s.fail(at, w)
}

func tokenPlace(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{line: 1, col: 1}
	}
	return place{line: max(1, t.Position.Line), col: max(1, t.Position.Column)}
}

// nodePlace is where a node begins: for a mapping its first key.
func nodePlace(n ast.Node) place {
	switch n := n.(type) {
	case *ast.MappingNode:
		if n.IsFlowStyle || len(n.Values) == 0 {
			return tokenPlace(n.Start)
		}
		return nodePlace(n.Values[0].Key)
	case *ast.MappingValueNode:
		return nodePlace(n.Key)
	case *ast.SequenceNode:
		return tokenPlace(n.Start)
	case nil:
		return place{line: 1, col: 1}
	}
	return tokenPlace(n.GetToken())
}

// reader walks the tree of one policy.
type reader struct{ s *Source }

// key is a word that may stand in a mapping; read is nil for one that POLICY.md has and
// this version does not enforce.
type key struct {
	name string
	read func(ast.Node) error
}

func (r reader) fail(n ast.Node, format string, args ...any) error {
	return r.s.fail(nodePlace(n), fmt.Errorf(format, args...))
}

func (r reader) policy(root ast.Node) error {
	version := false
	err := r.mapping(root, "", []key{
		{"ptguard", func(n ast.Node) error {
			version = true
			if i, ok := n.(*ast.IntegerNode); !ok || i.GetToken().Value != "1" {
				return r.fail(n, "ptguard: %s is not a format this version reads: want 1", show(n))
			}
			return nil
		}},
		{"extends", r.extends},
		{"mode", r.word(&r.s.mode, "mode", "strict", "permissive", "open")},
		{"work", func(n ast.Node) error {
			return r.path(n, func(text string, at place) error {
				patterns, err := parsePattern(text, false)
				if err == nil && (len(patterns) != 1 || len(patterns[0].glob) > 0) {
					err = errors.New("work is one folder, not a pattern")
				}
				if err == nil && (patterns[0].anchor == "@work" || patterns[0].anchor == "@runtime") {
					err = fmt.Errorf("work cannot be beneath %s", patterns[0].anchor)
				}
				if err != nil {
					return r.s.fail(at, err)
				}
				r.s.work = stated{text, at}
				return nil
			})
		}},
		{"unlisted", r.word(&r.s.unlisted, "unlisted", "deny", "hide")},
		{"files", r.section("files", []key{
			{"read", r.files(specRead)},
			{"write", r.files(specWrite)},
			{"deny", r.files(specDeny)},
			{"hide", r.files(specHide)},
			{"masks", nil},
		})},
		{"exec", r.section("exec", []key{
			{"allow", r.list("programs", r.program(specExecAllow))},
			{"deny", r.list("programs", r.program(specExecDeny))},
		})},
		{"net", r.section("net", []key{
			{"connect", r.net(specConnect)},
			{"bind", r.net(specBind)},
			{"deny", r.net(specNetDeny)},
			{"families", nil},
		})},
		{"scopes", nil},
		{"env", r.section("env", []key{
			{"pass", r.list("variable names", r.variable(&r.s.env.pass))},
			{"set", r.variables},
			{"drop", r.list("variable names", r.variable(&r.s.env.drop))},
		})},
		{"ask", nil},
		{"limits", nil},
		{"hardened", nil},
	})
	if err != nil {
		return err
	}
	if !version {
		return r.s.fail(nodePlace(root), &wordError{msg: "the format version is missing", suggestion: "begin the policy with the line: ptguard: 1"})
	}
	return nil
}

// mapping reads a mapping whose keys are known.
func (r reader) mapping(n ast.Node, where string, keys []key) error {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		if where == "" {
			return r.fail(n, "the policy is %s: want keys such as files, exec and net", show(n))
		}
		return r.fail(n, "%s is %s: want %s", where, show(n), keyList(keys))
	}
	seen := map[string]bool{}
	for _, v := range values {
		name := keyName(v.Key)
		full := name
		if where != "" {
			full = where + "." + name
		}
		if seen[name] {
			return r.fail(v.Key, "the key %q is there twice", full)
		}
		seen[name] = true
		known := false
		for _, k := range keys {
			if k.name != name {
				continue
			}
			known = true
			if k.read == nil {
				return r.fail(v.Key, "%s is not supported by this version", full)
			}
			if err := k.read(v.Value); err != nil {
				return err
			}
		}
		if !known {
			var names []string
			for _, k := range keys {
				names = append(names, k.name)
			}
			msg := fmt.Sprintf("unknown key %q", name)
			if where != "" {
				msg += " in " + where
			}
			return r.s.fail(nodePlace(v.Key), &wordError{msg: msg, suggestion: likely(name, names, strings.Join(names, ", "))})
		}
	}
	return nil
}

func (r reader) section(where string, keys []key) func(ast.Node) error {
	return func(n ast.Node) error { return r.mapping(n, where, keys) }
}

func keyName(k ast.Node) string {
	if s, ok := k.(*ast.StringNode); ok {
		return s.Value
	}
	return k.GetToken().Value
}

func keyList(keys []key) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	return "the keys " + strings.Join(names, ", ")
}

// show words what was found, for "X is ...: want ...".
func show(n ast.Node) string {
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

// list reads a list and hands each element to item.
func (r reader) list(of string, item func(ast.Node) error) func(ast.Node) error {
	return func(n ast.Node) error {
		seq, ok := n.(*ast.SequenceNode)
		if !ok {
			return r.fail(n, "%s where a list of %s is wanted: write [ … ]", show(n), of)
		}
		for _, v := range seq.Values {
			if err := item(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// text reads a string. A number or truth value must be quoted, or 010 and yes would mean
// different things to different readers.
func (r reader) text(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return "", r.fail(n, "%s is not text: quote it, as in %q", show(n), n.GetToken().Value)
	}
	return "", r.fail(n, "%s where text is wanted", show(n))
}

// path reads a path or address; a bare ~ is null to YAML and home to us.
func (r reader) path(n ast.Node, take func(string, place) error) error {
	if null, ok := n.(*ast.NullNode); ok && null.GetToken().Value == "~" {
		return take("~", nodePlace(n))
	}
	text, err := r.text(n)
	if err != nil {
		return err
	}
	return take(text, nodePlace(n))
}

// paths is path for one or a list of them.
func (r reader) paths(n ast.Node, take func(string, place) error) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		return r.list("paths", func(n ast.Node) error { return r.path(n, take) })(n)
	}
	return r.path(n, take)
}

func (r reader) word(into *stated, what string, known ...string) func(ast.Node) error {
	return func(n ast.Node) error {
		text, err := r.text(n)
		if err != nil {
			return err
		}
		if indexOf(known, text) < 0 {
			return r.s.fail(nodePlace(n), &wordError{msg: fmt.Sprintf("unknown %s %q", what, text), suggestion: likely(text, known, strings.Join(known, ", "))})
		}
		*into = stated{text, nodePlace(n)}
		return nil
	}
}

func (r reader) extends(n ast.Node) error {
	return r.list("presets and policy files", func(n ast.Node) error {
		text, err := r.text(n)
		if err != nil {
			return err
		}
		if !isFileName(text) {
			if _, err := presetText(text); err != nil {
				return r.s.fail(nodePlace(n), err)
			}
		} else if err := checkPathText(text); err != nil {
			return r.s.fail(nodePlace(n), err)
		}
		r.s.extends = append(r.s.extends, stated{text, nodePlace(n)})
		return nil
	})(n)
}

// keep adds a spec to the source.
func (s *Source) keep(sp spec) error {
	if s.paths += len(sp.patterns) + len(sp.address.patterns); s.paths > maxPaths {
		return fmt.Errorf("more than %d paths in one policy", maxPaths)
	}
	s.specs = append(s.specs, sp)
	return nil
}

func (r reader) keep(sp spec) error {
	if err := r.s.keep(sp); err != nil {
		return r.s.fail(sp.pos, err)
	}
	return nil
}

// add parses the path of a spec and keeps it.
func (r reader) add(sp spec, text string, at place) error {
	patterns, err := parsePattern(text, false)
	if err != nil {
		return r.s.fail(at, err)
	}
	sp.patterns, sp.text, sp.pos = patterns, text, at
	return r.keep(sp)
}

// files reads files.read, write, deny and hide.
func (r reader) files(kind specKind) func(ast.Node) error {
	return r.list("paths", func(n ast.Node) error {
		switch n.(type) {
		case *ast.MappingNode, *ast.MappingValueNode:
		default:
			return r.path(n, func(text string, at place) error { return r.add(spec{kind: kind}, text, at) })
		}
		sp, where := spec{kind: kind}, specVerbs[kind]
		var path, object ast.Node
		keys := []key{
			{"path", func(n ast.Node) error { path = n; return nil }},
			{"file", func(n ast.Node) error { object = n; return nil }},
		}
		if kind == specDeny || kind == specHide {
			keys = append(keys, r.why(&sp)...)
		}
		if kind == specDeny {
			keys = append(keys, key{"access", r.list("accesses", r.access(&sp.access))})
		}
		if err := r.mapping(n, where, keys); err != nil {
			return err
		}
		if (path == nil) == (object == nil) {
			return r.fail(n, "a rule of %s names one of path: (it and all beneath) and file: (that one object)", where)
		}
		if object != nil {
			path, sp.object = object, true
		}
		return r.paths(path, func(text string, at place) error {
			if err := r.add(sp, text, at); err != nil {
				return err
			}
			for _, p := range r.s.specs[len(r.s.specs)-1].patterns {
				if sp.object && len(p.glob) > 0 {
					return r.s.fail(at, errors.New("file: is one object, not a pattern"))
				}
			}
			return nil
		})
	})
}

func (r reader) why(sp *spec) []key {
	text := func(into *string) func(ast.Node) error {
		return func(n ast.Node) (err error) {
			*into, err = r.text(n)
			if err == nil && strings.ContainsAny(*into, "\n\r\x1b") {
				return r.fail(n, "a reason or hint is one line")
			}
			return err
		}
	}
	return []key{{"reason", text(&sp.reason)}, {"hint", text(&sp.hint)}}
}

func (r reader) access(into *decode.Access) func(ast.Node) error {
	return func(n ast.Node) error {
		text, err := r.text(n)
		if err != nil {
			return err
		}
		a, err := decode.ParseAccess(text)
		if err != nil || a&decode.AllFile == 0 {
			names := decode.AllFile.Names()
			return r.s.fail(nodePlace(n), &wordError{msg: fmt.Sprintf("unknown access %q", text), suggestion: likely(text, names, strings.Join(names, ", "))})
		}
		*into |= denyAccess(a)
		return nil
	}
}

// denyAccess is what a word of a deny's access list takes: read and write stand for what
// a read or write rule grants beyond look, and a program that may not be read may not be
// executed either; the other words mean themselves.
func denyAccess(a decode.Access) decode.Access {
	switch a {
	case decode.Read:
		return decode.List | decode.Read | decode.Map | decode.Exec
	case decode.Write:
		return decode.Change
	}
	return a
}

var plainName = regexp.MustCompile(`^[^/@~.*$\s][^/$\s]*$`)

// program reads one entry of exec.allow or exec.deny.
func (r reader) program(kind specKind) func(ast.Node) error {
	return func(n ast.Node) error {
		switch n.(type) {
		case *ast.MappingNode, *ast.MappingValueNode:
		default:
			return r.path(n, func(text string, at place) error {
				sp, err := parseProgram(kind, text, false)
				if err != nil {
					return r.s.fail(at, err)
				}
				sp.pos = at
				return r.keep(sp)
			})
		}
		sp := spec{kind: kind}
		var program ast.Node
		keys := []key{
			{"program", func(n ast.Node) error { program = n; return nil }},
			{"args", func(n ast.Node) error {
				sp.hasArgs = true
				return r.list("arguments", func(n ast.Node) error {
					text, err := r.text(n)
					if err != nil {
						return err
					}
					if _, _, err := parseComponent(text); err != nil {
						return r.s.fail(nodePlace(n), err)
					}
					sp.args = append(sp.args, text)
					return nil
				})(n)
			}},
		}
		if kind == specExecDeny {
			keys = append(keys, r.why(&sp)...)
		}
		if err := r.mapping(n, specVerbs[kind], keys); err != nil {
			return err
		}
		if program == nil {
			return r.fail(n, "a rule of %s names its program:", specVerbs[kind])
		}
		return r.path(program, func(text string, at place) error {
			parsed, err := parseProgram(kind, text, true)
			if err != nil {
				return r.s.fail(at, err)
			}
			sp.patterns, sp.program, sp.memfd, sp.text, sp.pos = parsed.patterns, parsed.program, parsed.memfd, text, at
			if sp.hasArgs {
				sp.text = strings.TrimSpace(text + " " + strings.Join(sp.args, " "))
			}
			return r.keep(sp)
		})
	}
}

// parseProgram reads a program of an exec rule: a path or glob, memfd, or, for a deny,
// a bare name where names are allowed.
func parseProgram(kind specKind, text string, name bool) (spec, error) {
	sp := spec{kind: kind, text: text}
	if text == "memfd" {
		sp.memfd = true
		return sp, nil
	}
	if plainName.MatchString(text) {
		switch {
		case kind == specExecAllow:
			return sp, &wordError{msg: fmt.Sprintf("%q is a bare name: an allow names the program's file", text), suggestion: fmt.Sprintf("such as /usr/bin/%s or ./%s", text, text)}
		case !name:
			return sp, &wordError{msg: fmt.Sprintf("%q is a bare name", text), suggestion: fmt.Sprintf("did you mean { program: %s } or ./%s?", text, text)}
		}
		if err := checkPathText(text); err != nil {
			return sp, err
		}
		if _, _, err := parseComponent(text); err != nil {
			return sp, err
		}
		sp.program = text
		return sp, nil
	}
	patterns, err := parsePattern(text, false)
	sp.patterns = patterns
	return sp, err
}

// net reads net.connect, bind and deny.
func (r reader) net(kind specKind) func(ast.Node) error {
	list := r.list("addresses", func(n ast.Node) error {
		sp := spec{kind: kind}
		add := func(text string, at place) error { return r.addAddress(sp, text, at) }
		switch n.(type) {
		case *ast.MappingNode, *ast.MappingValueNode:
		default:
			return r.path(n, add)
		}
		var to ast.Node
		keys := append([]key{{"address", func(n ast.Node) error { to = n; return nil }}}, r.why(&sp)...)
		if err := r.mapping(n, specVerbs[kind], keys); err != nil {
			return err
		}
		if to == nil {
			return r.fail(n, "a rule of %s names its address:", specVerbs[kind])
		}
		return r.paths(to, add)
	})
	return func(n ast.Node) error {
		switch kind {
		case specConnect:
			r.s.replacesConnect = true
		case specBind:
			r.s.replacesBind = true
		}
		return list(n)
	}
}

func (r reader) addAddress(sp spec, text string, at place) error {
	if err := r.s.addAddress(sp, text, at, false); err != nil {
		return r.s.fail(at, err)
	}
	return nil
}

// addAddress parses an address and keeps it; the error has no place yet.
func (s *Source) addAddress(sp spec, text string, at place, flag bool) error {
	a, err := parseAddress(text, flag)
	if err != nil {
		return err
	}
	switch {
	case a.word == "@preset" && s.layer == LayerPreset, a.word == "@ssh-agent" && s.layer != LayerPreset:
		return &wordError{msg: fmt.Sprintf("%s has no meaning here", a.word)}
	case a.word == "@preset" && sp.kind == specConnect:
		s.keepsConnect = true
		return nil
	case a.word == "@preset" && sp.kind == specBind:
		s.keepsBind = true
		return nil
	case a.kind == addressWord && sp.kind == specBind:
		return &wordError{msg: fmt.Sprintf("%s cannot be bound", a.word), suggestion: "expected an address such as 127.0.0.1:8000-8999"}
	case a.word == "@preset":
		return &wordError{msg: "@preset is for net.connect and net.bind"}
	}
	sp.address, sp.text, sp.pos = a, text, at
	return s.keep(sp)
}

var variableName = regexp.MustCompile(`^[^=\x00]+$`)

func (r reader) variable(into *[]stated) func(ast.Node) error {
	return func(n ast.Node) error {
		text, err := r.text(n)
		if err != nil {
			return err
		}
		if !variableName.MatchString(text) {
			return r.fail(n, "%q is no name of a variable", text)
		}
		if _, _, err := parseComponent(text); err != nil {
			return r.s.fail(nodePlace(n), err)
		}
		*into = append(*into, stated{text, nodePlace(n)})
		return nil
	}
}

// variables reads env.set.
func (r reader) variables(n ast.Node) error {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return r.fail(n, "env.set is %s: want NAME: \"value\"", show(n))
	}
	for _, v := range values {
		name := keyName(v.Key)
		if !variableName.MatchString(name) {
			return r.fail(v.Key, "%q is no name of a variable", name)
		}
		text, err := r.text(v.Value)
		if err != nil {
			return err
		}
		r.s.env.set = append(r.s.env.set, stated{name + "=" + text, nodePlace(v.Key)})
	}
	return nil
}
