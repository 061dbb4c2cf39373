// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptguard/internal/ktest"
)

// TestFairTurns: processes that stop all the time do not keep another one waiting. wait4(2)
// would: it gives the latest born first, and beside two of them an older process makes one
// call in thousands, beside sixteen none at all. Counted, not timed: the others' calls for
// each of its own.
func TestFairTurns(t *testing.T) {
	t.Parallel()
	flood := ktest.Tracee(t, "flood")
	for _, age := range []string{"old", "new"} {
		t.Run(age, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			r := b.Guard(t, nil, flood, "16", "100", age)
			var each, most int
			if n, _ := fmt.Sscanf(r.Stdout, "%d calls of others for each, %d at most", &each, &most); n != 2 || r.Status != 0 {
				t.Fatalf("want two counts, got %v", r)
			}
			if each > 1000 {
				t.Errorf("sixteen others made %d calls for each of the one's", each)
			}
		})
	}
}

// TestKilled: whatever state ptguard and the tree are in, kill -9 of ptguard leaves nothing:
// ptguard stopped before, the tree in a group stop, a daemon of a session of its own.
func TestKilled(t *testing.T) {
	t.Parallel()
	const tree = `sleep 600 & (setsid sh -c 'sleep 601 & echo $! >daemon.pid; exec sleep 602' &)
		until [ -s daemon.pid ]; do :; done; `
	for name, c := range map[string]struct {
		script string
		stop   bool // ptguard
	}{
		"ptguard stopped": {tree + "touch ready; while :; do : >>busy; done", true},
		"group stop":      {tree + "kill -STOP $! $(cat daemon.pid); touch ready; wait", false},
		"both":            {tree + "kill -STOP $! $(cat daemon.pid); touch ready; kill -STOP $$", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			r := b.Run(t, ktest.Cmd{Argv: b.Guarded(t, nil, "bash", "-c", c.script), Started: func(pid int) {
				await(t, b, "work/ready")
				if c.stop {
					_ = syscall.Kill(pid, syscall.SIGSTOP)
					ktest.Until(ktest.DefaultTimeout, func() bool {
						return strings.Contains(text(t, "/proc/"+strconv.Itoa(pid)+"/stat"), ") T ")
					})
				}
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}})
			if r.Signal != syscall.SIGKILL {
				t.Errorf("want death by SIGKILL, got %v", r)
			}
			b.NoProcessLeft(t)
		})
	}
}

// TestDescriptorLimit: ptguard works with as many descriptors as it may have, and passes on
// the limit that it was started with.
func TestDescriptorLimit(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	script := "ulimit -Sn 64; ulimit -Hn 128; exec "
	bare := b.Bare(t, "sh", "-c", script+"sh -c 'ulimit -Sn; ulimit -Hn'")
	guarded := b.Bare(t, "sh", "-c", script+strings.Join(b.Guarded(t, nil, "sh", "-c", "'ulimit -Sn; ulimit -Hn'"), " "))
	if bare.Stdout != "64\n128\n" || guarded.Stdout != bare.Stdout {
		t.Errorf("want the same limits, got %v and %v", bare, guarded)
	}
}

// TestStalled: a file system whose server does not answer holds up the calls that lead to it
// and nothing else: a walk, the text of a path in a mapped file, a change to names, the first
// bytes of a program. When it answers, they go on. Only root mounts one.
func TestStalled(t *testing.T) {
	t.Parallel()
	if !root() {
		return
	}
	server, stalled := ktest.Tracee(t, "stallfs"), ktest.Tracee(t, "stalled")
	want := []string{"late done", "new done", "page done", "ran", "works"}
	for _, guarded := range []bool{false, true} {
		b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/mnt/unmounted", "") })
		argv := []string{stalled, b.Path("work/gate")}
		if guarded {
			argv = b.Guarded(t, nil, argv...)
		}
		r := b.Bare(t, append([]string{server, b.Path("work/mnt"), b.Path("work/gate")}, argv...)...)
		got := slices.Sorted(strings.SplitSeq(strings.TrimSpace(r.Stdout), "\n"))
		if r.Status != 0 || !slices.Equal(got, want) || len(r.GuardLines()) > 0 {
			t.Errorf("guarded %v: want %q, got %v", guarded, want, r)
		}
		if b.Text(t, "work/written") != "" {
			t.Error("the file named by the page was not made")
		}
	}
}

// TestOtherChildren: a child that ptguard was started with is not waited for.
func TestOtherChildren(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	r := b.Bare(t, "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $! >pid; exec "+strings.Join(b.Guarded(t, nil, "sh", "-c", "'exit 7'"), " "))
	if r.Status != 7 || r.Stderr != "" {
		t.Errorf("want status 7, got %v", r)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(b.Text(t, "work/pid")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the child has been ended: %v", err)
	}
}

// TestLease: a truncate(2) that waits for the holder of a lease keeps nobody else waiting.
func TestLease(t *testing.T) {
	t.Parallel()
	lease := ktest.Tracee(t, "lease")
	for _, run := range []func(*ktest.Box) ktest.Result{
		func(b *ktest.Box) ktest.Result { return b.Bare(t, lease) },
		func(b *ktest.Box) ktest.Result { return b.Guard(t, nil, lease) },
	} {
		if r := run(ktest.NewBox(t, nil)); r.Stdout != "waits\ntruncated 3\n" || r.Stderr != "" {
			t.Errorf("want it to wait and then to be truncated, got %v", r)
		}
	}
}
