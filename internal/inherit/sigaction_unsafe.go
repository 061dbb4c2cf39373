// SPDX-License-Identifier: Apache-2.0

package inherit

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct sigaction on amd64 and arm64.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// handlerAddress is the address of a signal handler that does nothing.
func handlerAddress() uintptr

func getSigaction(sig int, act *sigaction) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(act)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func setSigaction(sig int, act *sigaction) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(act)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
