// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"ptguard/record"
)

// mergePolicy adds items to the lists of a policy that somebody wrote. The parser says where
// the lists are; the text itself is only added to, so that comments, order and style stay
// and the difference is what was added. An item that a list has already is left out. The
// caller reads the result again: a text that could not be added to is an error there, never
// a policy that says something else.
func mergePolicy(name, text string, additions []addition) (string, error) {
	for _, a := range additions {
		var err error
		if text, err = addTo(text, a); err != nil {
			return "", fmt.Errorf("learn: %s: %w; add to it by hand: %s.%s: [ %s ]", record.Escape(name), err, a.section, a.list, strings.Join(texts(a.items), ", "))
		}
	}
	return text, nil
}

func texts(items []item) []string {
	out := make([]string, len(items))
	for i, it := range items {
		out[i] = it.text
	}
	return out
}

// policyText is a policy as lines, with its tree.
type policyText struct {
	lines []string
	root  *ast.MappingNode
}

func parsePolicy(text string) (*policyText, error) {
	file, err := parser.ParseBytes([]byte(text), parser.ParseComments)
	if err != nil || len(file.Docs) == 0 {
		return nil, fmt.Errorf("not readable as YAML: %w", err)
	}
	t := &policyText{lines: strings.SplitAfter(text, "\n")}
	for _, doc := range file.Docs {
		if root := mappingOf(doc.Body); root != nil {
			t.root = root
		}
	}
	if t.root == nil {
		return nil, fmt.Errorf("it has no keys")
	}
	return t, nil
}

// mappingOf gives a mapping with its values; one of a single key is another type to the parser.
func mappingOf(n ast.Node) *ast.MappingNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n
	case *ast.MappingValueNode:
		return &ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: n.Start, Values: []*ast.MappingValueNode{n}}
	}
	return nil
}

func valueOf(m *ast.MappingNode, key string) *ast.MappingValueNode {
	for _, v := range m.Values {
		if v.Key.GetToken().Value == key {
			return v
		}
	}
	return nil
}

func addTo(text string, a addition) (string, error) {
	t, err := parsePolicy(text)
	if err != nil {
		return "", err
	}
	section := valueOf(t.root, a.section)
	if section == nil {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + a.section + ":\n" + block("  ", a.list, a.items), nil
	}
	lists := mappingOf(section.Value)
	if lists == nil {
		return "", fmt.Errorf("%s holds no lists", a.section)
	}
	list := valueOf(lists, a.list)
	switch {
	case list != nil:
		return t.extend(list, a)
	case lists.IsFlowStyle:
		at, err := t.offset(lists.End.Position.Line, lists.End.Position.Column, '}')
		if err != nil {
			return "", err
		}
		return t.insertFlow(at, len(lists.Values) > 0, a.list+": [ "+strings.Join(texts(a.items), ", ")+" ]"), nil
	}
	first := lists.Values[0].Key.GetToken().Position
	return t.insertLines(lastLine(section), block(strings.Repeat(" ", first.Column-1), a.list, a.items)), nil
}

func block(indent, list string, items []item) string {
	var b strings.Builder
	b.WriteString(indent + list + ":\n")
	for _, it := range items {
		b.WriteString(indent + "  - " + it.text + "\n")
	}
	return b.String()
}

// extend adds the items that a list does not have yet.
func (t *policyText) extend(list *ast.MappingValueNode, a addition) (string, error) {
	seq, ok := list.Value.(*ast.SequenceNode)
	if !ok {
		return "", fmt.Errorf("%s.%s is no list", a.section, a.list)
	}
	var have, words []string
	for _, v := range seq.Values {
		have = append(have, v.GetToken().Value)
	}
	for _, w := range texts(a.items) {
		if plain := strings.Trim(w, `"`); !slices.Contains(have, plain) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return strings.Join(t.lines, ""), nil
	}
	if seq.IsFlowStyle {
		at, err := t.offset(seq.End.Position.Line, seq.End.Position.Column, ']')
		if err != nil {
			return "", err
		}
		return t.insertFlow(at, len(seq.Values) > 0, strings.Join(words, ", ")), nil
	}
	indent := strings.Repeat(" ", seq.Start.Position.Column-1)
	return t.insertLines(lastLine(seq), indent+"- "+strings.Join(words, "\n"+indent+"- ")+"\n"), nil
}

// offset turns a place of the parser into one of the text, and checks what stands there.
func (t *policyText) offset(line, column int, want byte) (int, error) {
	if line < 1 || line > len(t.lines) {
		return 0, fmt.Errorf("line %d cannot be found again", line)
	}
	before := len(strings.Join(t.lines[:line-1], ""))
	runes := []rune(t.lines[line-1])
	if column < 1 || column > len(runes) || runes[column-1] != rune(want) {
		return 0, fmt.Errorf("the end of the list in line %d cannot be found", line)
	}
	return before + len(string(runes[:column-1])), nil
}

// insertFlow adds to a list or mapping in brackets, whose closing bracket is at an offset.
// In one that goes over several lines the last one may end in a comma or a comment.
func (t *policyText) insertFlow(at int, others bool, words string) string {
	text := strings.Join(t.lines, "")
	head := strings.TrimRight(text[:at], " \t")
	gap := text[len(head):at]
	if start := strings.LastIndexByte(head, '\n') + 1; strings.TrimSpace(head[start:]) == "" {
		// The bracket stands on a line of its own.
		body := strings.TrimRight(head, " \t\n\r")
		begin := strings.LastIndexByte(body, '\n') + 1
		indent := body[begin : len(body)-len(strings.TrimLeft(body[begin:], " \t"))]
		last, comment := body[begin:], ""
		if i := strings.Index(last, " #"); i >= 0 {
			value := strings.TrimRight(last[:i], " \t")
			last, comment = value, last[len(value):]
		}
		if others && !strings.HasSuffix(last, ",") {
			last += ","
		}
		return body[:begin] + last + comment + "\n" + indent + words + text[len(body):len(head)] + gap + text[at:]
	}
	switch {
	case !others:
		return head + " " + words + " " + text[at:]
	case strings.HasSuffix(head, ","):
		return head + " " + words + gap + text[at:]
	}
	return head + ", " + words + gap + text[at:]
}

// insertLines puts whole lines after a line.
func (t *policyText) insertLines(after int, lines string) string {
	head := strings.Join(t.lines[:after], "")
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return head + lines + strings.Join(t.lines[after:], "")
}

// lastLine is the last line that a node has a word on.
func lastLine(n ast.Node) int {
	v := &lastLineVisitor{}
	ast.Walk(v, n)
	return v.line
}

type lastLineVisitor struct{ line int }

// Visit is called for each node.
func (v *lastLineVisitor) Visit(n ast.Node) ast.Visitor {
	if _, comment := n.(*ast.CommentGroupNode); comment {
		return nil
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		v.line = max(v.line, t.Position.Line+strings.Count(strings.TrimRight(t.Value, "\n"), "\n"))
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		if n.End != nil {
			v.line = max(v.line, n.End.Position.Line)
		}
	case *ast.MappingNode:
		if n.End != nil {
			v.line = max(v.line, n.End.Position.Line)
		}
	}
	return v
}
