// SPDX-License-Identifier: Apache-2.0

// Package resolve finds the object that the kernel would touch for a path of a tracee.
// It walks as path_resolution(7) says, component by component, from the tracee's own
// directory, and opens nothing but O_PATH descriptors, so that no FIFO or device can
// block it and no access time, lease or inotify watch sees it.
package resolve

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Task says whose path it is. The task must be in a ptrace stop of ours (its cwd, root
// and descriptors are then fixed unless shared) or be the caller itself.
type Task struct {
	TGID int // for /proc/self
	TID  int // for /proc/thread-self, cwd and descriptors
}

// Flags change how the last component is treated.
type Flags uint16

// The flags of Resolve.
const (
	// NoFollow: a symbolic link as last component is the object (lstat, O_NOFOLLOW,
	// AT_SYMLINK_NOFOLLOW, lchown).
	NoFollow Flags = 1 << iota
	// Entry: the directory entry itself is meant (unlink, rmdir, rename, mkdir, mknod,
	// symlink, link target, bind): not followed, and it may be absent (no ENOENT then, as
	// long as the parent is there). "." and ".." and "/" as last component are answered
	// with their object and LastDot set.
	Entry
	// MayCreate: O_CREAT without O_EXCL: the last component may be absent, and a dangling
	// link is followed to the name that would be made.
	MayCreate
	// EmptyPath: AT_EMPTY_PATH: "" means the dirfd's own object.
	EmptyPath
	// Directory: the object must be a directory (O_DIRECTORY): ENOTDIR otherwise.
	Directory
	// Beneath, InRoot, NoSymlinks, NoMagicLinks, NoXDev are openat2's RESOLVE_*.
	Beneath
	InRoot
	NoSymlinks
	NoMagicLinks
	NoXDev
	// Ways wants Object.Left, for rules that hide a directory as a way to others.
	Ways
)

// Magic says that the object was reached through a magic link.
type Magic uint8

// The kinds of magic link (proc_pid_fd(5) and kin).
const (
	MagicNone  Magic = iota
	MagicFD          // /proc/PID/fd/N, /dev/fd/N, /dev/stdin
	MagicOther       // cwd, root, exe, map_files, ns
)

// Object is what a path means. Close it when done.
type Object struct {
	// Path is the canonical absolute path: of the object, or of the name that would be
	// made. Raw bytes. Empty if the object has no name (pipe:[1], memfd, deleted file).
	Path string
	// Exists, Stat: whether the object is there, and its status if so.
	Exists bool
	Stat   unix.Stat_t
	// FD is an O_PATH descriptor of the object, -1 if it does not exist.
	FD int
	// Parent is an O_PATH descriptor of the directory that holds Name. It is there for
	// Entry (but not with LastDot) and for an object that does not exist, else -1: whoever
	// only looks at an object needs no parent, and saves two system calls.
	Parent int
	// Name is the last component of Path; with LastDot it is ".", ".." or "/" as written.
	Name string
	// Errno is the kernel's answer for a path that does not lead to an object (and the
	// flags do not let it be absent): ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES, EBADF,
	// EXDEV …; 0 otherwise. When it is not 0, Path is the canonical path as far as it could
	// be followed with the rest appended lexically, for records and hide rules; no other
	// field is valid but Hops, Left and Stop.
	Errno syscall.Errno
	// Absent, with ENOENT: Path is canonical, apart from that nothing is there: the kernel found
	// no link on the way.
	Absent bool
	// Hops are the absolute paths of the symbolic links that were followed, in order,
	// each as canonical-parent/name.
	Hops []string
	// Left, with Ways, are the directories that the walk stepped back from by "..". Stop,
	// with an Errno, is the component at which the walk ended; "" if unknown.
	Left []string
	Stop string
	// Magic says that the object is what a magic link stands for. It is MagicNone when the
	// walk went on below the link (/proc/self/cwd/x): the object then has an ordinary name,
	// and the rights of the descriptor say nothing about it; Hops names the link all the
	// same. For MagicFD: the owner task (MagicPID), the descriptor number and the open flags
	// (from fdinfo) of the descriptor.
	Magic     Magic
	MagicPID  int
	MagicFD   int
	HeldFlags int
	// Jumped: some magic link was followed, in the middle or at the end. What the same words
	// lead to changes with a chdir or dup2 of a sibling, not only with the names on the way.
	Jumped bool
	// ProcPID is the N of a canonical path /proc/N/… (any proc file system), 0 otherwise.
	ProcPID int
	// Nameless: no name in the file system; NamelessKind is then "pipe", "socket",
	// "memfd", "anon_inode", "ns", "deleted", "unreachable" or another word that the kernel
	// puts before ":[" (pidfd). "unreachable" is a detached mount, another mount name
	// space, a place under a newer mount, or a name longer than PATH_MAX.
	Nameless     bool
	NamelessKind string
	// Slash: the path ended in "/", so a directory is meant. LastDot: see Entry.
	Slash   bool
	LastDot bool

	open bool // a zero Object must not close descriptor 0
}

// Close closes the descriptors of the object; the other fields stay.
func (o *Object) Close() {
	if !o.open {
		return
	}
	o.open = false
	closeFD(o.FD)
	closeFD(o.Parent)
	o.FD, o.Parent = -1, -1
}

// Copy makes to, which must be new or closed, the same object with descriptors of its own.
func (o *Object) Copy(to *Object) error {
	*to = *o
	to.FD, to.Parent = -1, -1
	for _, fd := range [...]struct{ from, to *int }{{&o.FD, &to.FD}, {&o.Parent, &to.Parent}} {
		if *fd.from < 0 {
			continue
		}
		n, err := unix.FcntlInt(uintptr(*fd.from), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			to.Close()
			return err
		}
		*fd.to = n
	}
	return nil
}
