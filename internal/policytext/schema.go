// SPDX-License-Identifier: Apache-2.0

package policytext

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Schema is the JSON Schema (draft 2020-12) of what read, the reader of a whole file, takes.
// required are the keys that must be there. words describe keys by their full name
// (files.read), keyWords the keys of an element of a list by their own.
func Schema(title string, required []string, read func(ast.Node) error, words, keyWords map[string]string) ([]byte, error) {
	root, err := describe("", read)
	if err != nil {
		return nil, err
	}
	d := describer{words, keyWords}
	out, err := d.schema(root)
	if err != nil {
		return nil, err
	}
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"], out["required"] = title, required
	text, err := json.MarshalIndent(out, "", "  ")
	return append(text, '\n'), err
}

// ErrDescribed comes out of a reader that was shown a Shape, in place of what is not there.
var ErrDescribed = errors.New("described")

// Shape is the node that a reader is shown to learn what it reads. Each of Reader's methods
// that looks into a node notes on it what it wants, and gives ErrDescribed; a reader that
// looks at the type of a node itself calls Note, Words or OneOf, and IsMapping.
type Shape struct {
	ast.Node        // nil: no reader may ask it for more
	name     string // full key, for its description
	mapping  bool   // stands for a mapping: see IsMapping
	asked    bool   // a reader that takes a mapping or something else asked which

	want  map[string]any
	child map[string]*Shape
	items func(ast.Node) error
	each  func(ast.Node) error // of a mapping with keys of any name
	need  []string             // all of these keys must be there
	one   []string             // exactly one of these keys must be there
	other *Shape
}

// describer makes the schema of what was noted.
type describer struct{ words, keyWords map[string]string }

func (m describer) schema(d *Shape) (map[string]any, error) {
	out := maps.Clone(d.want)
	if out == nil {
		out = map[string]any{}
	}
	if d.items != nil {
		items, err := describe(d.name+"[]", d.items)
		if err != nil {
			return nil, err
		}
		if out["items"], err = m.schema(items); err != nil {
			return nil, err
		}
	}
	if d.each != nil {
		each, err := describe(d.name+"[]", d.each)
		if err != nil {
			return nil, err
		}
		if out["additionalProperties"], err = m.schema(each); err != nil {
			return nil, err
		}
	}
	if d.child != nil {
		properties := map[string]any{}
		for name, child := range d.child {
			p, err := m.schema(child)
			if err != nil {
				return nil, err
			}
			properties[name] = p
		}
		out["type"], out["properties"], out["additionalProperties"] = "object", properties, false
	}
	if len(d.need) > 0 {
		out["required"] = d.need
	}
	if len(d.one) > 0 {
		var one []any
		for _, name := range d.one {
			one = append(one, map[string]any{"required": []string{name}})
		}
		out["oneOf"] = one
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("schema: the reader of %s has not said what it wants", d.name)
	}
	if d.other != nil {
		other, err := m.schema(d.other)
		if err != nil {
			return nil, err
		}
		out = map[string]any{"anyOf": []any{out, other}}
	}
	if text := m.description(d.name); text != "" {
		out["description"] = text
	}
	return out, nil
}

func (m describer) description(name string) string {
	if text, known := m.words[name]; known {
		return text
	}
	if at := strings.LastIndex(name, "[]."); at >= 0 {
		rest := name[at+len("[]."):]
		if text, known := m.keyWords[rest]; known {
			return text
		}
		return m.words[rest]
	}
	return ""
}

// describe shows a node to a reader.
func describe(name string, read func(ast.Node) error) (*Shape, error) {
	d := &Shape{name: name}
	if err := read(d); err != nil && !errors.Is(err, ErrDescribed) {
		return nil, fmt.Errorf("schema: %s: %w", name, err)
	}
	if d.asked {
		d.other = &Shape{name: name, mapping: true}
		if err := read(d.other); err != nil && !errors.Is(err, ErrDescribed) {
			return nil, fmt.Errorf("schema: %s as a mapping: %w", name, err)
		}
	}
	return d, nil
}

// object notes a mapping with these keys.
func (d *Shape) object(keys []Key) error {
	d.child = map[string]*Shape{}
	for _, k := range keys {
		if k.Read == nil {
			continue
		}
		name := k.Name
		if d.name != "" {
			name = d.name + "." + k.Name
		}
		child, err := describe(name, k.Read)
		if err != nil {
			return err
		}
		d.child[k.Name] = child
	}
	return nil
}

// Words notes a choice of words.
func (d *Shape) Words(known []string) error {
	d.want = map[string]any{"enum": slices.Clone(known)}
	return ErrDescribed
}

// Note notes a type, and whatever else JSON Schema has for it.
func (d *Shape) Note(want map[string]any) error {
	d.want = want
	return ErrDescribed
}

// Each notes a mapping from any name to what read reads.
func (d *Shape) Each(read func(ast.Node) error) error {
	d.want, d.each = map[string]any{"type": "object"}, read
	return ErrDescribed
}

func (d *Shape) list(item func(ast.Node) error) error {
	d.want, d.items = map[string]any{"type": "array"}, item
	return ErrDescribed
}

// A bare ~ is null to YAML and home to a path.
func (d *Shape) path() error {
	return d.Note(map[string]any{"type": []string{"string", "null"}})
}

func (d *Shape) paths() error {
	return d.Note(map[string]any{"type": []string{"string", "null", "array"}, "items": map[string]any{"type": []string{"string", "null"}}})
}

// Need notes that these keys must be there.
func (d *Shape) Need(keys ...string) error {
	d.need = keys
	return ErrDescribed
}

// OneOf notes that one of these keys, and no two, must be there.
func (d *Shape) OneOf(keys ...string) error {
	d.one = keys
	return ErrDescribed
}

// IsMapping tells a rule written as a mapping from one that is a word. A reader that makes
// the difference calls it, and so is asked twice for its schema.
func IsMapping(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	case *Shape:
		n.asked = n.asked || !n.mapping
		return n.mapping
	}
	return false
}

// GetToken is what the words for an error ask for; there is no place.
func (d *Shape) GetToken() *token.Token { return nil }
