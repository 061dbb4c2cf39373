// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/internal/ktest"
)

// TestWithoutDescriptors: where ptguard cannot open a file any more, for its limit or the
// machine's is reached, what it cannot look at is refused. That the task is gone, of which no
// file in /proc tells then, must not be guessed.
func TestWithoutDescriptors(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	fill := func() {
		b.Write(t, "work/secret", "secret\n")
		b.Write(t, "work/hidden/x", "")
		b.Script(t, "work/prog", "#!/bin/sh\n")
		for _, name := range []string{"c", "r", "u"} {
			b.Write(t, "outside/"+name, "x")
		}
	}
	const acts = `
import os, socket
open("ready", "w").close()
open("go").close()
done = []
def act(name, f):
    try:
        f()
        done.append(name)
    except OSError:
        pass
def run(program):
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(program, [program])
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise OSError
act("read", lambda: open("secret").read())
act("stat", lambda: os.stat("hidden"))
act("list", lambda: os.listdir("hidden"))
act("write", lambda: open("../outside/w", "w").close())
act("unlink", lambda: os.unlink("../outside/u"))
act("rename", lambda: os.rename("../outside/r", "../outside/r2"))
act("link", lambda: os.link("secret", "linked"))
act("chmod", lambda: os.chmod("../outside/c", 0o600))
act("mkdir", lambda: os.mkdir("../outside/d"))
act("truncate", lambda: os.truncate("../outside/c", 0))
act("connect", lambda: socket.socket(socket.AF_UNIX).connect("../outside/sock"))
act("exec", lambda: run("./prog"))
print(*done)
`
	const all = "read stat list write unlink rename link chmod mkdir truncate connect exec\n"
	// Landlock, which would refuse some of it below, is left out.
	flags := []string{"--backstop", "off", "--deny", "secret", "--hide", "hidden", "--deny-exec", "prog"}
	run := func(argv []string, limit uint64) ktest.Result {
		t.Helper()
		b.Reset(t)
		fill()
		server, err := net.Listen("unix", b.Path("outside/sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		return limited(t, b, argv, limit)
	}
	program := []string{"/usr/bin/python3", "-c", acts}
	if r := run(program, 0); r.Stdout != all {
		t.Fatalf("bare: %v", r)
	}
	// Below what it holds nothing can be opened; a little above, some of what one look takes.
	limits := []uint64{0, 3}
	for limit := uint64(14); limit < 24; limit++ {
		limits = append(limits, limit)
	}
	for _, limit := range limits {
		r := run(b.Guarded(t, flags, program...), limit)
		if r.Status != 0 || r.Stdout != "\n" {
			t.Errorf("limit %d: %v", limit, r)
		}
		if limit == 3 {
			b.Find(t, ktest.Want{Rule: "guard unresolved", Resolved: "", Syscall: "openat"})
		}
	}
	// From the start on: whatever ptguard has left, nothing is shown.
	b.Reset(t)
	fill()
	if r := b.Bare(t, "cat", "secret"); r.Stdout != "secret\n" {
		t.Fatalf("bare: %v", r)
	}
	for limit := 4; limit < 24; limit++ {
		argv := append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$@"`, limit), "sh"}, b.Guarded(t, flags, "cat", "secret")...)
		if r := b.Run(t, ktest.Cmd{Argv: argv}); r.Status == 0 || strings.Contains(r.Stdout, "secret") {
			t.Errorf("limit %d: %v", limit, r)
		}
	}
}

// limited runs argv, which opens the FIFO ready for writing and then go for reading, and gives its
// process a limit of descriptors in between; 0 leaves it as it is.
func limited(t testing.TB, b *ktest.Box, argv []string, limit uint64) ktest.Result {
	t.Helper()
	for _, name := range []string{"ready", "go"} {
		_ = unix.Unlink(b.Path("work/" + name))
		if err := unix.Mkfifo(b.Path("work/"+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b.Run(t, ktest.Cmd{Argv: argv, Started: func(pid int) {
		go func() { // the FIFOs wait for the program, and it for them
			ready, err := os.Open(b.Path("work/ready"))
			if err == nil {
				_ = ready.Close()
				if limit > 0 {
					err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: limit}, nil)
				}
			}
			if err != nil {
				t.Errorf("limit %d: %v", limit, err)
			}
			if f, err := os.OpenFile(b.Path("work/go"), os.O_WRONLY, 0); err == nil {
				_ = f.Close()
			}
		}()
	}})
}

// TestScopeWithoutDescriptors: a child that is seen before its parent has told of it is in the scope of
// its parent, and in no other while nobody can be asked who that is.
func TestScopeWithoutDescriptors(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, scopeBox("  quiet: { files: { deny: [ ./f ] } }\n"))
	const forks = `
import os
def scope():
    try: return os.readlink("/run/ptguard/scope")
    except OSError: return "-"
try: os.mkdir("/run/ptguard/scope/quiet")
except OSError: pass
open("ready", "w").close()
open("go").close()
def some():
    seen = set()
    for _ in range(100):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(w, scope().encode())
            os._exit(0)
        os.close(w)
        seen.add(os.read(r, 99).decode())
        os.close(r)
        os.waitpid(pid, 0)
    os.write(1, (" ".join(sorted(seen)) + "\n").encode())
pids = []
for _ in range(4): # one that forks alone runs on one processor with its children
    pids.append(os.fork())
    if pids[-1] == 0:
        some()
        os._exit(0)
for pid in pids: os.waitpid(pid, 0)
`
	argv := []string{"/usr/bin/python3", "-c", forks}
	if r := limited(t, b, argv, 0); r.Stdout != strings.Repeat(noScope+"\n", 4) {
		t.Fatalf("bare: %v", r)
	}
	for _, limit := range []uint64{0, 3} {
		b.Reset(t)
		if r := limited(t, b, b.Guarded(t, scopeFlags()(b), argv...), limit); r.Stdout != strings.Repeat("quiet\n", 4) {
			t.Errorf("limit %d: %v", limit, r)
		}
	}
}

// TestListenExchanged: a process that shares nothing but the descriptors puts a socket without an
// address behind the number of a listen(2), which would then listen on every interface; with and without
// a descriptor left to see that with.
func TestListenExchanged(t *testing.T) {
	t.Parallel()
	tracee := ktest.Tracee(t, "swaplisten")
	for _, kind := range []string{"udp", "tcp", "unix"} {
		for _, limit := range []uint64{0, 3} {
			t.Run(fmt.Sprintf("%s/%d", kind, limit), func(t *testing.T) {
				t.Parallel()
				b := ktest.NewBox(t, nil)
				argv := []string{tracee, kind, "5000"}
				if r := limited(t, b, []string{tracee, kind, "5000000"}, 0); r.Stdout != "won\n" {
					t.Fatalf("bare: %v", r)
				}
				b.Reset(t)
				r := limited(t, b, b.Guarded(t, nil, argv...), limit)
				if r.Stdout != "lost\n" && (r.Stdout != "" || r.Signal != unix.SIGKILL) { // killed, with who shares its descriptors
					t.Errorf("%v", r)
				}
				b.NoProcessLeft(t)
			})
		}
	}
}
