// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setfsid is setfsuid(2) or setfsgid(2) on the calling thread. It reports no error, but the
// id before; the caller looks what has come of it.
func setfsid(nr uintptr, id int) (before int) {
	was, _, _ := syscall.RawSyscall(nr, uintptr(id), 0, 0)
	return int(uint32(was))
}

// setGroups is setgroups(2) on the calling thread alone: x/sys would do it on all.
func setGroups(text string) error {
	fields := strings.Fields(text)
	ids := make([]uint32, len(fields)+1)
	for i, f := range fields {
		id, err := strconv.ParseUint(f, 10, 32)
		if err != nil {
			return err
		}
		ids[i] = uint32(id)
	}
	_, _, errno := syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(fields)), uintptr(unsafe.Pointer(&ids[0])), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// setCaps sets the effective capabilities of the calling thread; the permitted ones stay,
// so that they can be taken up again.
func setCaps(effective uint64) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return err
	}
	data[0].Effective, data[1].Effective = uint32(effective), uint32(effective>>32)
	return unix.Capset(&head, &data[0])
}

// utimens sets the times of what an O_PATH descriptor pins; nil means now (utimensat(2),
// AT_EMPTY_PATH since Linux 5.8).
func utimens(fd int, ts *[2]unix.Timespec) error {
	empty := [1]byte{}
	_, _, errno := syscall.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(unsafe.Pointer(ts)), unix.AT_EMPTY_PATH, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ioctl is ioctl(2) with a pointer to raw.
func ioctl(fd int, command uint32, raw []byte) error {
	_, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(command), uintptr(unsafe.Pointer(&raw[0])))
	if errno != 0 {
		return errno
	}
	return nil
}

// setFileAttr is file_setattr(2) (Linux 6.17, the same number everywhere) on what an O_PATH
// descriptor pins.
func setFileAttr(fd int, attr []byte) error {
	const number = 469
	empty := [1]byte{}
	_, _, errno := syscall.Syscall6(number, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(unsafe.Pointer(&attr[0])), uintptr(len(attr)), unix.AT_EMPTY_PATH, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
