// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel kill ptguard when the thread that started it ends, and with
// it the tree (PTRACE_O_EXITKILL). The request is a thread's own, and forgotten when that
// thread's credentials change (PR_SET_PDEATHSIG(2const)), as the tracer's do: so a thread is
// kept for it.
func dieWithParent() error {
	parent := os.Getppid()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
		if err == nil && os.Getppid() != parent {
			err = errors.New("--die-with-parent: the parent has ended already")
		}
		done <- err
		select {}
	}()
	return <-done
}
