// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ptguard/internal/ktest"
)

// TestStartExecutesOnce: ptguard is executed once a run, by whoever starts it: its init stage
// is no second one. An exec opens the file and reads its head, which inotify(7) tells. It tells
// equal events in a row but once: the reads keep the opens apart.
func TestStartExecutesOnce(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	ptguard := b.Copy(t, ktest.Binary(t), "ptguard")
	events, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(events)
	if _, err := unix.InotifyAddWatch(events, ptguard, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
		t.Fatal(err)
	}
	opened := func() int {
		buf, opens := make([]byte, 256*unix.SizeofInotifyEvent), 0
		n, _ := unix.Read(events, buf) // EAGAIN: none; events of one file have no name
		for at := 0; at < n; at += unix.SizeofInotifyEvent {
			if binary.NativeEndian.Uint32(buf[at+4:])&unix.IN_OPEN != 0 {
				opens++
			}
		}
		return opens
	}
	for want, script := range map[int]string{1: `"$0" version`, 2: `"$0" version; "$0" version`, 3: `"$0" version; "$0" version; "$0" version`} {
		if out, err := exec.Command("sh", "-c", script, ptguard).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if n := opened(); n != want {
			t.Fatalf("%d execs are told %d times: this counts nothing", want, n)
		}
	}
	r := b.Run(t, ktest.Cmd{Argv: []string{ptguard, "run", "--", "echo", "ran"}})
	if r.Stdout != "ran\n" {
		t.Fatal(r)
	}
	if n := opened(); n != 1 {
		t.Errorf("ptguard was executed or opened %d times in one run", n)
	}
}

// TestStartClosesMemory: when the program runs, ptguard is not dumpable: its files in /proc
// belong to root (proc_pid_mem(5)), while a program that is started by a shell finds the
// shell's to be its user's own.
func TestStartClosesMemory(t *testing.T) {
	t.Parallel()
	nobody := func(argv ...string) string {
		if os.Geteuid() == 0 {
			argv = append([]string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"}, argv...)
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "HOME=/nonexistent")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v %s", argv, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	const owner = `stat -c %u /proc/$PPID/mem`
	uid := nobody("id", "-u")
	if bare := nobody("sh", "-c", `sh -c '`+owner+`'; :`); bare != uid || uid == "0" {
		t.Fatalf("bare: the memory of a shell of %s belongs to %s", uid, bare)
	}
	if guarded := nobody(ktest.Binary(t), "run", "-q", "--work", "/tmp", "--", "sh", "-c", owner); guarded != "0" {
		t.Errorf("the memory of ptguard belongs to %s", guarded)
	}
}

// CMD is what its own PATH leads to, which a policy can say: that is what a closed list lets be
// executed, and not the one of our PATH.
func TestCommandOfItsOwnPath(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		for _, dir := range []string{"outside/ours", "outside/its"} {
			b.Script(t, dir+"/tool", "#!/bin/sh\necho "+dir+"; "+b.Path("outside/ours/tool2")+"; "+b.Path("outside/ours/tool"))
		}
		b.Script(t, "outside/ours/tool2", "#!/bin/sh\necho two\n")
		b.Write(t, "p.yaml", "ptguard: 1\nmode: strict\nexec: { allow: [/bin/sh] }\nenv: { set: { PATH: "+b.Path("outside/its")+" } }\n")
	})
	for _, path := range []string{b.Path("outside/ours") + ":", ""} {
		argv := append([]string{"env", "PATH=" + path + os.Getenv("PATH")}, b.Guarded(t, []string{"-p", b.Path("p.yaml")}, "tool")...)
		if r := b.Run(t, ktest.Cmd{Argv: argv}); r.Stdout != "outside/its\n" {
			t.Errorf("%v", r)
		}
	}
}

// A temp folder that TMPDIR names from the current folder.
func TestPrivateTmpOfRelativeTMPDIR(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { t.Helper(); b.Write(t, "work/temp/x", "") })
	b.Env = []string{"TMPDIR=temp"}
	r := b.Guard(t, []string{"--preset", "hermetic"}, "sh", "-c", `echo x >"$TMPDIR"/f && cat "$TMPDIR"/f; cd / && cat "$TMPDIR"/f`)
	if left, err := os.ReadDir(b.Path("work/temp")); r.Stdout != "x\nx\n" || err != nil || len(left) != 1 {
		t.Errorf("%v %v %v", left, err, r)
	}
}
