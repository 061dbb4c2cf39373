// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptguard/internal/ktest"
)

// TestFullPipe: a hundred thousand refusals while ptguard's words go into a pipe that is full
// and that nobody reads. Each is one all the same, and the program comes to its end.
func TestFullPipe(t *testing.T) {
	t.Parallel()
	program := ktest.Tracee(t, "denials")
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		if err := os.Mkdir(b.Path("work/denied"), 0o755); err != nil {
			t.Fatal(err)
		}
	})
	if r := b.Bare(t, program, "denied", "1000"); r.Stdout != "made 1000 refused 0\n" {
		t.Fatalf("bare: %v", r)
	}
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipe[0])
	for _, chunk := range [][]byte{make([]byte, 4096), make([]byte, 1)} {
		var err error
		for err == nil {
			_, err = syscall.Write(pipe[1], chunk)
		}
		if !errors.Is(err, syscall.EAGAIN) {
			t.Fatal(err)
		}
	}
	if err := syscall.SetNonblock(pipe[1], false); err != nil { // as a terminal's or a log's
		t.Fatal(err)
	}
	full := os.NewFile(uintptr(pipe[1]), "full pipe")
	defer full.Close()
	r := b.Run(t, ktest.Cmd{Argv: b.Guarded(t, []string{"--deny", b.Work + "/denied"}, program, "denied", "100000"), Stderr: full})
	if r.Status != 0 || r.Stdout != "made 0 refused 100000\n" {
		t.Errorf("guarded: %v", r)
	}
	if names, err := filepath.Glob(b.Path("work/denied/*")); err != nil || len(names) > 0 {
		t.Errorf("%d files were made (%v)", len(names), err)
	}
}

// TestStorms: hundreds of threads, of processes alive at once, and a program without a
// descriptor left: each refusal is one, each is in the trace's count, and nothing is stuck.
func TestStorms(t *testing.T) {
	t.Parallel()
	program := ktest.Tracee(t, "storm")
	fill := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/secret", "secret\n")
		b.Write(t, "work/plain", "plain\n")
	}
	for name, c := range map[string]struct {
		argv   []string
		before string // what both runs say first
		opens  int
	}{
		"500 threads":   {[]string{"threads", "500", "10"}, "", 5000},
		"200 processes": {[]string{"forks", "200", "10"}, "", 2000},
		"no descriptor": {[]string{"files", "3", "2"}, strings.Repeat("199 Too many open files\n", 3), 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, fill)
			argv := append([]string{program}, c.argv...)
			if r := b.Bare(t, argv...); r.Stdout != c.before+fmt.Sprintf("opened %d refused 0 other 0\n", c.opens) {
				t.Fatalf("bare: %v", r)
			}
			b.Reset(t)
			r := b.Guard(t, []string{"--deny", "./secret"}, argv...)
			if r.Stdout != c.before+fmt.Sprintf("opened 0 refused %d other 0\n", c.opens) || r.Status != 0 {
				t.Errorf("guarded: %v", r)
			}
			b.NoProcessLeft(t)
			records := b.Records(t)
			if end := records[len(records)-1].End; end == nil || end.Denials != uint64(c.opens) {
				t.Errorf("want %d denials in the last record, got %+v", c.opens, end)
			}
		})
	}
}
