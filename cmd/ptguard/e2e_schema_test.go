// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"ptguard/decode"
	"ptguard/internal/ktest"
)

// TestSchemaOfTraces validates every record of a real run, at the level that writes most,
// with the schema that the command prints.
func TestSchemaOfTraces(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	out := b.Bare(t, ktest.Binary(t), "schema", "record")
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(out.Stdout))
	if err != nil || out.Status != 0 {
		t.Fatalf("%v\n%v", err, out)
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
	outside := b.Path("outside/x")
	if r := b.Bare(t, "sh", "-c", "echo x > "+outside); r.Status != 0 {
		t.Fatalf("bare: %v", r)
	}
	if r := b.Guard(t, []string{"--trace-level", "all"}, "sh", "-c", "ls / | cat; kill -0 1; echo x > "+outside); r.Status == 0 {
		t.Fatalf("nothing was refused: %v", r)
	}
	text, err := os.ReadFile(b.Trace)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for line := range bytes.Lines(text) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		kinds[doc.(map[string]any)["kind"].(string)]++
		if err := s.Validate(doc); err != nil {
			t.Errorf("%s%v", line, err)
		}
	}
	for _, k := range []string{"start", "denial", "decision", "exec", "end"} {
		if kinds[k] == 0 {
			t.Errorf("no record of kind %s: %v", k, kinds)
		}
	}

	// Package record does not know package decode: its list of accesses is compared here.
	var schema struct {
		Properties struct {
			Access struct{ Items struct{ Enum []string } }
		}
	}
	if err := json.Unmarshal([]byte(out.Stdout), &schema); err != nil {
		t.Fatal(err)
	}
	if want := (^decode.Access(0)).Names(); !slices.Equal(schema.Properties.Access.Items.Enum, want) {
		t.Errorf("accesses %v, decode has %v", schema.Properties.Access.Items.Enum, want)
	}
}
