// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// TestTiers: doctor and the first record of a run name the same tier, and it is the one that
// the machine or the build gives.
func TestTiers(t *testing.T) {
	t.Parallel()
	box := []string{ktest.Tracee(t, "contained")}
	for _, tc := range []struct {
		name, tag string
		around    []string
		want      string // in the tier; "!" before what must not be
	}{
		{"released", "", nil, "race-free"},
		{"without the stub", "ptguard_nostub", nil, "exit stops instead of the stub"},
		{"contained", "", box, "range guard instead of mseal"},
		{"plain", "ptguard_plain", nil, "check-then-continue"},
		{"without Landlock", "ptguard_nolandlock", nil, "!Landlock signal scope"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			binary := ktest.Binary(t)
			if tc.tag != "" {
				binary = ktest.TaggedBinary(t, tc.tag)
			}
			r := b.Run(t, ktest.Cmd{Argv: append(append([]string{}, tc.around...), binary, "doctor", "--json")})
			var report struct {
				Tier   string
				Probes []struct {
					Name   string
					OK     bool
					Detail string
				}
			}
			if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil {
				t.Fatalf("%v: %v", err, r)
			}
			if word, not := strings.CutPrefix(tc.want, "!"); strings.Contains(report.Tier, word) == not {
				t.Errorf("tier %q, want %q", report.Tier, tc.want)
			}
			for _, p := range report.Probes {
				if p.Name == "guarded-run" && p.OK == (tc.tag == "ptguard_plain") { // a plain run has no window
					t.Errorf("%+v", p)
				}
			}
			argv := append(append([]string{}, tc.around...), binary, "run", "--trace", b.Trace, "--", "true")
			if r := b.Run(t, ktest.Cmd{Argv: argv}); r.Status != 0 {
				t.Fatalf("run: %v", r)
			}
			data, err := os.ReadFile(b.Trace)
			if err != nil {
				t.Fatal(err)
			}
			line, _, _ := bytes.Cut(data, []byte("\n"))
			var first struct{ Start struct{ Tier string } }
			if err := json.Unmarshal(line, &first); err != nil || first.Start.Tier != report.Tier {
				t.Errorf("first record: %s (%v), doctor said %q", line, err, report.Tier)
			}
		})
	}
}

// TestPlainMarker: the words that the build which only checks and continues warns with are
// in no other binary.
func TestPlainMarker(t *testing.T) {
	t.Parallel()
	marker := []byte("ptguard check-then-continue build")
	for binary, want := range map[string]bool{ktest.Binary(t): false, ktest.PlainBinary(t): true} {
		data, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(data, marker); got != want {
			t.Errorf("%s: marker %v, want %v", binary, got, want)
		}
	}
}
