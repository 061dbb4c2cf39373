// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// What the kernel finds wrong with the words of a call before it looks at any name comes
// first for us too: else a call with a bad flag would tell ENOENT where the kernel tells
// EINVAL, and one that we carry out ourselves would even work.

// badFlags are the flag arguments of which the kernel takes no other bit.
var badFlags = map[string]struct {
	arg   int
	known uint32
}{
	"faccessat2":  {3, unix.AT_EACCESS | unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"fchmodat2":   {3, unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"fchownat":    {4, unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"utimensat":   {3, unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"pidfd_open":  {1, unix.PIDFD_NONBLOCK | unix.O_EXCL}, // PIDFD_THREAD
	"pidfd_getfd": {2, 0}, "process_mrelease": {1, 0}, "process_vm_readv": {5, 0}, "sched_setattr": {2, 0},
	"linkat":      {4, unix.AT_SYMLINK_FOLLOW | unix.AT_EMPTY_PATH},
	"unlinkat":    {2, unix.AT_REMOVEDIR},
	"renameat2":   {4, unix.RENAME_NOREPLACE | unix.RENAME_EXCHANGE | unix.RENAME_WHITEOUT},
	"getxattrat":  {2, unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"listxattrat": {2, unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"newfstatat":  {3, unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH | syncType},
	"fstatat":     {3, unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH | syncType},
	"statx":       {2, unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH | syncType},
	// AT_HANDLE_FID, AT_HANDLE_MNT_ID_UNIQUE and AT_HANDLE_CONNECTABLE came later.
	"name_to_handle_at": {4, unix.AT_SYMLINK_FOLLOW | unix.AT_EMPTY_PATH | 0x203},
	"file_getattr":      {4, unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"file_setattr":      {4, unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH},
	"setxattr":          {4, unix.XATTR_CREATE | unix.XATTR_REPLACE},
	"lsetxattr":         {4, unix.XATTR_CREATE | unix.XATTR_REPLACE},
}

// xattrNames tells which argument names an attribute.
var xattrNames = map[string]int{
	"setxattr": 1, "lsetxattr": 1, "removexattr": 1, "lremovexattr": 1, "getxattr": 1, "lgetxattr": 1, "getxattrat": 3,
}

const syncType = unix.AT_STATX_FORCE_SYNC | unix.AT_STATX_DONT_SYNC // AT_STATX_SYNC_TYPE

func invalid(what string) error { return &Fault{Errno: syscall.EINVAL, Plain: true, What: what} }

// check gives the *Fault of words that the kernel refuses before any name.
func (c *Call) check(m Memory) error {
	name := c.Row.Name
	if f, ok := badFlags[name]; ok && uint32(c.Args[f.arg])&^f.known != 0 {
		return invalid("unknown flags")
	}
	switch name {
	case "statx":
		if uint32(c.Args[2])&syncType == syncType || uint32(c.Args[3])&unix.STATX__RESERVED != 0 {
			return invalid("flags of statx")
		}
	case "file_getattr", "file_setattr":
		const sizeOfAttr = 24 // FILE_ATTR_SIZE_VER0 of linux/fs.h
		if c.Args[3] > pageSize {
			return &Fault{Errno: syscall.E2BIG, Plain: true, What: "size of file_attr"}
		}
		if c.Args[3] < sizeOfAttr {
			return invalid("size of file_attr")
		}
	case "readlink":
		if int32(c.Args[2]) <= 0 {
			return invalid("size of a buffer")
		}
	case "readlinkat":
		if int32(c.Args[3]) <= 0 {
			return invalid("size of a buffer")
		}
	case "inotify_add_watch":
		const events = unix.IN_ALL_EVENTS | unix.IN_UNMOUNT | unix.IN_Q_OVERFLOW | unix.IN_IGNORED | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW |
			unix.IN_EXCL_UNLINK | unix.IN_MASK_ADD | unix.IN_MASK_CREATE | unix.IN_ISDIR | unix.IN_ONESHOT // ALL_INOTIFY_BITS
		if uint32(c.Args[2])&events == 0 {
			return invalid("mask of a watch")
		}
	case "access":
		return checkMode(c.Args[1])
	case "faccessat", "faccessat2":
		return checkMode(c.Args[2])
	case "open":
		return checkOpen(uint32(c.Args[1]))
	case "openat":
		return checkOpen(uint32(c.Args[2]))
	case "renameat2":
		flags := uint32(c.Args[4])
		if flags&unix.RENAME_EXCHANGE != 0 && flags != unix.RENAME_EXCHANGE {
			return invalid("flags of a rename")
		}
	case "truncate":
		if int64(c.Args[1]) < 0 {
			return invalid("length of a file")
		}
	case "mknod":
		return checkNode(c.Args[1])
	case "mknodat":
		return checkNode(c.Args[2])
	case "symlink", "symlinkat":
		text, err := c.readString(m, c.Args[0], "target of a link")
		if err == nil && text == "" {
			err = &Fault{Errno: syscall.ENOENT, Plain: true, What: "target of a link"}
		}
		return err
	case "utimensat", "futimesat":
		return c.checkTimes(m)
	case "utime":
		var times [16]byte
		if c.Args[1] != 0 {
			return readFull(m, times[:], c.Args[1], "times")
		}
	case "utimes":
		return checkMicroseconds(m, c.Args[1])
	}
	if arg, ok := xattrNames[name]; ok {
		if err := c.checkXattr(m, c.Args[arg]); err != nil {
			return err
		}
	}
	const xattrSizeMax = 64 << 10 // XATTR_SIZE_MAX of linux/limits.h
	if (name == "setxattr" || name == "lsetxattr") && c.Args[3] > xattrSizeMax {
		return &Fault{Errno: syscall.E2BIG, Plain: true, What: "size of an attribute"}
	}
	return nil
}

// checkMode: access(2) knows three bits.
func checkMode(mode uint64) error {
	if uint32(mode)&^(unix.R_OK|unix.W_OK|unix.X_OK) != 0 {
		return invalid("mode of access")
	}
	return nil
}

// checkOpen is what build_open_flags() of the kernel refuses of open(2)'s flags; bits that
// it does not know are dropped before.
func checkOpen(flags uint32) error {
	if flags&unix.O_PATH != 0 {
		return nil
	}
	if flags&unix.O_CREAT != 0 && flags&unix.O_DIRECTORY != 0 {
		return invalid("O_CREAT with O_DIRECTORY") // also O_TMPFILE with O_CREAT
	}
	if flags&tmpFile != 0 && (flags&unix.O_DIRECTORY == 0 || flags&unix.O_ACCMODE == unix.O_RDONLY && flags&unix.O_TRUNC == 0) {
		return invalid("O_TMPFILE without O_DIRECTORY or without write access")
	}
	return nil
}

// The flags that openat2(2) takes, with O_LARGEFILE of both architectures, which on the
// other one is O_NOFOLLOW.
const (
	openFlagsKnown = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK |
		unix.O_SYNC | unix.O_DSYNC | unix.O_ASYNC | unix.O_DIRECT | 0x8000 | 0x20000 | unix.O_DIRECTORY | unix.O_NOFOLLOW |
		unix.O_NOATIME | unix.O_CLOEXEC | unix.O_PATH | tmpFile
	resolveKnown = unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH |
		unix.RESOLVE_IN_ROOT | 0x20 // RESOLVE_CACHED
)

// checkHow is what build_open_flags() refuses of struct open_how.
func checkHow(flags, mode, resolve uint64) error {
	const beneathRoot = unix.RESOLVE_BENEATH | unix.RESOLVE_IN_ROOT
	switch {
	case flags&^openFlagsKnown != 0, resolve&^resolveKnown != 0, resolve&beneathRoot == beneathRoot:
		return invalid("flags of open_how")
	case flags&(unix.O_CREAT|tmpFile) == 0 && mode != 0, mode&^0o7777 != 0:
		return invalid("mode of open_how")
	case flags&unix.O_PATH != 0 && flags&^(unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_PATH|unix.O_CLOEXEC) != 0:
		return invalid("flags of open_how with O_PATH")
	}
	return checkOpen(uint32(flags))
}

// checkNode: mknod(2) makes no directory and no link.
func checkNode(mode uint64) error {
	switch uint32(mode) & unix.S_IFMT {
	case 0, unix.S_IFREG, unix.S_IFCHR, unix.S_IFBLK, unix.S_IFIFO, unix.S_IFSOCK:
		return nil
	case unix.S_IFDIR:
		return &Fault{Errno: syscall.EPERM, Plain: true, What: "mknod of a directory"}
	}
	return invalid("type of a node")
}

// checkTimes: the times of utimensat(2) and futimesat(2) are read before the name. Without
// a name, AT_FDCWD is no descriptor, and utimensat takes no flags.
func (c *Call) checkTimes(m Memory) error {
	var times [32]byte
	if at := c.Args[2]; at != 0 && c.Row.Name == "utimensat" {
		if err := readFull(m, times[:], at, "times"); err != nil {
			return err
		}
	} else if err := checkMicroseconds(m, at); err != nil {
		return err
	}
	switch {
	case c.Args[1] != 0:
		return nil
	case int32(c.Args[0]) == unix.AT_FDCWD:
		return &Fault{Errno: syscall.EFAULT, Plain: true, What: "read path"}
	case c.Row.Name == "utimensat" && uint32(c.Args[3]) != 0:
		return invalid("flags without a name")
	}
	return nil
}

// checkMicroseconds reads the two struct timeval of utimes(2).
func checkMicroseconds(m Memory, addr uint64) error {
	if addr == 0 {
		return nil
	}
	var times [32]byte
	if err := readFull(m, times[:], addr, "times"); err != nil {
		return err
	}
	for _, at := range []int{8, 24} {
		if us := int64(binary.NativeEndian.Uint64(times[at:])); us < 0 || us >= 1e6 {
			return invalid("microseconds")
		}
	}
	return nil
}

// checkXattr: a name of no bytes, or of more than XATTR_NAME_MAX.
func (c *Call) checkXattr(m Memory, addr uint64) error {
	var buf [256]byte
	text, err := readString(m, buf[:], addr, len(buf), "attribute name")
	if errors.Is(err, syscall.ENAMETOOLONG) || err == nil && text == "" {
		return &Fault{Errno: syscall.ERANGE, Plain: true, What: "length of an attribute name"} // xattr(7)
	}
	return err
}
