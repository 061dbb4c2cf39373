// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSerial: what is taken to be serial, and that what has been parallel has to prove itself.
func TestSerial(t *testing.T) {
	t.Parallel()
	n, known := &nearness{}, &task{stops: 1}
	say := func(times, tid int, k *task) {
		for range times {
			n.heard(tid, k, false)
		}
	}
	say(1, 10, nil)
	say(serialEnough, 10, known)
	if n.score < serialEnough {
		t.Errorf("one thread: %d", n.score)
	}
	// A shell's child: made, run, ended, and the shell goes on.
	for child := 20; child < 40; child++ {
		say(1, child, nil)
		say(5, child, known)
		n.heard(child, known, true)
		say(3, 10, known)
	}
	if n.score != serialMost {
		t.Errorf("one process after the other: %d", n.score)
	}
	say(1, 11, known)
	if n.score >= 0 {
		t.Errorf("another one beside it: %d", n.score)
	}
	for range 100 {
		say(1, 10, known)
		say(1, 11, known)
	}
	if n.score != parallelMost {
		t.Errorf("two that take turns: %d", n.score)
	}
	say(100, 10, known)
	if n.score >= serialEnough {
		t.Errorf("soon after: %d", n.score)
	}
	say(-parallelMost, 10, known)
	if n.score < serialEnough {
		t.Errorf("long after: %d", n.score)
	}
}

// TestInheritedMask: a child that was made while its parent's mask was narrow gets its
// parent's mask, and no other does.
func TestInheritedMask(t *testing.T) {
	t.Parallel()
	start := func() int {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		return cmd.Process.Pid
	}
	var all, one, got cpuMask
	if err := getAffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	n := &nearness{bound: true, all: all}
	for cpu := range maxCPU {
		if all.has(cpu) {
			one[cpu/64] = 1 << (cpu % 64)
			break
		}
	}
	n.narrow = one
	parent := &task{tid: start()}
	for name, c := range map[string]struct {
		narrowed bool
		child    *task // what is known of it
		want     *cpuMask
	}{
		"made in the moment":            {true, nil, &all},
		"made in the moment, heard of":  {true, &task{}, &all},
		"made in the moment, set since": {true, &task{wide: true}, &one},
		"made before or after":          {false, nil, &one},
		"guessed":                       {false, &task{guessed: true}, &all},
	} {
		child := start()
		if err := setAffinity(child, &one); err != nil {
			t.Fatal(err)
		}
		parent.narrowed = c.narrowed
		n.inherit(parent, child, c.child)
		if err := getAffinity(child, &got); err != nil || got != *c.want {
			t.Errorf("%s: got %v, %v", name, got[0], err)
		}
	}
	child := &task{tid: start()}
	if err := setAffinity(child.tid, &one); err != nil {
		t.Fatal(err)
	}
	n.mask = all
	n.adopt(child)
	if err := getAffinity(child.tid, &got); err != nil || got != all || child.guessed != (one != all) {
		t.Errorf("adopted: got %v, %v", got[0], err)
	}
}

// TestBind: the tracer's own mask is back when the tree is not serial any more, unless
// somebody has set another meanwhile.
func TestBind(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	go func() { // on a thread that ends with it: it stays locked
		defer close(done)
		lockedThread(t)
	}()
	<-done
}

func lockedThread(t *testing.T) {
	runtime.LockOSThread()
	n := newNearness()
	if n == nil {
		return // one CPU
	}
	var all, got cpuMask
	if err := getAffinity(0, &all); err != nil {
		t.Error(err)
		return
	}
	self := stopped{task: &task{tid: unix.Gettid()}}
	n.bind(self)
	if err := getAffinity(0, &got); err != nil || !n.bound || got.count() != 1 || !got.has(n.cpu) {
		t.Errorf("bound %v: %v, %v", n.bound, got[0], err)
	}
	n.free()
	if err := getAffinity(0, &got); err != nil || n.bound || got != all {
		t.Errorf("free: %v, %v", got[0], err)
	}
	n.bind(self)
	other := all
	other[n.cpu/64] &^= 1 << (n.cpu % 64)
	if err := setAffinity(0, &other); err != nil {
		t.Error(err)
	}
	n.free()
	if err := getAffinity(0, &got); err != nil || got != other {
		t.Errorf("set by another: %v, %v", got[0], err)
	}
}

// TestLastCPU: the number is that of the CPU, whatever the program is called.
func TestLastCPU(t *testing.T) {
	t.Parallel()
	n := newNearness()
	if n == nil {
		n = &nearness{}
	}
	program := filepath.Join(t.TempDir(), ") S 1 (x 9")
	if err := os.Symlink("/bin/cat", program); err != nil {
		t.Fatal(err)
	}
	for cpu := range maxCPU {
		if !n.own.has(cpu) {
			continue
		}
		cmd := exec.Command("taskset", "-c", strconv.Itoa(cpu), program)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		// What comes back has been through the program, so that is what runs, and there.
		_, err = in.Write([]byte("x"))
		if err == nil {
			_, err = io.ReadFull(out, make([]byte, 1))
		}
		got := n.lastCPU(cmd.Process.Pid)
		in.Close()
		if end := cmd.Wait(); err != nil || end != nil || got != cpu {
			t.Errorf("CPU %d: %d (%v, %v)", cpu, got, err, end)
		}
	}
}
