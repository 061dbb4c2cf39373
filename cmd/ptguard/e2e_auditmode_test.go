// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// auditActs do not depend on each other, so that a run that refuses each of them and one
// that refuses none meet the same questions.
const auditActs = `
echo x > ../outside/new
cat ../home/.netrc
rm ../outside/old
cat .env
./tool
ln ../outside/keep kept
mkdir ../outside/dir
mv moved ../outside/moved
true
`

func fillAudit(t testing.TB, b *ktest.Box) {
	b.Write(t, "outside/old", "old")
	b.Write(t, "outside/keep", "keep")
	b.Write(t, "home/.netrc", "secret-netrc\n")
	b.Write(t, "work/.env", "secret-env\n")
	b.Write(t, "work/moved", "moved")
	b.Script(t, "work/tool", "#!/bin/sh\necho tool-ran\n")
}

// An audit refuses nothing, and records what a run in earnest refuses.
func TestAuditRefusesNothing(t *testing.T) {
	b := ktest.NewBox(t, fillAudit)
	flags := []string{"--hide", "**/.env", "--deny-exec", "tool"}
	bare := b.Bare(t, "sh", "-c", auditActs)
	want := names(t, b)
	if bare.Status != 0 || bare.Stdout != "secret-netrc\nsecret-env\ntool-ran\n" {
		t.Fatalf("bare: %v", bare)
	}

	b.Reset(t)
	audit := b.Guard(t, append([]string{"--audit"}, flags...), "sh", "-c", auditActs)
	if audit.Status != 0 || audit.Stdout != bare.Stdout || audit.OwnStderr() != bare.OwnStderr() {
		t.Errorf("bare %v\naudit %v", bare, audit)
	}
	if got := names(t, b); got != want {
		t.Errorf("the box after an audit:\n%s\nbare:\n%s", got, want)
	}
	audit.WantLine(t, "warning", "AUDIT: nothing is enforced")
	audit.WantLine(t, "would deny", "/outside/new")
	audit.WantLine(t, "would hide", "/.env")
	audit.WantLine(t, "AUDIT, nothing was enforced", "denials")
	recorded := questions(t, b, true)

	b.Reset(t)
	earnest := b.Guard(t, flags, "sh", "-c", auditActs)
	if strings.Contains(earnest.Stdout, "secret") || strings.Contains(earnest.Stdout, "tool-ran") {
		t.Errorf("in earnest: %v", earnest)
	}
	refused := questions(t, b, false)
	for _, q := range refused {
		if !slices.Contains(recorded, q) {
			t.Errorf("refused in earnest, but not recorded by the audit: %s\naudit:\n%s", q, strings.Join(recorded, "\n"))
		}
	}
	if len(refused) < 8 {
		t.Errorf("only %d refusals in earnest:\n%s", len(refused), strings.Join(refused, "\n"))
	}
}

// names lists what is in the box, without times and inodes.
func names(t testing.TB, b *ktest.Box) string {
	t.Helper()
	return ktest.SortLines(b.Run(t, ktest.Cmd{Argv: []string{"find", "work", "home", "outside", "-printf", `%p %M %n\n`}, Dir: b.Root}).Stdout)
}

// questions are the denials of a trace in a form that two runs can be compared by.
func questions(t testing.TB, b *ktest.Box, audit bool) []string {
	t.Helper()
	var out []string
	for _, r := range b.Records(t) {
		switch {
		case r.Kind == record.KindStart && (r.Start.Audit != audit || r.Start.Cwd != b.Work):
			t.Errorf("start record: %+v", r.Start)
		case r.Kind == record.KindDenial && r.Audit != audit:
			t.Errorf("audit %v: %+v", audit, r)
		case r.Kind == record.KindDenial:
			out = append(out, fmt.Sprint(r.Syscall, r.Access, r.Resolved, r.Verdict, r.Errno, r.Rule, r.Reason, r.Fix))
		}
	}
	return out
}

// The guards protect ptguard itself and hold in an audit, as in mode open.
func TestAuditKeepsGuards(t *testing.T) {
	b := ktest.NewBox(t, nil)
	script := "echo x >> " + b.Trace + "; echo status $?"
	bare := b.Bare(t, "sh", "-c", script)
	if bare.Stdout != "status 0\n" {
		t.Fatalf("bare: %v", bare)
	}
	b.Reset(t)
	r := b.Guard(t, []string{"--audit", "--write", b.Root}, "sh", "-c", script)
	if r.Stdout != "status 2\n" {
		t.Errorf("the trace was opened for writing: %v", r)
	}
	d := b.Find(t, ktest.Want{Rule: "guard own-files", Errno: "EPERM"})
	if d.Audit {
		t.Errorf("a refusal in earnest is marked as an audit's: %+v", d)
	}
	r.WantLine(t, "denied", b.Trace)
}

// What an audit finds counts for --fail-on-denial: so it can be used in CI.
func TestAuditFailsOnDenial(t *testing.T) {
	b := ktest.NewBox(t, nil)
	for _, c := range []struct {
		script string
		status int
	}{{"echo x > ../outside/new", 120}, {"echo x > new", 0}, {"exit 3", 3}} {
		b.Reset(t)
		if r := b.Guard(t, []string{"--audit", "--fail-on-denial"}, "sh", "-c", c.script); r.Status != c.status {
			t.Errorf("%s: want status %d, got %v", c.script, c.status, r)
		}
	}
	b.Reset(t)
	r := b.Guard(t, []string{"--audit"}, "true")
	r.WantLine(t, "AUDIT, nothing was enforced", "0 denials")
}

// An exec that would be refused counts once, also if it is made by a thread that is not the
// leader, whose id the new image does not get.
func TestAuditCountsThreadExecOnce(t *testing.T) {
	b := ktest.NewBox(t, nil)
	flags := []string{"--deny-exec", "sh"}
	if r := b.Bare(t, ktest.Tracee(t, "execthread")); r.Status != 7 {
		t.Fatalf("bare: %v", r)
	}
	r := b.Guard(t, append(flags, "--audit"), ktest.Tracee(t, "execthread"))
	if r.Status != 7 {
		t.Errorf("audit: %v", r)
	}
	r.WantLine(t, "AUDIT, nothing was enforced", "1 denial,")
	if got := questions(t, b, true); len(got) != 1 {
		t.Errorf("one exec, %d denials:\n%s", len(got), strings.Join(got, "\n"))
	}
}

// A seal is recorded in an audit, too, and not enforced.
func TestAuditRecordsSeals(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/sealed", "old\n")
		b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: test\nseals:\n  - { path: "+b.Work+"/sealed, letters: W, reason: \"not now\" }\n")
	})
	argv := []string{"sh", "-c", "echo new > sealed; cat sealed"}
	flags := []string{"--seals", b.Path("seals")}
	if r := b.Bare(t, argv...); r.Stdout != "new\n" {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	if r := b.Guard(t, flags, argv...); r.Stdout != "old\n" {
		t.Fatalf("in earnest: %v", r)
	}
	b.Reset(t)
	r := b.Guard(t, append(flags, "--audit"), argv...)
	if r.Stdout != "new\n" {
		t.Errorf("audit: %v", r)
	}
	if !slices.ContainsFunc(b.Records(t), func(r record.Record) bool {
		return r.Kind == record.KindSeal && r.Audit && r.Verdict == "deny" && r.Resolved == b.Work+"/sealed"
	}) {
		t.Errorf("no record of the seal: %v", b.Records(t))
	}
	// why knows of seals as well.
	if w, r := why(t, b, flags, "write", "sealed"); r.Status != 1 || !strings.Contains(w[0].Objects[0].Reason, "not now") {
		t.Errorf("why: %v", r)
	}
}
