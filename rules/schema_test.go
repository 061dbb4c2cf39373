// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"ptguard/internal/policytext/schematest"
)

func policySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	return schematest.Compile(t, text, err)
}

// TestSchemaOfSamples holds schema and reader against each other: what the reader takes, the schema
// takes; and what the reader refuses for a key, a type or a word, the schema refuses.
func TestSchemaOfSamples(t *testing.T) {
	schema := policySchema(t)
	samples, err := filepath.Glob("presets/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bad, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string][]byte{}
	for _, name := range append(samples, bad...) {
		if read[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range []string{"../README.md", "../docs/manual.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1) {
			if bytes.Contains(block[1], []byte("ptguard: 1")) {
				read[page+string(rune('a'+i))] = block[1]
			}
		}
	}
	if len(read) < len(samples)+len(bad)+2 {
		t.Fatalf("%d samples: those of the pages are missing", len(read))
	}
	taken, refused := 0, 0
	for name, text := range read {
		_, readErr := Read(name, text)
		doc := schematest.YAML(t, text)
		if doc == nil {
			continue
		}
		schemaErr := schema.Validate(doc)
		switch {
		case readErr == nil && schemaErr != nil:
			t.Errorf("%s: the reader takes it, the schema does not: %v", name, schemaErr)
		case readErr == nil:
			taken++
		case schemaErr != nil:
			refused++
		case ofForm.MatchString(readErr.Error()):
			t.Errorf("%s: the schema takes what the reader refuses: %v", name, readErr)
		}
	}
	if taken < 8 || refused < 10 {
		t.Errorf("%d samples taken by both, %d refused by both: too few to tell", taken, refused)
	}
}

// ofForm are the reader's words for mistakes that a schema can know.
var ofForm = regexp.MustCompile(`unknown key|: [a-z.]+ is not supported by this version|where (a list|text) |is not text|unknown (mode|unlisted|access)|names (its|one of)|format version is missing|is (a list|nothing|".*"): want`)

// TestSchemaDescribes wants a sentence for each key: a key without one is a new key.
func TestSchemaDescribes(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(at, e)
			}
		case map[string]any:
			if p, ok := v["properties"].(map[string]any); ok {
				for name, e := range p {
					n++
					if m, _ := e.(map[string]any); m["description"] == nil {
						t.Errorf("%s.%s has no description: rules/schema.go", at, name)
					}
					walk(at+"."+name, e)
				}
			}
			for k, e := range v {
				if k != "properties" {
					walk(at, e)
				}
			}
		}
	}
	walk("", doc)
	if n < 25 {
		t.Errorf("%d keys", n)
	}
	for name := range descriptions() {
		if !strings.Contains(string(text), `"`+name[strings.LastIndexByte(name, '.')+1:]+`": {`) {
			t.Errorf("%s is described and no key", name)
		}
	}
}

// TestSchemaKnows has what the manual says of single values, independent of the reader.
func TestSchemaKnows(t *testing.T) {
	schema := policySchema(t)
	for text, want := range map[string]bool{
		"ptguard: 1":                        true,
		SchemaLine + "\nptguard: 1":         true,
		"{}":                                false, // the version is missing
		"ptguard: 2":                        false,
		"ptguard: 1\nmode: strict":          true,
		"ptguard: 1\nmode: strikt":          false,
		"ptguard: 1\nfils: {}":              false,
		"ptguard: 1\nfiles: { read: /opt }": false, // a list is wanted
		"ptguard: 1\nfiles: { read: [/opt, ~, { file: ~/x }] }":                    true,
		"ptguard: 1\nfiles: { read: [010] }":                                       false, // must be quoted
		"ptguard: 1\nfiles: { deny: [{ path: [a, b], access: [read] }] }":          true,
		"ptguard: 1\nfiles: { deny: [{ path: a, file: b }] }":                      false, // one of the two
		"ptguard: 1\nfiles: { read: [{ path: a, reason: x }] }":                    false, // of a deny
		"ptguard: 1\nfiles: { deny: [{ path: a, access: [reed] }] }":               false,
		"ptguard: 1\nexec: { deny: [{ args: [x] }] }":                              false, // which program
		"ptguard: 1\nexec: { deny: [{ program: git, args: [push] }, /usr/bin/x] }": true,
		"ptguard: 1\nnet: { deny: [{ address: [a, b], reason: x }] }":              true,
		"ptguard: 1\nenv: { set: { CI: '1' }, pass: [A], drop: [B] }":              true,
		"ptguard: 1\nenv: { set: { CI: 1 } }":                                      false, // must be quoted
	} {
		if err := schema.Validate(schematest.YAML(t, []byte(text))); (err == nil) != want {
			t.Errorf("%q: %v, want taken: %v", text, err, want)
		}
	}
}
