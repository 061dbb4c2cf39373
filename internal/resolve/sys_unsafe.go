// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pathMax is PATH_MAX: what a path may take with its NUL, and a link's text without one.
const pathMax = 4096

// calls are the system calls of a walk with buffers that live as long as the Resolver:
// x/sys copies every name to the heap and boxes every errno. The calls may block (FUSE,
// NFS), so they are never RawSyscall.
type calls struct {
	arg  [pathMax + 1]byte
	text [pathMax]byte
	how  unix.OpenHow
	// served, if set, tells the devices of file systems that a walk must not ask anything.
	served func(dev uint64) bool
	stx    unix.Statx_t
}

// resolveCached is RESOLVE_CACHED of linux/openat2.h (Linux 5.12): EAGAIN rather than to wait.
const resolveCached = 0x20

// errServed takes the place of an errno where the walk came to such a file system.
const errServed = syscall.Errno(0x7fff)

// unserved passes on what an open gave, unless it is on a file system that may not be asked.
// What the kernel remembers of it has to do: that is the mount, at least.
func (c *calls) unserved(fd int) (int, syscall.Errno) {
	empty := [1]byte{}
	_, _, errno := syscall.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, uintptr(unsafe.Pointer(&c.stx)), 0)
	if errno == 0 && !c.served(unix.Mkdev(c.stx.Dev_major, c.stx.Dev_minor)) {
		return fd, 0
	}
	closeFD(fd)
	if errno == 0 {
		errno = errServed
	}
	return -1, errno
}

// cstring puts name and a NUL into arg. Precondition: no name is longer than PATH_MAX and
// none holds a NUL; Resolve has checked the path, and the kernel its links.
func (c *calls) cstring(name string) unsafe.Pointer {
	n := copy(c.arg[:pathMax], name)
	c.arg[n] = 0
	return unsafe.Pointer(&c.arg)
}

// openat opens name with O_PATH and flags. With resolve == 0 it is openat(2), so that the
// last component of name may be a magic link.
func (c *calls) openat(dir int, name string, flags, resolve uint64) (int, syscall.Errno) {
	if c.served != nil && resolve != 0 && strings.Contains(name, "/") {
		resolve |= resolveCached // no file system is asked; one step at a time, we see where we are
	}
	c.how = unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolve}
	for {
		var fd uintptr
		var errno syscall.Errno
		if resolve == 0 {
			fd, _, errno = syscall.Syscall6(unix.SYS_OPENAT, uintptr(dir),
				uintptr(c.cstring(name)), uintptr(c.how.Flags), 0, 0, 0)
		} else {
			fd, _, errno = syscall.Syscall6(unix.SYS_OPENAT2, uintptr(dir),
				uintptr(c.cstring(name)), uintptr(unsafe.Pointer(&c.how)), unix.SizeofOpenHow, 0, 0)
		}
		if errno == 0 && c.served != nil {
			return c.unserved(int(fd))
		}
		if errno == 0 {
			return int(fd), 0
		}
		if errno != unix.EINTR {
			return -1, errno
		}
	}
}

// readlinkat reads a link's text into c.text; an empty name means dir itself.
func (c *calls) readlinkat(dir int, name string) ([]byte, syscall.Errno) {
	for {
		n, _, errno := syscall.Syscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(c.cstring(name)),
			uintptr(unsafe.Pointer(&c.text)), uintptr(len(c.text)), 0, 0)
		if errno == 0 {
			return c.text[:n], 0
		}
		if errno != unix.EINTR {
			return nil, errno
		}
	}
}

// fstatat is fstatat(2) with AT_SYMLINK_NOFOLLOW and AT_NO_AUTOMOUNT.
func (c *calls) fstatat(dir int, name string, st *unix.Stat_t) syscall.Errno {
	return c.statat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
}

func (c *calls) statat(dir int, name string, st *unix.Stat_t, flags uintptr) syscall.Errno {
	for {
		_, _, errno := syscall.Syscall6(sysFstatat, uintptr(dir), uintptr(c.cstring(name)),
			uintptr(unsafe.Pointer(st)), flags, 0, 0)
		if errno != unix.EINTR {
			return errno
		}
	}
}

func fstat(fd int, st *unix.Stat_t) syscall.Errno {
	_, _, errno := syscall.Syscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(st)), 0)
	return errno
}

func fstatfs(fd int, st *unix.Statfs_t) syscall.Errno {
	for {
		_, _, errno := syscall.Syscall(unix.SYS_FSTATFS, uintptr(fd), uintptr(unsafe.Pointer(st)), 0)
		if errno != unix.EINTR {
			return errno
		}
	}
}

func closeFD(fd int) {
	if fd >= 0 {
		_, _, _ = syscall.Syscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
	}
}
