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

// cname is a name with a NUL at its end, on the stack of whoever makes a call with it.
type cname [258]byte

// fits tells whether a component fits, with a slash at its end or not. On some file systems
// one is longer than NAME_MAX.
func (c *cname) fits(name string) bool { return len(name) < len(c) }

func (c *cname) set(name string) { c[copy(c[:len(c)-1], name)] = 0 }

// pinned makes it pinPath of a descriptor.
func (c *cname) pinned(fd int) {
	b := strconv.AppendInt(append(c[:0], "/proc/self/fd/"...), int64(fd), 10)
	c[len(b)] = 0
}

// errnoError is nil for 0.
func errnoError(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// unlinkat, mkdirat and renameat2 are the calls of that name, without an allocation. A name is
// one component, with a slash at its end or not.
func unlinkat(dir int, name string, flags uint32) error {
	var c cname
	if !c.fits(name) {
		return unix.Unlinkat(dir, name, int(flags))
	}
	c.set(name)
	_, _, errno := syscall.Syscall(unix.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&c)), uintptr(flags))
	return errnoError(errno)
}

func mkdirat(dir int, name string, mode uint32) error {
	var c cname
	if !c.fits(name) {
		return unix.Mkdirat(dir, name, mode)
	}
	c.set(name)
	_, _, errno := syscall.Syscall(unix.SYS_MKDIRAT, uintptr(dir), uintptr(unsafe.Pointer(&c)), uintptr(mode))
	return errnoError(errno)
}

func renameat2(dir int, name string, toDir int, to string, flags uint32) error {
	var c, d cname
	if !c.fits(name) || !d.fits(to) {
		return unix.Renameat2(dir, name, toDir, to, uint(flags))
	}
	c.set(name)
	d.set(to)
	_, _, errno := syscall.Syscall6(unix.SYS_RENAMEAT2, uintptr(dir), uintptr(unsafe.Pointer(&c)), uintptr(toDir), uintptr(unsafe.Pointer(&d)), uintptr(flags), 0)
	return errnoError(errno)
}

// chmodPinned changes the mode of what a descriptor of ours pins.
func chmodPinned(fd int, mode uint32) error {
	var c cname
	c.pinned(fd)
	cwd := unix.AT_FDCWD
	_, _, errno := syscall.Syscall(unix.SYS_FCHMODAT, uintptr(cwd), uintptr(unsafe.Pointer(&c)), uintptr(mode))
	return errnoError(errno)
}

var nameOfDefaultACL = []byte("system.posix_acl_default\x00")

// hasDefaultACL tells whether the directory that a descriptor of ours pins has a default access
// control list (acl(5)).
func hasDefaultACL(fd int) bool {
	var c cname
	c.pinned(fd)
	_, _, errno := syscall.Syscall6(unix.SYS_GETXATTR, uintptr(unsafe.Pointer(&c)), uintptr(unsafe.Pointer(&nameOfDefaultACL[0])), 0, 0, 0, 0)
	return errno == 0
}

// readStatus reads the beginning of /proc/TID/status into buf, without an allocation.
func readStatus(tid int, buf []byte) ([]byte, error) {
	var c cname
	b := strconv.AppendInt(append(c[:0], "/proc/"...), int64(tid), 10)
	b = append(b, "/status"...)
	c[len(b)] = 0
	cwd := unix.AT_FDCWD
	fd, _, errno := syscall.Syscall6(unix.SYS_OPENAT, uintptr(cwd), uintptr(unsafe.Pointer(&c)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return nil, errno
	}
	n, _, errno := syscall.Syscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	_, _, _ = syscall.Syscall(unix.SYS_CLOSE, fd, 0, 0)
	if errno != 0 {
		return nil, errno
	}
	return buf[:n], nil
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
