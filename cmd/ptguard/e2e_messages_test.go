// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// TestMessages: what people read, in the order in which they read it, and that doing what
// it says helps.
func TestMessages(t *testing.T) {
	t.Parallel()
	fill := func(t testing.TB, b *ktest.Box) { b.Write(t, "outside/f", "") }

	t.Run("before the program's own words", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, fill)
		act := []string{"sh", "-c", "echo x >../outside/f || echo refused >&2"}
		if r := b.Bare(t, act...); r.Stderr != "" || b.Text(t, "outside/f") != "x\n" {
			t.Fatalf("bare: %v", r)
		}
		b.Reset(t)
		r := b.Guard(t, nil, act...)
		denied, words := strings.Index(r.Stderr, "ptguard: denied"), strings.Index(r.Stderr, "refused\n")
		if denied != 0 || words < 0 || r.Stdout != "" {
			t.Errorf("the program was heard first: %v", r)
		}
	})

	// A question is no attempt: the status does not change for what nobody is told.
	t.Run("questions", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, fill)
		ask := []string{"sh", "-c", "test -w ../outside/f && echo writable; true"}
		if r := b.Bare(t, ask...); r.Stdout != "writable\n" {
			t.Fatalf("bare: %v", r)
		}
		if r := b.Guard(t, []string{"--fail-on-denial"}, ask...); r.Status != 0 || r.Stdout != "" || r.Stderr != "" {
			t.Errorf("guarded: %v", r)
		}
		b.Find(t, ktest.Want{Access: "write", Path: "../outside/f"})
	})

	// Each fix is pasted, and the act repeated.
	for name, act := range map[string]string{
		"write":           "echo x >../outside/f",
		"new folder":      "mkdir -p ../outside/a && echo x >../outside/a/b",
		"rename":          "echo x >n && mv n ../outside/n",
		"link by name":    "ln -s f ../outside/l",
		"cache of a tool": "mkdir -p ~/.cache && mkdir ~/.cache/tool && echo x >~/.cache/tool/x",
		"file in home":    "echo x >~/.toolrc",
		"key":             "mkdir -p ~/.ssh; echo x >~/.ssh/known_hosts",
	} {
		t.Run("pasted "+name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, fill)
			if r := b.Bare(t, "sh", "-ec", act); r.Status != 0 {
				t.Fatalf("bare: %v", r)
			}
			var flags []string
			for range 4 {
				b.Reset(t)
				r := b.Guard(t, flags, "sh", "-ec", act)
				if r.Status == 0 {
					if len(flags) == 0 {
						t.Fatal("nothing was refused")
					}
					return
				}
				_, fix, ok := strings.Cut(r.Stderr, "allow with: ")
				if !ok {
					t.Fatalf("with %q: no fix: %v", flags, r)
				}
				fix, _, _ = strings.Cut(fix, "\n")
				flags = append(flags, strings.Fields(fix)...)
			}
			t.Errorf("%q does not help", flags)
		})
	}
}
