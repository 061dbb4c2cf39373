// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/internal/ktest"
)

// TestAffinity: ptguard keeps a serial tree on one CPU without it being seen. What a program,
// its threads and its children find for their affinity is what they were started with, or what
// they have set; and the tracer keeps to what ptguard was started with.
func TestAffinity(t *testing.T) {
	t.Parallel()
	program := ktest.Tracee(t, "affinity")
	fill := func(t testing.TB, b *ktest.Box) { b.Write(t, "work/file", "text\n") }
	want := func(cpus int) string {
		out := fmt.Sprintf("%d CPUs\n", cpus)
		for _, what := range []string{"alone", "a thread after the other", "threads at once", "a process after the other", "its own", "its children's", "its threads'", "another's"} {
			out += what + ": 0 differ\n"
		}
		return out
	}
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	last := 0
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			last = cpu
		}
	}
	same := func(t *testing.T, wrap []string, argv []string, want string) {
		t.Helper()
		t.Parallel()
		b := ktest.NewBox(t, fill)
		if r := b.Bare(t, slices.Concat(wrap, argv)...); r.Status != 0 || r.Stdout != want {
			t.Fatalf("bare: want %q, got %v", want, r)
		}
		for _, binary := range []string{ktest.Binary(t), ktest.TaggedBinary(t, "ptguard_near")} {
			b.Reset(t)
			guarded := b.Guarded(t, nil, argv...)
			guarded[0] = binary
			if r := b.Run(t, ktest.Cmd{Argv: slices.Concat(wrap, guarded)}); r.Status != 0 || r.Stdout != want {
				t.Errorf("%s: want %q, got %v", filepath.Base(binary), want, r)
			}
			b.NoProcessLeft(t)
		}
	}
	one := []string{"taskset", "-c", strconv.Itoa(last)}
	t.Run("all CPUs", func(t *testing.T) { same(t, nil, []string{program, "file"}, want(all.Count())) })
	t.Run("one CPU", func(t *testing.T) { same(t, one, []string{program, "file"}, want(1)) })
	t.Run("what programs say", func(t *testing.T) {
		n, one := strconv.Itoa(all.Count()), strings.Join(one, " ")
		script := `for i in 1 2 3 4 5 6 7 8 9 10; do : >file; done
nproc; sh -c nproc; python3 -c 'import os; [open("file").close() for i in range(50)]; print(len(os.sched_getaffinity(0)))'
` + one + ` nproc; ` + one + ` sh -c ': >file; nproc & wait; nproc'; nproc`
		same(t, nil, []string{"sh", "-c", script}, n+"\n"+n+"\n"+n+"\n1\n1\n1\n"+n+"\n")
	})
}
