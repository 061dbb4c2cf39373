// SPDX-License-Identifier: Apache-2.0

package seals

import (
	"strings"
	"testing"

	"ptguard/internal/policytext/schematest"
)

// TestSchema holds the schema against the reader: the example, and mistakes of each form.
func TestSchema(t *testing.T) {
	text, err := Schema()
	schema := schematest.Compile(t, text, err)
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
		if err := schema.Validate(schematest.YAML(t, []byte(text))); (err == nil) != want {
			t.Errorf("the schema: %q: %v, want taken: %v", text, err, want)
		}
	}
}
