// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptguard/internal/ktest"
)

// residentPeak is the most memory that a process has had so far, in KiB (proc_pid_status(5)).
func residentPeak(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Error(err)
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				t.Error(err)
			}
			return n
		}
	}
	t.Errorf("no VmHWM of process %d", pid)
	return 0
}

// TestCrowd: with thousands of idle threads or processes a call is still decided once, and
// ptguard stays small.
func TestCrowd(t *testing.T) {
	t.Parallel()
	program := ktest.Tracee(t, "crowd")
	const opens = 500
	for name, c := range map[string]struct {
		kind        string
		idle, limit int // KiB
	}{
		"10 processes": {"processes", 10, 32 << 10},
		"4000 threads": {"threads", 4000, 128 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/file", "text\n") })
			argv := []string{program, strconv.Itoa(c.idle), c.kind, "file", strconv.Itoa(opens)}
			want := fmt.Sprintf("%d idle, 0 failed, ", c.idle)
			if r := b.Bare(t, argv...); r.Status != 0 || !strings.HasPrefix(r.Stdout, want) {
				t.Fatalf("bare: %v", r)
			}
			b.Reset(t)
			var pipe [2]int
			if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			input := os.NewFile(uintptr(pipe[0]), "input")
			defer input.Close()
			peak := 0
			r := b.Run(t, ktest.Cmd{
				Argv: b.Guarded(t, []string{"--deny", "./secret"}, argv...), Stdin: input,
				Started: func(pid int) {
					defer syscall.Close(pipe[1]) // the program ends
					if !ktest.Until(ktest.DefaultTimeout, func() bool { _, err := os.Stat(b.Path("work/ready")); return err == nil }) {
						t.Error("it never came to its end")
						return
					}
					peak = residentPeak(t, pid)
				},
			})
			if r.Status != 0 || !strings.HasPrefix(r.Stdout, want) {
				t.Fatalf("guarded: %v", r)
			}
			b.NoProcessLeft(t)
			if peak >= c.limit {
				t.Errorf("ptguard needed %d KiB, at most %d are due", peak, c.limit)
			}
			records := b.Records(t)
			end := records[len(records)-1].End
			if calls := uint64(c.idle + opens); end == nil || end.Decisions < calls || end.Decisions > calls+calls/10+50 {
				t.Errorf("%d calls: %+v", calls, end)
			}
		})
	}
}

// TestIdleSlots: threads that opened something long ago, and more of them than there is room
// for arguments, do not keep others from waiting for each other at FIFOs.
func TestIdleSlots(t *testing.T) {
	t.Parallel()
	program := ktest.Tracee(t, "crowd")
	ktest.Same(t, ktest.Case{
		Fill: func(t testing.TB, b *ktest.Box) {
			b.Write(t, "work/file", "text\n")
			for _, name := range []string{"work/p", "work/q"} {
				if err := syscall.Mkfifo(b.Path(name), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		Flags: []string{"--deny", "./secret"}, // so that reads stop
		Argv:  []string{"sh", "-c", program + " 40 threads file 1 | sed 's/,[^,]*us$//'"}, Stdout: "40 idle, 0 failed\nmet\n",
	})
}
