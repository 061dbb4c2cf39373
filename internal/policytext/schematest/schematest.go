// SPDX-License-Identifier: Apache-2.0

// Package schematest compiles the JSON schemas of policies and seals for their tests.
package schematest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile compiles what a package's Schema gave, with formats asserted.
func Compile(t *testing.T, text []byte, err error) *jsonschema.Schema {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", JSON(t, text)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// JSON reads a document to validate.
func JSON(t *testing.T, text []byte) any {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return doc
}

// YAML reads a document to validate as an editor's language server does; nil if it is no
// YAML at all.
func YAML(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil
	}
	j, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return JSON(t, j)
}
