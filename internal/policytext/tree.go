// SPDX-License-Identifier: Apache-2.0

package policytext

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A tree is what Parse gives for a text, written down: for texts that are part of the program,
// which need not be parsed at each start. One line is one node, before those in it:
//
//	KIND LINE COLUMN WHAT
//
// KIND is m (mapping, flow style: M), v (a mapping of one key), q (sequence, flow style: Q), s
// (text), i (integer), b (truth value) or ~ (null); WHAT is the number of nodes of a mapping or
// sequence, and else the text.

// EncodeTree writes down what Parse gave. An error: a node of another kind.
func EncodeTree(root ast.Node) (string, error) {
	var b strings.Builder
	err := encode(&b, root)
	return b.String(), err
}

func encode(b *strings.Builder, n ast.Node) error {
	line := func(kind string, t *token.Token, what string) error {
		at := tokenPlace(t)
		_, err := fmt.Fprintf(b, "%s %d %d %s\n", kind, at.Line, at.Col, what)
		return err
	}
	style := func(block, flow string, isFlow bool) string {
		if isFlow {
			return flow
		}
		return block
	}
	pairs := func(values ...*ast.MappingValueNode) error {
		for _, v := range values {
			if err := encode(b, v.Key); err != nil {
				return err
			}
			if err := encode(b, v.Value); err != nil {
				return err
			}
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		if err := line(style("m", "M", n.IsFlowStyle), n.Start, strconv.Itoa(len(n.Values))); err != nil {
			return err
		}
		return pairs(n.Values...)
	case *ast.MappingValueNode:
		if err := line("v", n.Start, "1"); err != nil {
			return err
		}
		return pairs(n)
	case *ast.SequenceNode:
		if err := line(style("q", "Q", n.IsFlowStyle), n.Start, strconv.Itoa(len(n.Values))); err != nil {
			return err
		}
		for _, v := range n.Values {
			if err := encode(b, v); err != nil {
				return err
			}
		}
		return nil
	case *ast.StringNode:
		if strings.Contains(n.Value, "\n") {
			return fmt.Errorf("%q: a text of more than one line", n.Value)
		}
		return line("s", n.Token, n.Value)
	case *ast.IntegerNode:
		return line("i", n.Token, n.Token.Value)
	case *ast.BoolNode:
		return line("b", n.Token, n.Token.Value)
	case *ast.NullNode:
		return line("~", n.Token, n.Token.Value)
	}
	return fmt.Errorf("%T: a node of this kind cannot be written down", n)
}

// Tree makes the text's nodes from what EncodeTree wrote for them, in the place of Parse.
func (t *Text) Tree(text []byte, tree string) (ast.Node, error) {
	t.lines = strings.Split(string(text), "\n")
	d := treeReader{rest: tree}
	root, err := d.node()
	if err == nil && d.rest != "" {
		err = fmt.Errorf("%d bytes too many", len(d.rest))
	}
	if err != nil {
		return nil, fmt.Errorf("the tree of the %s %s: %w", t.What, t.Name, err)
	}
	return root, nil
}

type treeReader struct {
	rest string
	free []token.Token // of one allocation
}

func (d *treeReader) token(line, col int, value string) *token.Token {
	if len(d.free) == 0 {
		d.free = make([]token.Token, 64)
	}
	t := &d.free[0]
	d.free = d.free[1:]
	t.Value, t.Position = value, &token.Position{Line: line, Column: col}
	return t
}

func (d *treeReader) node() (ast.Node, error) {
	text, rest, _ := strings.Cut(d.rest, "\n")
	d.rest = rest
	kind, after, _ := strings.Cut(text, " ")
	lineText, after, _ := strings.Cut(after, " ")
	colText, what, ok := strings.Cut(after, " ")
	line, errLine := strconv.Atoi(lineText)
	col, errCol := strconv.Atoi(colText)
	if !ok || errLine != nil || errCol != nil {
		return nil, fmt.Errorf("not the line of a node: %q", text)
	}
	switch kind {
	case "s":
		return &ast.StringNode{Token: d.token(line, col, what), Value: what}, nil
	case "i":
		n, err := strconv.ParseUint(what, 10, 64)
		return &ast.IntegerNode{Token: d.token(line, col, what), Value: n}, err
	case "b":
		return &ast.BoolNode{Token: d.token(line, col, what), Value: what == "true"}, nil
	case "~":
		return &ast.NullNode{Token: d.token(line, col, what)}, nil
	}
	count, err := strconv.Atoi(what)
	if err != nil || count < 0 || count > len(d.rest) {
		return nil, fmt.Errorf("not the line of a node: %q", text)
	}
	start := d.token(line, col, "")
	switch kind {
	case "m", "M":
		n := &ast.MappingNode{Start: start, IsFlowStyle: kind == "M", Values: make([]*ast.MappingValueNode, count)}
		for i := range n.Values {
			if n.Values[i], err = d.pair(); err != nil {
				return nil, err
			}
		}
		return n, nil
	case "v":
		n, err := d.pair()
		if err != nil {
			return nil, err
		}
		n.Start = start
		return n, nil
	case "q", "Q":
		n := &ast.SequenceNode{Start: start, IsFlowStyle: kind == "Q", Values: make([]ast.Node, count)}
		for i := range n.Values {
			if n.Values[i], err = d.node(); err != nil {
				return nil, err
			}
		}
		return n, nil
	}
	return nil, fmt.Errorf("not the line of a node: %q", text)
}

func (d *treeReader) pair() (*ast.MappingValueNode, error) {
	k, err := d.node()
	if err != nil {
		return nil, err
	}
	key, ok := k.(ast.MapKeyNode)
	if !ok {
		return nil, fmt.Errorf("%T is no key", k)
	}
	value, err := d.node()
	if err != nil {
		return nil, err
	}
	return &ast.MappingValueNode{Key: key, Value: value}, nil
}
