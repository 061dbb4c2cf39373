// SPDX-License-Identifier: Apache-2.0

//go:build arm64

package tracer

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// getRegset and setRegset move one register set (elf.h NT_*).
func getRegset(tid int, set uintptr, p unsafe.Pointer, size uintptr) error {
	iov := unix.Iovec{Base: (*byte)(p), Len: uint64(size)}
	return ptraceFill(unix.PTRACE_GETREGSET, tid, set, unsafe.Pointer(&iov))
}

func setRegset(tid int, set uintptr, p unsafe.Pointer, size uintptr) error {
	iov := unix.Iovec{Base: (*byte)(p), Len: uint64(size)}
	return ptraceFill(unix.PTRACE_SETREGSET, tid, set, unsafe.Pointer(&iov))
}
