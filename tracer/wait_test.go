// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIdleWait: while the tracer thread waits for a tracee that does nothing, the collector
// comes to its end and timers fire. A wait that the Go runtime does not know of would hold up
// both until the tracee has something to say.
func TestIdleWait(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		status unix.WaitStatus
		err    error
	}
	waits, ended := make(chan [2]int, 1), make(chan result, 1)
	go func() {
		runtime.LockOSThread() // for good: its tracees are its own
		pid, err := syscall.ForkExec(sleep, []string{"sleep", "2"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Ptrace: true}})
		if err != nil {
			ended <- result{err: err}
			return
		}
		if _, _, err = wait(0); err == nil { // its exec
			err = ptrace(unix.PTRACE_CONT, pid, 0, 0)
		}
		if err != nil {
			ended <- result{err: err}
			return
		}
		waits <- [2]int{unix.Gettid(), pid}
		var r result
		for {
			if _, r.status, r.err = wait(0); !errors.Is(r.err, unix.EINTR) {
				break
			}
		}
		ended <- r
	}()
	var tids [2]int
	select {
	case tids = <-waits:
	case r := <-ended:
		t.Fatalf("start: %v", r.err)
	}
	inWait := strconv.Itoa(unix.SYS_WAIT4) + " "
	for !strings.HasPrefix(fileText(t, procPath(tids[0], "syscall")), inWait) { // proc_pid_syscall(5): it sleeps there
		runtime.Gosched()
	}
	timer := time.NewTimer(100 * time.Millisecond)
	runtime.GC() // what the sink's garbage makes it do
	select {
	case <-timer.C:
	case r := <-ended:
		t.Fatalf("the timer did not fire before the tracee's end: %#x %v", r.status, r.err)
	}
	select {
	case r := <-ended:
		t.Fatalf("the collection ended after the tracee: %#x %v", r.status, r.err)
	default:
	}
	_ = unix.Kill(tids[1], unix.SIGKILL)
	if r := <-ended; r.err != nil || !r.status.Signaled() {
		t.Errorf("the end: %#x %v", r.status, r.err)
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
