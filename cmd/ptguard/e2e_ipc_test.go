// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// ipcKey is a key that nobody else uses, most likely; no key is a secret.
func ipcKey() string { return strconv.Itoa(int(0x50740000 + rand.Uint32N(1<<16))) }

// TestIPCOwn: what the tree made it uses as without ptguard, in mode strict, too.
func TestIPCOwn(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "ipc")
	for _, flags := range [][]string{nil, {"--preset", "strict", "--read", filepath.Dir(act)}} {
		ktest.Same(t, ktest.Case{Argv: []string{act, "own", ipcKey()}, Flags: flags, Stdout: "child's byte 1\n"})
	}
}

// TestIPCOthers: objects that others made are as open as /dev/shm is, but in mode strict.
func TestIPCOthers(t *testing.T) {
	t.Parallel()
	act, key := ktest.Tracee(t, "ipc"), ipcKey()
	b := ktest.NewBox(t, nil)
	made := b.Bare(t, act, "make", key)
	ids := strings.Fields(made.Stdout)
	if len(ids) != 3 || strings.Contains(made.Stdout, "-1") {
		t.Fatalf("make: %v", made)
	}
	removed := false
	t.Cleanup(func() {
		if !removed {
			b.Bare(t, append([]string{act, "remove"}, ids...)...)
		}
	})
	use := append([]string{act, "use", key}, ids...)
	bare := b.Bare(t, use...)
	if strings.Count(bare.Stdout, " ok\n") != 12 {
		t.Fatalf("bare: %v", bare)
	}
	if r := b.Guard(t, nil, use...); r.Stdout != bare.Stdout || r.Stderr != "" {
		t.Errorf("permissive: %v", r)
	}
	b.Reset(t)
	strict := []string{"--preset", "strict", "--read", filepath.Dir(act)}
	want := strings.ReplaceAll(strings.ReplaceAll(bare.Stdout, " ok\n", " EPERM\n"), "stat EPERM", "stat ok")
	if r := b.Guard(t, strict, use...); r.Stdout != want {
		t.Errorf("strict: want\n%s, got %v", want, r)
	}
	for _, call := range []string{"shmget", "semget", "msgget", "shmat", "semop|semtimedop", "semctl", "msgsnd", "msgrcv"} {
		b.Find(t, ktest.Want{Syscall: call, Access: "reach", Errno: "EPERM"})
	}
	remove := append([]string{act, "remove"}, ids...)
	if r := b.Guard(t, strict, remove...); strings.Count(r.Stdout, " EPERM\n") != 3 {
		t.Errorf("strict: %v", r)
	}
	if r := b.Guard(t, []string{"--scope", "user"}, remove...); strings.Count(r.Stdout, " EPERM\n") != 3 {
		t.Errorf("scope user, which is strict: %v", r)
	}
	if r := b.Guard(t, nil, remove...); strings.Count(r.Stdout, " ok\n") != 3 {
		t.Errorf("permissive: %v", r)
	} else {
		removed = true
	}
	// The name of a message queue lies in memory, and no folder holds it.
	name := "/ptguard-" + key
	if r := b.Bare(t, act, "mq", name); r.Stdout != "mq_open ok\nmq_unlink ok\n" {
		t.Fatalf("bare: %v", r)
	}
	// The C library makes EACCES of mq_unlink(2)'s EPERM.
	if r := b.Guard(t, strict, act, "mq", name); r.Stdout != "mq_open EPERM\nmq_unlink EACCES\n" {
		t.Errorf("strict: %v", r)
	}
}
