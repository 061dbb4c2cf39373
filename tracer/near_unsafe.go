// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// getAffinity is sched_getaffinity(2); thread 0 is the calling one. Neither this nor
// setAffinity waits for anything but, at most, the scheduler's own locks.
func getAffinity(tid int, mask *cpuMask) error {
	n, _, errno := syscall.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(tid), unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)))
	if errno != 0 {
		return errno
	}
	clear(mask[n/8:]) // the kernel writes what it has CPUs for, in whole words
	return nil
}

func setAffinity(tid int, mask *cpuMask) error {
	_, _, errno := syscall.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(tid), unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)))
	if errno != 0 {
		return errno
	}
	return nil
}

// currentCPU is where the calling thread runs, -1 if that is not known.
func currentCPU() int {
	var cpu uint32
	_, _, errno := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	if errno != 0 {
		return -1
	}
	return int(cpu)
}
