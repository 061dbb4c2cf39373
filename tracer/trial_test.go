// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"ptguard/internal/landlock"
)

// TestTryLayers: the trial says no where one of the two layers of a run, or the listener,
// could not be had, and leaves nothing behind: no layer, no thread, no descriptor.
func TestTryLayers(t *testing.T) {
	all := landlock.Ruleset{Files: true, Grants: []landlock.Grant{{Path: "/", Access: landlock.Changes}}}
	d, err := all.Make()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	free := 0 // layers that a thread of ours may still enter
	landlock.OnOwnThread(func() {
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		for d.Enter() == nil {
			free++
		}
	})
	if free < 4 {
		t.Fatalf("only %d layers can be entered here", free)
	}
	before := descriptors(t)
	threads := taskCount(t)
	for _, c := range []struct {
		layers int
		want   string
	}{{0, ""}, {free - 2, ""}, {free - 1, "as many Landlock domains as"}, {free, "as many Landlock domains as"}} {
		landlock.OnOwnThread(func() {
			_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			for range c.layers {
				if err := d.Enter(); err != nil {
					t.Error(err)
				}
			}
			for range 2 { // the first has left no layer
				if why := tryLayers(true); !strings.Contains(why, c.want) || c.want == "" && why != "" {
					t.Errorf("in %d of %d layers: %q, want %q", c.layers, free, why, c.want)
				}
			}
		})
	}
	landlock.OnOwnThread(func() {
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		filter := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
		program := unix.SockFprog{Len: 1, Filter: &filter}
		fd, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
		if errno != 0 {
			t.Errorf("a listener of one's own: %v", errno)
			return
		}
		defer unix.Close(int(fd))
		if why := tryLayers(true); !strings.Contains(why, "needs a seccomp listener") || !strings.Contains(why, unix.EBUSY.Error()) {
			t.Errorf("beside another listener: %q", why)
		}
	})
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	for range 20 {
		_ = tryLayers(true)
	}
	if after := taskCount(t); after > threads+10 { // Go's own come and go
		t.Errorf("%d threads before, %d after", threads, after)
	}
	if err := os.WriteFile(t.TempDir()+"/f", nil, 0o600); err != nil {
		t.Errorf("a thread of ours is in a layer: %v", err)
	}
}

func descriptors(t *testing.T) int { return entries(t, "/proc/self/fd") }

func taskCount(t *testing.T) int { return entries(t, "/proc/self/task") }

func entries(t *testing.T, dir string) int {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
