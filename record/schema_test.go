// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func recordSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("record.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("record.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func valid(t *testing.T, s *jsonschema.Schema, line []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return s.Validate(doc)
}

// TestSchemaOfSamples validates the golden trace, and a record with every field set.
func TestSchemaOfSamples(t *testing.T) {
	s := recordSchema(t)
	text, err := os.ReadFile("testdata/trace.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		var r Record
		if json.Unmarshal(line, &r) != nil || r.V != Version {
			continue // bad lines, and one of a later version
		}
		if !slices.Contains(Kinds, r.Kind) {
			continue
		}
		n++
		if err := valid(t, s, line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if n < 5 {
		t.Errorf("%d lines", n)
	}
	full := denial("/etc/hosts")
	full.V, full.Count, full.TookUS, full.Stops, full.Addr, full.Port, full.Family, full.Scope = Version, 3, 5, 1, "::1", 80, "inet6", "none"
	full.Argv, full.Start, full.End = []string{"x"}, &Start{Lifted: []string{"a"}, SealDigests: []string{"b"}}, &End{ByEvent: map[string]uint64{"open": 1}}
	if err := valid(t, s, AppendLine(nil, full)); err != nil {
		t.Error(err)
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := recordSchema(t)
	const good = `{"v":1,"run":"r","seq":1,"time":"2026-03-01T12:00:00Z","kind":"denial","verdict":"deny","access":["write"],"later":1}`
	if err := valid(t, s, []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"v":1`, `"v":2`},
		{`"seq":1`, `"seq":-1`},
		{`"seq":1,`, ``},
		{`2026-03-01T12`, `2026-03-01T25`},
		{`"denial"`, `"denail"`},
		{`"deny"`, `"no"`},
		{`["write"]`, `"write"`},
		{`["write"]`, `["wright"]`},
		{`"later":1`, `"end":{"status":0}`},
	} {
		line := strings.Replace(good, c[0], c[1], 1)
		if valid(t, s, []byte(line)) == nil {
			t.Errorf("taken: %s", line)
		}
	}
}

// TestSchemaDescribes wants words for each field, and each kind and verdict of record.go.
func TestSchemaDescribes(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	type node struct {
		Description string
		Properties  map[string]*node
	}
	var doc node
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(at string, v *node)
	walk = func(at string, v *node) {
		for name, p := range v.Properties {
			n++
			if p.Description == "" {
				t.Errorf("%s%s has no words in schema.go", at, name)
			}
			walk(at+name+".", p)
		}
	}
	walk("", &doc)
	if n != len(fieldWords()) {
		t.Errorf("%d fields, %d have words", n, len(fieldWords()))
	}
	source, err := os.ReadFile("record.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`Kind = "(\w+)"`).FindAllSubmatch(source, -1)
	if len(kinds) != len(Kinds) {
		t.Errorf("record.go has %d kinds, Kinds %d", len(kinds), len(Kinds))
	}
	for _, k := range kinds {
		if !slices.Contains(Kinds, Kind(k[1])) {
			t.Errorf("Kinds lacks %s", k[1])
		}
	}
}
