// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// The behaviour of the Python audit-hook sandbox that ptguard brings to system calls, and
// the flaws of it that must not come back (reference/seed-behaviours.md 2 and 6.7).

func TestSeedModes(t *testing.T) {
	tracee := ktest.Tracee(t, "act")
	fill := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "outside/f", "x\n")
		b.Write(t, "outside/foo/f", "x\n")
		b.Write(t, "outside/foobar/f", "x\n")
		b.Write(t, "work/lib/f", "x\n")
	}
	// strict and permissive differ in reads outside the roots; the refusal says the mode.
	ktest.Refused(t, ktest.Refusal{
		Argv: []string{tracee, "open-r", "../outside/f"}, BareStdout: "ok", Stdout: "EPERM", Fill: fill, Flags: []string{"--mode", "strict"},
		Want: []ktest.Want{{Access: "read", Layer: "mode", Rule: "mode strict", Fix: "--read"}}, Hints: []string{"permissive"},
	})
	b := ktest.NewBox(t, fill)
	for _, c := range []struct {
		why   string
		flags []string
		act   []string
		want  string
	}{
		{"permissive reads outside", nil, []string{"open-r", "../outside/f"}, "ok"},
		{"a grant to write is one to read", []string{"--mode", "strict", "--write", b.Path("outside/foo")}, []string{"open-r", "../outside/foo/f"}, "ok"},
		{"a grant to read is none to write", []string{"--mode", "strict", "--read", b.Path("outside/foo")}, []string{"open-w", "../outside/foo/f"}, "EPERM"},
		{"a folder is no prefix of a longer name", []string{"--mode", "strict", "--write", b.Path("outside/foo")}, []string{"open-r", "../outside/foobar/f"}, "EPERM"},
		{"flags of open decide, not a mode string", nil, []string{"open-excl", "../outside/new"}, "EPERM"},
		{"truncating is writing", nil, []string{"open-trunc", "../outside/f"}, "EPERM"},
		{"the folder for temporary files", nil, []string{"creat", b.Path("tmp/f")}, "ok"},
		{"and /tmp beside it", nil, []string{"unlink", "/tmp/ptguard-seed-none"}, "ENOENT"},
	} {
		bare := "ok\n"
		if c.want != "EPERM" {
			bare = c.want + "\n"
		}
		b.Reset(t)
		if got := b.Bare(t, append([]string{tracee}, c.act...)...); got.Stdout != bare {
			t.Errorf("%s: bare %v", c.why, got)
		}
		b.Reset(t)
		if got := b.Guard(t, c.flags, append([]string{tracee}, c.act...)...); got.Stdout != c.want+"\n" {
			t.Errorf("%s: want %s, got %v", c.why, c.want, got)
		}
	}
	// A typo must not weaken a policy.
	b.Write(t, "typo.yaml", "ptguard: 1\nmodus: strict\n")
	for _, flags := range [][]string{{"--mode", "strickt"}, {"-p", b.Path("typo.yaml")}} {
		if got := b.Guard(t, flags, "echo", "ran"); got.Status != 125 || got.Stdout != "" || !strings.Contains(got.Stderr, "mode") {
			t.Errorf("%q: %v", flags, got)
		}
	}
}

// Every act that changes a name or an object has a path rule, not only open.
func TestSeedEveryAct(t *testing.T) {
	tracee := ktest.Tracee(t, "act")
	for _, act := range [][]string{
		{"open-w", "f"},
		{"unlink", "f"},
		{"rename", "f", "g"},
		{"link", "f", "g"},
		{"symlink", "f", "OUT/g"},
		{"mkdir", "g"},
		{"rmdir", "d"},
		{"chmod", "f"},
		{"truncate", "f"},
		{"utimes", "f"},
		{"mkfifo", "g"},
		{"setxattr", "f"},
	} {
		t.Run(act[0], func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				ArgvOf: func(b *ktest.Box) []string {
					out := []string{tracee, act[0]}
					for i, name := range act[1:] {
						if name = strings.ReplaceAll(name, "OUT", b.Outside); !strings.HasPrefix(name, "/") && !(act[0] == "symlink" && i == 0) {
							name = b.Outside + "/" + name
						}
						out = append(out, name)
					}
					return out
				},
				Fill: func(t testing.TB, b *ktest.Box) {
					b.Write(t, "outside/f", "x\n")
					if err := os.Mkdir(b.Path("outside/d"), 0o755); err != nil {
						t.Fatal(err)
					}
				},
				BareStdout: "ok", Stdout: "EPERM", Lasting: act[0] != "open-w",
				WantOf: func(b *ktest.Box) []ktest.Want {
					// The roots in the order that they were tried, then what to do.
					return []ktest.Want{{Layer: "mode", Hint: "writable here: " + b.Work + ", "}}
				},
				Hints: []string{"writable here: ", "allow with: --write"},
			})
		})
	}
}

// A network without a rule is the loopback network, and "" is every interface.
func TestSeedNetwork(t *testing.T) {
	bind := func(host string) []string {
		return []string{"/usr/bin/python3", "-c", "import socket\ns = socket.socket()\ntry:\n  s.bind(('" + host + "', 0)); print('ok')\nexcept OSError as e:\n  print(e.errno)"}
	}
	ktest.Refused(t, ktest.Refusal{Argv: bind(""), BareStdout: "ok", Stdout: "1\n", Want: []ktest.Want{{Access: "bind", Syscall: "bind", Fix: "--bind"}}})
	b := ktest.NewBox(t, nil)
	if got := b.Guard(t, nil, bind("127.0.0.1")...); got.Stdout != "ok\n" {
		t.Errorf("%v", got)
	}
}

// Code of one's own that is mapped for execution is read first, and scope user reads none:
// a library cannot be loaded past the rules (row 29).
func TestSeedNativeCode(t *testing.T) {
	load := "import ctypes\ntry:\n  ctypes.CDLL('./lib.so'); print('loaded')\nexcept OSError:\n  print('refused')"
	fill := func(t testing.TB, b *ktest.Box) {
		scopeBox("")(t, b)
		b.Write(t, "work/lib.c", "int x;\n")
		if r := b.Bare(t, "gcc", "-shared", "-o", "lib.so", "lib.c"); r.Status != 0 {
			t.Fatal(r)
		}
	}
	ktest.Refused(t, ktest.Refusal{
		Argv: []string{"/usr/bin/python3", "-c", load}, BareStdout: "loaded", Stdout: "refused", Fill: fill, FlagsOf: scopeFlags("--scope", "user"),
		Want: []ktest.Want{{Kind: "scope", Access: "read", Path: "./lib.so"}},
	})
}
