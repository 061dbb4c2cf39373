// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Scrub removes from an output what legitimately differs between two runs.
type Scrub func(string) string

// Replace is a Scrub that replaces every match of pattern.
func Replace(pattern, with string) Scrub {
	re := regexp.MustCompile(pattern)
	return func(s string) string { return re.ReplaceAllString(s, with) }
}

// SortLines is a Scrub for outputs whose lines come in any order.
func SortLines(s string) string {
	lines := strings.SplitAfter(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Case is a command whose guarded run must be the same as its bare run.
type Case struct {
	Argv    []string
	Fill    func(t testing.TB, b *Box)
	Env     []string
	BareEnv []string // added for the bare run only (a warm cache)
	Flags   []string // of `ptguard run`
	// FlagsOf and ArgvOf give flags and command that name paths of the box.
	FlagsOf func(b *Box) []string
	ArgvOf  func(b *Box) []string
	// Wrap stands before the command, and before ptguard: what a caller does to both.
	Wrap []string
	// Tag is a build tag: the ptguard under test is that build.
	Tag     string
	Stdin   string
	Scrubs  []Scrub // applied to stdout and stderr
	Timeout time.Duration
	// Status is the exit status both must have, so that two equal failures do not pass;
	// after death by a signal it is not looked at, and Signal is.
	Status int
	Signal syscall.Signal
	// Stdout, if set, must be part of stdout of both.
	Stdout string
	// Check looks at the box after each run.
	Check func(t testing.TB, b *Box)
	// Lines says that lines of ptguard are expected (a warning); default: none may be.
	Lines bool
}

// Same runs c bare and guarded, in fresh boxes at the same path, and fails unless exit
// status, signal, stdout and stderr agree, ptguard wrote no line, and the trace has no
// denial.
func Same(t testing.TB, c Case) {
	t.Helper()
	b := NewBox(t, c.Fill)
	b.Env = append(slices.Clone(c.Env), c.BareEnv...)
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
	if c.ArgvOf != nil {
		c.Argv = c.ArgvOf(b)
	}
	bare := run(slices.Concat(c.Wrap, c.Argv))
	if bare.Signal != c.Signal || c.Signal == 0 && bare.Status != c.Status || !strings.Contains(bare.Stdout, c.Stdout) {
		t.Fatalf("bare run of %q: want status %d and stdout with %q, got %v", c.Argv, c.Status, c.Stdout, bare)
	}
	if c.Check != nil {
		c.Check(t, b)
	}
	if t.Failed() {
		t.Fatalf("bare run of %q fails its own check: %v", c.Argv, bare)
	}
	b.Reset(t)
	b.Env = slices.Clone(c.Env)
	flags := slices.Clone(c.Flags)
	if c.FlagsOf != nil {
		flags = append(flags, c.FlagsOf(b)...)
	}
	argv := b.Guarded(t, flags, c.Argv...)
	if c.Tag != "" {
		argv[slices.Index(argv, Binary(t))] = TaggedBinary(t, c.Tag)
	}
	guarded := run(slices.Concat(c.Wrap, argv))
	b.compare(t, c, bare, guarded)
}

func (b *Box) compare(t testing.TB, c Case, bare, guarded Result) {
	t.Helper()
	scrub := func(s string) string {
		for _, f := range c.Scrubs {
			s = f(s)
		}
		return s
	}
	same := bare.Status == guarded.Status && bare.Signal == guarded.Signal &&
		scrub(bare.Stdout) == scrub(guarded.Stdout) && scrub(bare.OwnStderr()) == scrub(guarded.OwnStderr())
	if !same {
		t.Errorf("%q differs\n=== bare: %v\n=== guarded: %v\n=== trace\n%s", c.Argv, bare, guarded, b.traceText())
	}
	if lines := guarded.GuardLines(); len(lines) > 0 && !c.Lines {
		t.Errorf("%q: nothing is refused, but ptguard says\n%s", c.Argv, clip(strings.Join(lines, "\n")))
	}
	if d := b.Denials(t); len(d) > 0 {
		t.Errorf("%q: %d denials in the trace\n%s", c.Argv, len(d), b.traceText())
	}
	if c.Check != nil {
		c.Check(t, b)
	}
}
