// SPDX-License-Identifier: Apache-2.0

package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// defaultAction gives a signal its default action. Go's os/signal cannot: its runtime
// keeps a handler for each signal.
func defaultAction(sig syscall.Signal) error {
	var act struct {
		handler, flags, restorer uintptr
		mask                     uint64
	}
	if sig == unix.SIGKILL {
		return nil
	}
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// unblock lets the calling thread take the signal.
func unblock(sig syscall.Signal) {
	set := uint64(1) << (sig - 1)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_UNBLOCK, uintptr(unsafe.Pointer(&set)), 0, 8, 0, 0)
}
