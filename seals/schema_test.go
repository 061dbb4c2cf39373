// SPDX-License-Identifier: Apache-2.0

package seals

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchema holds the schema against the reader: the example, and mistakes of each form.
func TestSchema(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("seals.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("seals.json")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"description"`); n != 7 {
		t.Errorf("%d of 7 keys have a description", n)
	}
	head := "ptguard-seals: 1\nowner: x\nseals:\n"
	for text, want := range map[string]bool{
		example: true,
		"# yaml-language-server: $schema=ptguard-seals.schema.json\n" + example: true,
		"owner: x\nseals: []\n":                              false,
		"ptguard-seals: 2\nowner: x\nseals: []\n":            false,
		"ptguard-seals: 1\nseals: []\n":                      false,
		"ptguard-seals: 1\nowner: x\n":                       false,
		"ptguard-seals: 1\nowners: x\nseals: []\n":           false,
		head + "- {path: /a, letters: rw, reason: r}":        false,
		head + "- {path: /a, letters: RX, reason: r}":        false,
		head + "- {path: /a, letters: R}":                    false,
		head + "- {letters: R, reason: r}":                   false,
		head + "- {path: /a, reason: r}":                     false,
		head + "- {path: /a, letters: R, reason: r, why: r}": false,
		head + "- {path: [/a], letters: R, reason: r}":       false,
		head + "- {path: ~, letters: R, reason: r, hint: h}": true, // home
	} {
		if _, err := Read("x.yaml", []byte(text)); (err == nil) != want {
			t.Errorf("the reader: %q: %v, want taken: %v", text, err, want)
		}
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(j))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); (err == nil) != want {
			t.Errorf("the schema: %q: %v, want taken: %v", text, err, want)
		}
	}
}
