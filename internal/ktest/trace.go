// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"ptguard/record"
)

// Records reads the box's trace. A line that is no JSON object fails the test.
func (b *Box) Records(t testing.TB) []record.Record {
	t.Helper()
	data, err := os.ReadFile(b.Trace)
	if err != nil {
		t.Errorf("read trace: %v", err)
		return nil
	}
	var out []record.Record
	for line := range bytes.Lines(data) {
		var r record.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Errorf("trace line %q: %v", line, err)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Denials are the records of refusals, of whatever kind.
func (b *Box) Denials(t testing.TB) []record.Record {
	t.Helper()
	return slices.DeleteFunc(b.Records(t), func(r record.Record) bool { return !r.Kind.Refusal() })
}

// Want describes a denial record; empty fields are not compared.
type Want struct {
	Syscall  string // one name, or several separated by |
	Access   string // a word that the record's access must hold
	Path     string // as given; a prefix ** means: ends with the rest
	Resolved string
	Kind     record.Kind
	Layer    string // one word, or several separated by |
	Rule     string // part of the rule
	Errno    string
	Hint     string // part of the hint
	Fix      string // part of the fix
	Addr     string
	Port     int
}

// Matches tells whether r is the record that w describes.
func (w Want) Matches(r record.Record) bool {
	if w.Kind != "" && w.Kind != r.Kind {
		return false
	}
	if w.Access != "" && !slices.Contains(r.Access, w.Access) {
		return false
	}
	if rest, tail := strings.CutPrefix(w.Path, "**"); tail {
		if !strings.HasSuffix(r.Path, rest) {
			return false
		}
	} else if w.Path != "" && w.Path != r.Path {
		return false
	}
	one := func(want, got string) bool {
		return want == "" || slices.Contains(strings.Split(want, "|"), got)
	}
	return one(w.Syscall, r.Syscall) && one(w.Layer, r.Layer) && one(w.Errno, r.Errno) &&
		(w.Resolved == "" || w.Resolved == r.Resolved) && (w.Addr == "" || w.Addr == r.Addr) && (w.Port == 0 || w.Port == r.Port) &&
		strings.Contains(r.Rule, w.Rule) && strings.Contains(r.Hint, w.Hint) && strings.Contains(r.Fix, w.Fix)
}

// Find returns the first denial that w describes; none fails the test.
func (b *Box) Find(t testing.TB, w Want) record.Record {
	t.Helper()
	denials := b.Denials(t)
	for _, r := range denials {
		if w.Matches(r) {
			return r
		}
	}
	t.Errorf("no denial record like %+v in:\n%s", w, b.traceText())
	return record.Record{}
}

func (b *Box) traceText() string {
	data, _ := os.ReadFile(b.Trace)
	return clip(string(data))
}
