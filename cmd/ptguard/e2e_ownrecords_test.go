// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// What ptguard writes is its own word: the command holds no descriptor of it, cannot send to
// who reads it, and what it leaves where a proposal goes is none of ptguard's.

// A descriptor that ptguard opened for itself is not one that was inherited, whatever number
// the user takes; nor is that of the trace one for the command.
func TestKeepFDIsInherited(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	for fd := 3; fd < 30; fd++ {
		n := strconv.Itoa(fd)
		r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "run", "--keep-fd", n, "--", "readlink", "/proc/self/fd/" + n}})
		if r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "--keep-fd "+n+": bad file descriptor") {
			t.Errorf("%v", r)
		}
	}
	write := func(flags ...string) []string {
		argv := append([]string{ktest.Binary(t), "run", "-q"}, flags...)
		return slices.Concat(under(`"$@" 9>>`+b.Path("records")), argv, []string{"--", "sh", "-c", "echo forged >&9"})
	}
	if r := b.Run(t, ktest.Cmd{Argv: write("--keep-fd", "9", "--trace", b.Path("other"))}); r.Status != 0 || b.Text(t, "records") != "forged\n" {
		t.Fatalf("with another trace: %v", r)
	}
	if err := os.Remove(b.Path("records")); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--trace", "fd:9"}, {"--trace", "/dev/fd/9"}, {"--trace", "/proc/self/fd/9"}} {
		r := b.Run(t, ktest.Cmd{Argv: write(append(flags, "--keep-fd", "9")...)})
		if r.Status != 125 || b.Text(t, "records") != "" || !strings.Contains(r.Stderr, "records go there") {
			t.Errorf("%q: %v", flags, r)
		}
	}
}

// Who is told of the refusals behind a socket is not told any by the tree.
func TestTraceSocketIsNotForTheTree(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	path := b.Path("work/s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 8)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(conn)
			got <- string(text)
		}
	}()
	forge := []string{"/usr/bin/python3", "-c", `
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect("s"); s.send(b"forged"); os.rename("s", "x"); os.rename("x", "s")`}
	if r := b.Bare(t, forge...); r.Status != 0 || <-got != "forged" {
		t.Fatalf("bare: %v", r)
	}
	r := b.Run(t, ktest.Cmd{Argv: slices.Concat([]string{ktest.Binary(t), "run", "-q", "--trace", "unix:" + path, "--"}, forge)})
	if text := <-got; r.Status != 1 || !strings.Contains(r.Stderr, "PermissionError") || !strings.Contains(text, "guard own-files") {
		t.Errorf("%v\n%s", r, text)
	}
}

// A policy that the command itself laid where the proposal goes is no word of the user's, and
// a link that it laid there does not lead the proposal into another policy.
func TestLearnTakesNoPolicyOfTheCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out, act, left string
		flags          []string // -p, without which a policy that is there is guarded as one
	}{
		"made":    {"p.yaml", "printf 'ptguard: 1\\nfiles: { write: [/srv] }\\n' >p.yaml", "ptguard: 1\nfiles: { write: [/srv] }\n", nil},
		"link":    {"p.yaml", "ln -s ../other.yaml p.yaml", "ptguard: 1\n", nil},
		"fifo":    {"p.yaml", "mkfifo p.yaml", "", nil},
		"another": {"link", "ln -sfn ../other.yaml link", "ptguard: 1\n", []string{"-p", "../other.yaml"}},
	} {
		b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
			t.Helper()
			b.Write(t, "other.yaml", "ptguard: 1\n")
			b.Write(t, "work/old.yaml", "ptguard: 1\n")
			b.Write(t, "outside/x", "")
			if err := os.Symlink("old.yaml", b.Path("work/link")); err != nil {
				t.Fatal(err)
			}
		})
		argv := slices.Concat([]string{ktest.Binary(t), "learn", "-o", c.out}, c.flags, []string{"--", "sh", "-c", c.act + " && echo >../outside/x"})
		r := b.Run(t, ktest.Cmd{Argv: argv})
		if r.Status != 125 || !strings.Contains(r.Stderr, "was changed while the command ran") {
			t.Errorf("%s: %v", name, r)
		}
		if !strings.Contains(r.Stdout, "/outside/x\n") || strings.Contains(r.Stdout, "- /srv\n") || b.Text(t, "other.yaml") != "ptguard: 1\n" {
			t.Errorf("%s: %v\n%s", name, r, b.Text(t, "other.yaml"))
		}
		if name != "fifo" && b.Text(t, "work/"+c.out) != c.left {
			t.Errorf("%s: %q", name, b.Text(t, "work/"+c.out))
		}
	}
}

// A name that is not UTF-8 is proposed as a pattern, and not as another name.
func TestLearnOddBytes(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	script := `echo x >"$(printf '../outside/a\377')"; echo y >../outside/é`
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "learn", "-o", b.Path("p.yaml"), "--", "sh", "-c", script}})
	text := b.Text(t, "p.yaml")
	if r.Status != 0 || !strings.Contains(text, "/outside/a?\"") || !strings.Contains(text, "/outside/é") || strings.Contains(r.Stderr, "not granted") {
		t.Errorf("%v\n%s", r, text)
	}
	again := b.Guard(t, []string{"-p", b.Path("p.yaml")}, "sh", "-c", script)
	if again.Status != 0 || len(b.Denials(t)) != 0 {
		t.Errorf("%v", again)
	}
}
