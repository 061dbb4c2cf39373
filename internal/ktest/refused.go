// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"io"
	"strings"
	"testing"
	"time"
)

// Refusal is an act that works without ptguard and must not take effect under it.
type Refusal struct {
	Argv  []string
	Fill  func(t testing.TB, b *Box)
	Env   []string
	Flags []string
	Stdin string
	// FlagsOf gives flags that name paths of the box; added to Flags.
	FlagsOf func(b *Box) []string
	// ArgvOf gives the command when it names paths of the box; instead of Argv.
	ArgvOf  func(b *Box) []string
	Timeout time.Duration

	// BareStatus and BareStdout are what the act gives without ptguard. The guarded run must
	// not give this output, unless it is in Stdout.
	BareStatus int
	BareStdout string
	// Lasting says that the act changes the box: a snapshot must differ after the bare run
	// and be the same after the guarded one.
	Lasting bool
	// Quiet says that no live line is looked for (a hidden file, a folded refusal).
	Quiet bool
	// Happened tells whether the act took effect; it must be true after the bare run and
	// false after the guarded one. nil: the act has no lasting effect, stdout tells.
	Happened func(t testing.TB, b *Box) bool
	// Status and Stdout are those of the guarded run; Status < 0: any but BareStatus.
	Status int
	Stdout string
	// Want are the denial records, of which each must be there.
	Want []Want
	// WantOf gives records that name paths of the box; added to Want.
	WantOf func(b *Box) []Want
	// Hints are parts of the "ptguard: hint" lines.
	Hints []string
}

// Refused runs c bare and sees it succeed, runs it guarded in a fresh box, and fails
// unless the act had no effect, the stated status and output came back, and the trace
// and the live lines tell of it.
func Refused(t testing.TB, c Refusal) {
	t.Helper()
	b := NewBox(t, c.Fill)
	b.Env = c.Env
	run := func(argv []string) Result {
		t.Helper()
		var stdin io.Reader
		if c.Stdin != "" {
			stdin = strings.NewReader(c.Stdin)
		}
		r := b.Run(t, Cmd{Argv: argv, Stdin: stdin, Timeout: c.Timeout})
		b.NoProcessLeft(t)
		return r
	}
	argv := c.Argv
	if c.ArgvOf != nil {
		argv = c.ArgvOf(b)
	}
	before := b.Snapshot(t)
	bare := run(argv)
	if bare.Status != c.BareStatus || !strings.Contains(bare.Stdout, c.BareStdout) {
		t.Fatalf("bare run of %q: want status %d and stdout with %q, got %v", argv, c.BareStatus, c.BareStdout, bare)
	}
	if c.Happened != nil && !c.Happened(t, b) {
		t.Fatalf("bare run of %q has no effect: %v", argv, bare)
	}
	if c.Lasting && b.Snapshot(t) == before {
		t.Fatalf("bare run of %q changes nothing: %v", argv, bare)
	}
	b.Reset(t)
	flags := c.Flags
	if c.FlagsOf != nil {
		flags = append(append([]string{}, flags...), c.FlagsOf(b)...)
	}
	before = b.Snapshot(t)
	guarded := run(b.Guarded(t, flags, argv...))
	if after := b.Snapshot(t); c.Lasting && after != before {
		t.Errorf("%q: refused, but the box changed\n=== before\n%s\n=== after\n%s", argv, before, after)
	}
	if c.Status >= 0 && guarded.Status != c.Status || c.Status < 0 && guarded.Status == c.BareStatus {
		t.Errorf("%q: want status %d, got %v", argv, c.Status, guarded)
	}
	if guarded.Signal != 0 {
		t.Errorf("%q died: %v", argv, guarded)
	}
	if !strings.Contains(guarded.Stdout, c.Stdout) {
		t.Errorf("%q: want stdout with %q, got %v", argv, c.Stdout, guarded)
	}
	if c.BareStdout != "" && !strings.Contains(c.Stdout, c.BareStdout) && strings.Contains(guarded.Stdout, c.BareStdout) {
		t.Errorf("%q: refused, but it says what it says without ptguard: %v", argv, guarded)
	}
	if c.Happened != nil && c.Happened(t, b) {
		t.Errorf("%q: refused, but it took effect: %v", argv, guarded)
	}
	want := c.Want
	if c.WantOf != nil {
		want = append(append([]Want{}, want...), c.WantOf(b)...)
	}
	if len(want) == 0 {
		t.Fatal("a Refusal without a record to look for proves too little")
	}
	for _, w := range want {
		r := b.Find(t, w)
		if r.Kind == "" {
			continue
		}
		if r.Reason == "" || r.Rule == "" || r.Layer == "" || r.Verdict == "" || r.Errno == "" || r.PID == 0 || r.Exe == "" {
			t.Errorf("denial record without reason, rule, layer, verdict, errno, pid or exe: %+v", r)
		}
		if !c.Quiet {
			// People see where the act would have gone; the trace has the path as given, too.
			name := r.Resolved
			if name == "" {
				name = r.Path
			}
			guarded.WantLine(t, "denied", name)
		}
	}
	for _, h := range c.Hints {
		guarded.WantLine(t, "hint", h)
	}
	if !c.Quiet {
		guarded.WantLine(t, "", "denial")
	}
}

// WantLine fails unless ptguard wrote `ptguard: KIND … text …` to stderr. A line may
// begin within one of the program's: many write theirs in pieces.
func (r Result) WantLine(t testing.TB, kind, text string) {
	t.Helper()
	for line := range strings.Lines(r.Stderr) {
		if _, own, ok := strings.Cut(line, "ptguard: "+kind); ok && strings.Contains(own, text) {
			return
		}
	}
	t.Errorf("no line \"ptguard: %s … %s …\" on stderr: %v", kind, text, r)
}
