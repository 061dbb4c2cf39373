// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// other is a process outside the tree, leader of a group of its own.
type other struct {
	cmd  *exec.Cmd
	dead chan struct{}
}

func newOther(t testing.TB) *other {
	t.Helper()
	o := &other{cmd: exec.Command("sleep", "600"), dead: make(chan struct{})}
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = o.cmd.Wait()
		close(o.dead)
	}()
	t.Cleanup(func() {
		_ = o.cmd.Process.Kill()
		<-o.dead
	})
	return o
}

func (o *other) pid() string { return strconv.Itoa(o.cmd.Process.Pid) }

// alive tells whether no signal has ended the process. The sender has exited by now, and
// what it sent is pending before it returns; a death is seen within the limit.
func (o *other) alive(limit time.Duration) bool {
	select {
	case <-o.dead:
		return false
	case <-time.After(limit):
		return true
	}
}

// state is what the acts below could change, as /proc tells it.
func (o *other) state(t testing.TB) string {
	t.Helper()
	limits, err := os.ReadFile(filepath.Join("/proc", o.pid(), "limits"))
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile(filepath.Join("/proc", o.pid(), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	// priority, nice, rt_priority, policy: fields 18, 19, 40, 41 of proc_pid_stat(5).
	f := strings.Fields(string(stat))
	return string(limits) + strings.Join([]string{f[17], f[18], f[39], f[40]}, " ")
}

// TestOutsiderSignals: no spelling of a signal leaves the tree. Each kills a process
// without ptguard.
func TestOutsiderSignals(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "other")
	for name, call := range map[string]string{
		"kill": "kill", "kill-junk": "kill", "kill-group": "kill", "tkill": "tkill", "tgkill": "tgkill",
		"sigqueue": "rt_sigqueueinfo", "tgsigqueue": "rt_tgsigqueueinfo", "pidfd": "pidfd_open", "pidfd-proc": "pidfd_send_signal|openat",
		"setown": "fcntl", "setown-junk": "fcntl", "setown-group": "fcntl", "setown-ex": "fcntl", "fiosetown": "ioctl", "siocspgrp": "ioctl",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			victim := newOther(t)
			if bare := b.Bare(t, act, name, victim.pid()); bare.Stdout != "ok\n" || victim.alive(10*time.Second) {
				t.Fatalf("bare %s does not kill: %v", name, bare)
			}
			for mode, flags := range map[string][]string{"permissive": nil, "strict": {"--read", filepath.Dir(act)}, "open": nil} {
				victim = newOther(t)
				b.Reset(t)
				r := b.Guard(t, append([]string{"--mode", mode}, flags...), act, name, victim.pid())
				if r.Stdout != "EPERM\n" || r.Status != 0 {
					t.Errorf("%s in mode %s: want EPERM, got %v", name, mode, r)
				}
				if !victim.alive(50 * time.Millisecond) {
					t.Errorf("%s in mode %s killed a process outside", name, mode)
				}
				b.Find(t, ktest.Want{Syscall: call, Errno: "EPERM"})
			}
		})
	}
}

// TestOutsiderTuning: limits, priorities and schedules of processes outside stay.
func TestOutsiderTuning(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "other")
	for _, c := range []struct {
		act, call string
		same      bool // the bare act succeeds and leaves no trace in /proc
	}{
		{act: "prlimit", call: "prlimit64"},
		{act: "prlimit-core", call: "prlimit64", same: true}, // perhaps it is 0
		{act: "prlimit-get", call: "prlimit64", same: true},
		{act: "setpriority", call: "setpriority"},
		{act: "setpriority-group", call: "setpriority"},
		{act: "ioprio", call: "ioprio_set", same: true},
		{act: "sched_setscheduler", call: "sched_setscheduler"},
		{act: "sched_setparam", call: "sched_setparam", same: true},
		{act: "sched_setattr", call: "sched_setattr"},
		{act: "sched_setaffinity", call: "sched_setaffinity", same: true},
		{act: "kill-probe", call: "kill", same: true},
	} {
		t.Run(c.act, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			victim := newOther(t)
			before := victim.state(t)
			if bare := b.Bare(t, act, c.act, victim.pid()); bare.Stdout != "ok\n" || !c.same && victim.state(t) == before {
				t.Fatalf("bare %s changes nothing: %v", c.act, bare)
			}
			victim = newOther(t)
			b.Reset(t)
			before = victim.state(t)
			if r := b.Guard(t, nil, act, c.act, victim.pid()); r.Stdout != "EPERM\n" {
				t.Errorf("%s: want EPERM, got %v", c.act, r)
			}
			if after := victim.state(t); after != before {
				t.Errorf("%s took effect: %s", c.act, after)
			}
			b.Find(t, ktest.Want{Syscall: c.call, Errno: "EPERM"})
		})
	}
}

// TestOutsiderMemory: memory of a process outside cannot be read.
func TestOutsiderMemory(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "other")
	b := ktest.NewBox(t, nil)
	// The program itself is the outsider: its memory holds a readable page, the first of /proc/PID/maps.
	victim := newOther(t)
	maps := ""
	if !ktest.Until(10*time.Second, func() bool {
		data, err := os.ReadFile(filepath.Join("/proc", victim.pid(), "maps"))
		maps = string(data)
		return err == nil && strings.Contains(maps, "sleep") || strings.Contains(maps, "coreutils")
	}) {
		t.Fatalf("sleep has not been executed: %s", maps)
	}
	start, _, _ := strings.Cut(maps, "-")
	if bare := b.Bare(t, act, "process_vm_readv", victim.pid(), start); bare.Stdout != "ok\n" {
		t.Fatalf("bare: %v", bare)
	}
	b.Reset(t)
	if r := b.Guard(t, nil, act, "process_vm_readv", victim.pid(), start); r.Stdout != "EPERM\n" {
		t.Errorf("want EPERM, got %v", r)
	}
	b.Find(t, ktest.Want{Syscall: "process_vm_readv", Errno: "EPERM"})
}

// TestGroupSignals: a signal to a group, or to everybody, reaches the tree only and
// returns 0 (POLICY 9).
func TestGroupSignals(t *testing.T) {
	t.Parallel()
	// outer is an outsider in the very group of the tree; it tells of the signal at its end.
	const outer = `trap "echo outside" USR1; "$@"; echo end $?`
	const inner = `trap "echo inside" USR1; kill -USR1 0; echo status $?`
	b := ktest.NewBox(t, nil)
	bare := b.Bare(t, "sh", "-c", outer, "sh", "sh", "-c", inner)
	if want := "inside\nstatus 0\noutside\nend 0\n"; bare.Stdout != want {
		t.Fatalf("bare: want %q, got %v", want, bare)
	}
	b.Reset(t)
	argv := append([]string{"sh", "-c", outer, "sh"}, b.Guarded(t, nil, "sh", "-c", inner)...)
	r := b.Run(t, ktest.Cmd{Argv: argv})
	if want := "inside\nstatus 0\nend 0\n"; r.Stdout != want || r.OwnStderr() != "" {
		t.Errorf("want %q, got %v", want, r)
	}
	if d := b.Denials(t); len(d) > 0 {
		t.Errorf("denials: %+v", d)
	}
}

// TestSignalEverybody: kill(-1) reaches the tree. There is no bare half: it would end the
// session that runs the tests; that a signal to a process outside works is shown above.
func TestSignalEverybody(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	victim := newOther(t)
	r := b.Guard(t, nil, "sh", "-c", `sleep 600 & kill -TERM -1; echo status $?; wait $!; echo child $?`)
	if want := "status 0\nchild 143\n"; r.Stdout != want {
		t.Errorf("want %q, got %v", want, r)
	}
	if !victim.alive(50 * time.Millisecond) {
		t.Error("kill -1 reached a process outside")
	}
}

// notLeader runs a command in the group of somebody else, as it is under ptguard.
var notLeader = []string{"sh", "-c", `"$@"; exit $?`, "sh"}

// TestSignalWords: signals that fail on their words, in the kernel's order of checks.
func TestSignalWords(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "signalwords")
	other := newOther(t)
	ktest.Same(t, ktest.Case{Argv: []string{act, other.pid()}, Wrap: notLeader, Stdout: "sigqueue gone 65 0: EPERM\n"})
	if !other.alive(0) {
		t.Error("a signal whose number is none has killed")
	}
}

// TestGroupPriority: the priority of a group, or of a user's processes, is that of the members
// inside the tree; a member outside keeps its own.
func TestGroupPriority(t *testing.T) {
	t.Parallel()
	// outer is an outsider in the very group of the tree, and of the same user.
	const outer = `
import os, subprocess, sys
r = subprocess.run(sys.argv[1:])
print("outside", os.getpriority(os.PRIO_PROCESS, 0), "status", r.returncode)
`
	const inner = `
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
IOPRIO_SET, IOPRIO_GET = {"x86_64": (251, 252)}.get(os.uname().machine, (30, 31))
asked, hold = os.pipe(), os.pipe()
def nice(): return os.getpriority(os.PRIO_PROCESS, 0)
def io(): return libc.syscall(IOPRIO_GET, 1, 0) >> 13
def ask(f, *a):
    try: f(*a); return "ok"
    except OSError as e: return os.strerror(e.errno)
child = os.fork()
if child == 0:
    # A thread of its own, for the call is to reach each.
    def tell(): os.read(hold[0], 1); os.write(asked[1], b"%d %d;" % (os.getpriority(os.PRIO_PROCESS, threading.get_native_id()), io()))
    t = threading.Thread(target=tell); t.start(); os.write(asked[1], b"+"); tell(); t.join(); os._exit(0)
os.read(asked[0], 1)
print("group", ask(os.setpriority, os.PRIO_PGRP, int(sys.argv[1]) and os.getpgrp(), 5), nice())
print("lower", ask(os.setpriority, os.PRIO_PGRP, 0, 4) if os.geteuid() else "Permission denied")
print("group io", libc.syscall(IOPRIO_SET, 2, 0, 3 << 13), io())
os.write(hold[1], b"xx"); os.waitpid(child, 0)
print("child", os.read(asked[0], 100).decode())
if sys.argv[2] == "user":
    print("user", ask(os.setpriority, os.PRIO_USER, 0, 7), nice(), ask(os.setpriority, os.PRIO_USER, os.getuid(), 8), nice())
print("absent", ask(os.setpriority, os.PRIO_PGRP, 4194303, 5), ask(os.setpriority, os.PRIO_USER, 3987654, 5))
sys.stdout.flush()
`
	const want = "group ok 5\nlower Permission denied\ngroup io 0 3\nchild 5 3;5 3;\n"
	for _, id := range []string{"0", "1"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			// Every process of a user is more than this test may change.
			bare := b.Bare(t, "python3", "-c", outer, "python3", "-c", inner, id, "-")
			if bare.Stdout != want+"absent No such process No such process\noutside 5 status 0\n" {
				t.Fatalf("bare: %v", bare)
			}
			b.Reset(t)
			r := b.Bare(t, append([]string{"python3", "-c", outer}, b.Guarded(t, nil, "python3", "-c", inner, id, "user")...)...)
			if r.Stdout != want+"user ok 7 ok 8\nabsent No such process No such process\noutside 0 status 0\n" || r.Stderr != "" {
				t.Errorf("guarded: %v", r)
			}
			if d := b.Denials(t); len(d) > 0 {
				t.Errorf("denials: %+v", d)
			}
		})
	}
}
