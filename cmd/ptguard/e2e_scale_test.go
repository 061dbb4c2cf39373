// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptguard/internal/ktest"
	"ptguard/record"
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

// measured runs a command that makes the file "ready" when it has done what is measured, and
// ends when its input does. peak is what ptguard needed until then, in KiB.
func measured(t *testing.T, b *ktest.Box, flags []string, argv ...string) (r ktest.Result, peak int) {
	t.Helper()
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	input := os.NewFile(uintptr(pipe[0]), "input")
	defer input.Close()
	r = b.Run(t, ktest.Cmd{
		Argv: b.Guarded(t, flags, argv...), Stdin: input, Timeout: time.Hour,
		Started: func(pid int) {
			defer syscall.Close(pipe[1]) // the program ends
			if !ktest.Until(time.Hour, func() bool {
				_, err := os.Stat(b.Path("work/ready"))
				return err == nil || syscall.Kill(pid, 0) != nil
			}) {
				t.Error("it never came to its end")
				return
			}
			peak = residentPeak(t, pid)
		},
	})
	return r, peak
}

// TestManyRefusals: every refusal is in the trace, each other one as a record and those alike
// as a count, and ptguard does not grow with them. PTGUARD_REFUSALS=1000000 is the full size.
func TestManyRefusals(t *testing.T) {
	t.Parallel()
	program := ktest.Tracee(t, "denials")
	n := uint64(20000)
	if text := os.Getenv("PTGUARD_REFUSALS"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 32); err != nil {
			t.Fatal(err)
		}
	}
	const atOnce = 1000 // names that come again
	for name, c := range map[string]struct{ each, rounds uint64 }{
		"each another": {n, 1},
		"again":        {atOnce, n / atOnce},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
				if err := os.Mkdir(b.Path("work/denied"), 0o755); err != nil {
					t.Fatal(err)
				}
			})
			script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do "$@" || exit; i=$((i+1)); done | sort | uniq -c; : >ready; read end`, c.rounds)
			argv := []string{"sh", "-c", script, "sh", program, "denied", strconv.FormatUint(c.each, 10)}
			count := func(made, refused uint64) string {
				return fmt.Sprintf("%7d made %d refused %d\n", c.rounds, made, refused)
			}
			if r := b.Bare(t, argv...); r.Stdout != count(c.each, 0) {
				t.Fatalf("bare: %v", r)
			}
			b.Reset(t)
			r, peak := measured(t, b, []string{"--quiet", "--deny", "./denied"}, argv...)
			if r.Stdout != count(0, c.each) {
				t.Fatalf("guarded: %v", r)
			}
			if peak >= 64<<10 {
				t.Errorf("ptguard needed %d KiB", peak)
			}
			told, lines := uint64(0), uint64(0)
			var end *record.End
			for _, rec := range b.Records(t) {
				switch rec.Kind {
				case record.KindDenial:
					told += max(rec.Count, 1)
					lines++
				case record.KindEnd:
					end = rec.End
				}
			}
			if all := c.each * c.rounds; told != all || end == nil || end.Denials != all || end.Lost != 0 {
				t.Errorf("%d refusals, %d told in %d records: %+v", all, told, lines, end)
			}
			if c.rounds > 1 && lines > 3*c.each {
				t.Errorf("%d records of %d kinds", lines, c.each)
			}
		})
	}
}

// TestCrowd: with thousands of idle threads or processes a call is not decided again and again,
// and ptguard stays small.
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
			r, peak := measured(t, b, []string{"--deny", "./secret"}, argv...)
			if r.Status != 0 || !strings.HasPrefix(r.Stdout, want) {
				t.Fatalf("guarded: %v", r)
			}
			b.NoProcessLeft(t)
			if peak >= c.limit {
				t.Errorf("ptguard needed %d KiB, at most %d are due", peak, c.limit)
			}
			records := b.Records(t)
			end := records[len(records)-1].End
			// A call that has to wait for room for its arguments is decided once more when there is.
			if calls := uint64(c.idle + opens); end == nil || end.Decisions < calls || end.Decisions > 2*calls+50 {
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

// TestManyFIFOs: opens of FIFOs that wait for each other do not use up the window's slots,
// however many there are.
func TestManyFIFOs(t *testing.T) {
	t.Parallel()
	fifos := ktest.Tracee(t, "fifos")
	for _, flags := range [][]string{nil, {"--deny", "/nowhere/x"}, {"--preset", "strict"}} {
		ktest.Same(t, ktest.Case{Argv: []string{fifos, "100"}, Flags: flags, Stdout: "100 of 100\n"})
	}
}
