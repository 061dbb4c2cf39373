// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"ptguard/internal/probe"
)

// answers are probes that showed these results.
func answers(landlock bool, required bool) []probe.Probe {
	as := func(r probe.Result) func() probe.Result { return func() probe.Result { return r } }
	ptrace := probe.Result{OK: true, Detail: "seized"}
	if !required {
		ptrace = probe.Result{Detail: "ptrace is refused (Yama ptrace_scope=3)", Fix: "boot with 1"}
	}
	scope := probe.Result{OK: true, Detail: "ABI 7"}
	if !landlock {
		scope = probe.Result{Detail: "ABI 4 has no scopes", Fix: "needs Linux 6.12 or later"}
	}
	return []probe.Probe{
		{Name: "ptrace", Use: "stops the tree", Since: "3.8", Required: true, Try: as(ptrace)},
		{Name: "landlock-signal", Use: "keeps signals inside", Since: "6.12", Try: as(scope)},
		{Name: "landlock-files", Use: "keeps writes inside", Since: "5.19", Try: as(probe.Result{OK: landlock, Detail: "it is off"})},
		{Name: "cap-sys-ptrace", Use: "follows another user", Try: as(probe.Result{OK: true})},
	}
}

func TestDoctorReport(t *testing.T) {
	for _, tc := range []struct {
		name               string
		landlock, required bool
		colour             bool
		want               string
	}{
		{"all", true, true, false, `
  ok  ptrace           3.8+   stops the tree
  ok  landlock-signal  6.12+  keeps signals inside
  ok  landlock-files   5.19+  keeps writes inside
  ok  cap-sys-ptrace   any    follows another user

active in a run:
  race-free: what decided a call is what the kernel uses: opens, addresses and looks run from a sealed window in the program's memory, changes to names are made by ptguard on pinned directories, an exec is decided again before its first instruction
  Landlock signal scope: the tree can signal nothing outside itself
  Landlock write backstop: the tree itself can write only where the policy may allow it

guarded runs are possible
`},
		{"colour", false, true, true, "\n  \x1b[32mok\x1b[0m                    ptrace           3.8+   stops the tree\n" +
			"  \x1b[33mmissing (not needed)\x1b[0m  landlock-signal  6.12+  keeps signals inside\n" +
			"      ABI 4 has no scopes: needs Linux 6.12 or later\n" +
			"  \x1b[33mmissing (not needed)\x1b[0m  landlock-files   5.19+  keeps writes inside\n" +
			"      it is off\n" +
			"  \x1b[32mok\x1b[0m                    cap-sys-ptrace   any    follows another user\n" + `
active in a run:
  race-free: what decided a call is what the kernel uses: opens, addresses and looks run from a sealed window in the program's memory, changes to names are made by ptguard on pinned directories, an exec is decided again before its first instruction
  no Landlock signal scope: the tree can signal other processes of its user
  no Landlock write backstop: ptguard alone keeps writes out

guarded runs are possible
`},
		{"refused", true, false, false, `
  missing  ptrace           3.8+   stops the tree
      ptrace is refused (Yama ptrace_scope=3): boot with 1
  ok       landlock-signal  6.12+  keeps signals inside
  ok       landlock-files   5.19+  keeps writes inside
  ok       cap-sys-ptrace   any    follows another user

active in a run:
  nothing: no guarded run is possible here
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := examine(answers(tc.landlock, tc.required))
			r.Tier, r.TierMeaning = "race-free", meaningOf("race-free") // as a guarded run would say
			var b strings.Builder
			if err := r.write(&b, tc.colour); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(b.String(), "\n")
			if got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
			if r.Possible != tc.required || r.SignalScope != tc.landlock || r.Backstop != tc.landlock {
				t.Errorf("possible %v, scope %v", r.Possible, r.SignalScope)
			}
		})
	}
}

func TestDoctorStatus(t *testing.T) {
	err := examine(answers(true, false)).status()
	var status *statusError
	if !errors.As(err, &status) {
		t.Fatalf("got %v, want a status", err)
	}
	const want = "no guarded run is possible here: ptrace is refused (Yama ptrace_scope=3)"
	if status.code != 1 || err.Error() != want || status.hint != "boot with 1" {
		t.Errorf("got %d, %q, %q; want 1, %q", status.code, err, status.hint, want)
	}
	if err := examine(answers(false, true)).status(); err != nil {
		t.Errorf("got %v, want nothing for what is not required", err)
	}
}

func TestDoctorJSON(t *testing.T) {
	out, err := json.Marshal(examine(answers(true, false)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version, Kernel, Arch, Tier string
		Possible                    *bool
		Scope                       bool `json:"landlock_signal_scope"`
		Backstop                    bool `json:"landlock_write_backstop"`
		Probes                      []struct {
			Name, Since, Detail, Fix string
			Required, OK             bool
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != "0.1.0-dev" || got.Kernel == "" || got.Tier != "" || got.Possible == nil || *got.Possible || !got.Scope || !got.Backstop || len(got.Probes) != 4 {
		t.Errorf("%s", out)
	}
	if p := got.Probes[0]; p.Name != "ptrace" || p.Since != "3.8" || !p.Required || p.OK || p.Fix != "boot with 1" {
		t.Errorf("%+v", p)
	}
}

func TestVersionLine(t *testing.T) {
	commit := &debug.BuildInfo{Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-11-29T19:04:00Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	for want, info := range map[string]*debug.BuildInfo{
		"ptguard 0.1.0-dev (commit 0123456789ab, 2026-11-29T19:04:00Z, modified) go": commit,
		"ptguard 0.1.0-dev go":          {Main: debug.Module{Version: "(devel)"}},
		"ptguard 0.1.0-dev (v0.1.0) go": {Main: debug.Module{Version: "v0.1.0"}},
	} {
		if got := versionLine(info); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q…", got, want)
		}
	}
	if got := versionLine(nil); !strings.HasPrefix(got, "ptguard 0.1.0-dev go") || !strings.Contains(got, " linux/") {
		t.Errorf("got %q", got)
	}
}
