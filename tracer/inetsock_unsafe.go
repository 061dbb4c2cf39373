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
