// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socketCall is connect(2) or bind(2) with the bytes of an address, which the wrappers of
// x/sys would make anew. It may block.
func socketCall(trap uintptr, fd int, raw []byte) error {
	if len(raw) == 0 {
		return unix.EINVAL
	}
	_, _, errno := syscall.Syscall(trap, uintptr(fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)))
	if errno != 0 {
		return errno
	}
	return nil
}

// directoryEntries is getdents(2) or getdents64(2), whichever the number says.
func directoryEntries(number uint64, fd int, buf []byte) (int, error) {
	if len(buf) == 0 {
		return 0, unix.EINVAL
	}
	n, _, errno := syscall.Syscall(uintptr(number), uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
