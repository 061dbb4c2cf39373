// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// What others wrote to test an interpreter or a kernel ends under ptguard as it ends bare:
// CPython's own tests and stress-ng's exercisers of system calls. Here the quick ones run;
// `.ci/suites` runs all (PTGUARD_SUITES=long). Differences that are meant are listed with
// their reason in testdata/suites/known.

// suiteModes are the flags that each suite is run with. Tests of sockets bind to every
// interface, which the default network, loopback, leaves out.
var suiteModes = map[string][]string{
	"open":       {"-q", "--mode", "open", "--work", "."},
	"permissive": {"-q", "--work", ".", "--bind", "*:*"},
}

func longSuites() bool { return os.Getenv("PTGUARD_SUITES") == "long" }

// suiteFile reads a list below testdata/suites: an entry a line, # begins a comment.
func suiteFile(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(ktest.ModuleRoot(), "testdata", "suites", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// known tells whether a difference is meant: a line of the file is SUITE MODE TEST, where
// * stands for any.
func known(lines []string, suite, mode, test string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		f := strings.Fields(line)
		one := func(pattern, word string) bool { return pattern == "*" || pattern == word }
		return len(f) == 3 && one(f[0], suite) && one(f[1], mode) && one(f[2], test)
	})
}

// compareSuite fails for each test whose results are neither the same nor known.
func compareSuite(t testing.TB, suite, mode string, bare, guarded map[string]string) {
	t.Helper()
	lines := suiteFile(t, "known")
	for test, want := range bare {
		if got := guarded[test]; got != want && !known(lines, suite, mode, test) {
			t.Errorf("%s differs in mode %s\n  bare:    %s\n  guarded: %s", test, mode, want, got)
		}
	}
	for test, got := range guarded {
		if _, ok := bare[test]; !ok && !known(lines, suite, mode, test) {
			t.Errorf("%s is only in mode %s: %s", test, mode, got)
		}
	}
}

// TestSuiteCPython runs modules of CPython's test package and compares test by test.
func TestSuiteCPython(t *testing.T) {
	t.Parallel()
	groups := []string{"test_posix:PosixTester,PosixGroups test_fcntl test_openpty test_socket:TestUnixDomain,SCMRights !VSOCK"}
	if longSuites() {
		groups = suiteFile(t, "cpython-modules")
	}
	script, err := os.ReadFile(filepath.Join(ktest.ModuleRoot(), "testdata", "suites", "cpython.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		words := strings.Fields(group)
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/cpython.py", string(script)) })
			argv := append([]string{"python3", "cpython.py", b.Path("work/results")}, words...)
			run := func(argv []string) map[string]string {
				r := b.Run(t, ktest.Cmd{Argv: argv, Timeout: 10 * time.Minute})
				if r.Status != 0 {
					t.Fatalf("%q: %v", argv, r)
				}
				return cpythonResults(b.Text(t, "work/results"))
			}
			bare := run(argv)
			if len(bare) < 20 {
				t.Fatalf("only %d tests ran: %v", len(bare), bare)
			}
			for mode, flags := range suiteModes {
				b.Reset(t)
				compareSuite(t, "cpython", mode, bare, run(b.Guarded(t, flags, argv...)))
				for line := range strings.Lines(b.Text(t, "work/results")) {
					if t.Failed() && (strings.Contains(line, "\terror ") || strings.Contains(line, "\tfail ")) {
						t.Log(strings.TrimSpace(line))
					}
				}
			}
		})
	}
}

// cpythonResults gives for each test how it ended: with the reason for a skip, for that is
// what the test has found out, else a word, for messages name pids and folders.
func cpythonResults(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		id, how, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if word, _, _ := strings.Cut(how, " "); word != "skip" {
			how = word
		}
		out[id] += how + " "
	}
	return out
}

// TestSuiteStress runs stress-ng's exercisers, few rounds of each, as a user without
// privileges: they try whatever their user may do.
func TestSuiteStress(t *testing.T) {
	t.Parallel()
	names := strings.Fields(`access chmod dup enosys fcntl getdent link open rename touch utime xattr clone vfork kill sigq session pidfd pty sock sockfd prctl get`)
	modes := map[string][]string{"open": suiteModes["open"]}
	if longSuites() {
		modes = suiteModes
		names = strings.Fields(strings.Join(suiteFile(t, "stressors"), " "))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
				for _, dir := range []string{b.Root, b.Work, b.Tmp} {
					if err := os.Chmod(dir, 0o777); err != nil {
						t.Fatal(err)
					}
				}
			})
			argv := []string{"stress-ng", "--" + name, "1", "--" + name + "-ops", "3", "--timeout", "20s", "--verify", "--temp-path", b.Work}
			if name == "pty" {
				argv = append(argv, "--pty-max", "64") // else all that the machine has, and other tests get ENOSPC
			}
			var wrap []string
			if root() {
				wrap = []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}
			}
			bare := b.Run(t, ktest.Cmd{Argv: slices.Concat(wrap, argv)})
			for mode, flags := range modes {
				b.Reset(t)
				guarded := b.Run(t, ktest.Cmd{Argv: slices.Concat(wrap, b.Guarded(t, flags, argv...))})
				compareSuite(t, "stress-ng", mode, stressResult(name, bare), stressResult(name, guarded))
			}
		})
	}
}

var (
	stressLine   = regexp.MustCompile(`(?m)^stress-ng: (?:fail|error|warn|info): *\[\d+\] (.*)$`)
	stressAbout  = regexp.MustCompile(`fail|unexpected|skip|not supported|incorrect|No stress|prematurely`)
	stressNumber = regexp.MustCompile(`\d{3,}|[\d.]+s\b`)
)

// stressResult is the exit status and each line about a failure or a skip, without pids and times.
func stressResult(name string, r ktest.Result) map[string]string {
	lines := []string{"status " + strconv.Itoa(r.Status)}
	for _, m := range stressLine.FindAllStringSubmatch(r.Stdout+r.OwnStderr(), -1) {
		if line := stressNumber.ReplaceAllString(m[1], "N"); stressAbout.MatchString(line) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return map[string]string{name: strings.Join(lines, "; ")}
}

// TestSuiteFindings are differences that the suites have found, in small.
func TestSuiteFindings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, stdout string }{
		"stress-ng sock, owner of a socket": {`
import fcntl, os, socket, struct
s = socket.socketpair()[0]
for request in (0x8901, 0x8902):  # FIOSETOWN, SIOCSPGRP
    for pid in (os.getpid(), 0):
        fcntl.ioctl(s, request, struct.pack("i", pid)); print(fcntl.fcntl(s, fcntl.F_GETOWN) == pid)
`, "True\nTrue\nTrue\nTrue\n"},
		"test_prlimit, no such process": {`
import os, resource
for f in (lambda p: resource.prlimit(p, resource.RLIMIT_AS), lambda p: os.sched_setaffinity(p, [0]), lambda p: os.sched_setscheduler(p, 0, os.sched_param(0)),
          lambda p: os.setpriority(os.PRIO_PROCESS, p, 0), os.pidfd_open, lambda p: os.kill(p, 0)):
    for p in (-2**31 + 1, 2**31 - 1):
        try: f(p); print("no error")
        except OSError as e: print(e.errno, end=" ")
`, "3 3 3 3 22 3 3 3 22 3 3 3 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, flags := range suiteModes {
				ktest.Same(t, ktest.Case{Argv: []string{"python3", "-c", c.script}, Flags: flags, Stdout: c.stdout})
			}
		})
	}
}
