// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
)

// Perform: calls that change names or metadata are carried out by us, on the descriptors
// that pin what was decided on, with the task's credentials, and the task gets the result.
// There is nothing in its memory or its descriptor table left that could be changed
// meanwhile. One stop, no window.

// performs maps rows to what carries them out; see carriers.
type performer func(l *loop, s stopped) error

// perform runs act with the task's credentials and answers the call with its errno.
func (l *loop) perform(s stopped, act performer) {
	if l.walks > 0 {
		l.heldChanges = append(l.heldChanges, s) // a bind(2) is on its way, see startWalk
		return
	}
	c, err := l.credentialsOf(s)
	if err != nil {
		l.unresolvable(s, err)
		return
	}
	if c.fenced {
		// Its own sandbox must keep its force, and our act would not be in it.
		l.reissueNames(s)
		return
	}
	if !l.sameRights(s) {
		restore, err := l.takeOn(c)
		if err != nil {
			restore()
			l.reissueNames(s)
			return
		}
		defer restore()
	}
	if err := act(l, s); err != nil {
		s.refuse(errnoOf(err))
		return
	}
	s.answer(0)
}

// takeOn gives the tracer thread the file system rights of a task. restore undoes what has
// been done. All of these are calls on the thread alone.
func (l *loop) takeOn(c *credentials) (restore func(), err error) {
	restore = func() {
		_ = setCaps(l.own.caps)
		setfsid(syscall.SYS_SETFSUID, l.own.fsuid)
		setfsid(syscall.SYS_SETFSGID, l.own.fsgid)
		_ = setGroups(l.own.groups)
		_ = setCaps(l.own.caps) // a change of fsuid drops some
	}
	if err := setGroups(c.groups); err != nil {
		return restore, err
	}
	setfsid(syscall.SYS_SETFSGID, c.fsgid)
	setfsid(syscall.SYS_SETFSUID, c.fsuid)
	if err := setCaps(c.caps & l.own.caps); err != nil {
		return restore, err
	}
	if c.caps&^l.own.caps != 0 {
		return restore, unix.EPERM // it has rights that we lack
	}
	now, err := readCredentials(l.tracer)
	if err != nil {
		return restore, err
	}
	if now.fsuid != c.fsuid || now.fsgid != c.fsgid || now.groups != c.groups || now.caps != c.caps {
		return restore, unix.EPERM
	}
	return restore, nil
}

// pinPath names what a descriptor of ours pins; following it reaches just that.
func pinPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func performUnlink(l *loop, _ stopped) error {
	r := &l.judged[0].resolved
	return unix.Unlinkat(r.Parent, entryName(r), 0)
}

func performRmdir(l *loop, _ stopped) error {
	r := &l.judged[0].resolved
	return unix.Unlinkat(r.Parent, entryName(r), unix.AT_REMOVEDIR)
}

func performUnlinkat(l *loop, s stopped) error {
	if flags := uint32(l.call.Args[2]); flags&^unix.AT_REMOVEDIR != 0 {
		return unix.EINVAL
	} else if flags != 0 {
		return performRmdir(l, s)
	}
	return performUnlink(l, s)
}

// entryName is the last component, with the slash that asks for a directory.
func entryName(r *resolve.Object) string {
	if r.Slash {
		return r.Name + "/"
	}
	return r.Name
}

func performMkdir(l *loop, s stopped) error {
	r := &l.judged[0].resolved
	return unix.Mkdirat(r.Parent, entryName(r), l.newMode(s, r.Parent, l.lastWord(decode.Entry)))
}

func performMknod(l *loop, s stopped) error {
	r := &l.judged[0].resolved
	mode := l.lastWord(decode.Entry)
	return unix.Mknodat(r.Parent, entryName(r), mode&unix.S_IFMT|l.newMode(s, r.Parent, mode&^unix.S_IFMT), 0)
}

// newMode applies the task's umask, as ours is 0: unless the directory has a default access
// control list, which takes the place of the umask (acl(5)).
func (l *loop) newMode(s stopped, parent int, mode uint32) uint32 {
	mode &= 0o7777
	if _, err := unix.Getxattr(pinPath(parent), "system.posix_acl_default", nil); err == nil {
		return mode
	}
	return mode &^ umask(s)
}

// lastWord is the argument after the last one of a kind.
func (l *loop) lastWord(kind decode.Kind) uint32 {
	at := 0
	for i, arg := range l.call.Row.Args {
		if arg.Kind == kind {
			at = i + 1
		}
	}
	return uint32(l.call.Args[at])
}

func performSymlink(l *loop, s stopped) error {
	r := &l.judged[0].resolved
	target, err := decode.ReadPath(memory{s.tid}, l.call.Args[0])
	if err != nil {
		return err
	}
	return unix.Symlinkat(target, r.Parent, entryName(r))
}

func performRename(l *loop, _ stopped) error {
	from, to := &l.judged[0].resolved, &l.judged[1].resolved
	flags := uint(0)
	if l.call.Row.Name == "renameat2" {
		flags = uint(uint32(l.call.Args[4]))
	}
	return unix.Renameat2(from.Parent, entryName(from), to.Parent, entryName(to), flags)
}

func performLink(l *loop, _ stopped) error {
	from, to := &l.judged[0].resolved, &l.judged[1].resolved
	if l.call.Row.Name == "linkat" {
		if flags := uint32(l.call.Args[4]); flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return unix.EINVAL
		}
	}
	// Following our own magic link reaches the pinned object, a link included.
	return unix.Linkat(unix.AT_FDCWD, pinPath(from.FD), to.Parent, entryName(to), unix.AT_SYMLINK_FOLLOW)
}

func performTruncate(l *loop, s stopped) error {
	size := int64(l.call.Args[1])
	if size < 0 {
		return unix.EINVAL
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(s.tid, unix.RLIMIT_FSIZE, nil, &limit); err == nil && uint64(size) > limit.Cur {
		_ = unix.Tgkill(s.proc.pid, s.tid, unix.SIGXFSZ)
		return unix.EFBIG
	}
	return unix.Truncate(pinPath(l.judged[0].resolved.FD), size)
}

func performChmod(l *loop, _ stopped) error {
	j := &l.judged[0]
	mode := uint32(l.call.Args[1])
	switch l.call.Row.Name {
	case "fchmodat":
		mode = uint32(l.call.Args[2])
	case "fchmodat2":
		if flags := uint32(l.call.Args[3]); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return unix.EINVAL
		}
		mode = uint32(l.call.Args[2])
	}
	if j.resolved.Stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.EOPNOTSUPP // links have no mode (fchmodat(2))
	}
	return unix.Chmod(pinPath(j.resolved.FD), mode&0o7777)
}

func performChown(l *loop, _ stopped) error {
	uid, gid := l.call.Args[1], l.call.Args[2]
	if l.call.Row.Name == "fchownat" {
		if flags := uint32(l.call.Args[4]); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return unix.EINVAL
		}
		uid, gid = l.call.Args[2], l.call.Args[3]
	}
	return unix.Fchownat(l.judged[0].resolved.FD, "", int(int32(uid)), int(int32(gid)), unix.AT_EMPTY_PATH)
}

// performUtime covers the four forms; the times are copied once.
func performUtime(l *loop, s stopped) error {
	r := &l.judged[0].resolved
	at, form := l.call.Args[1], l.call.Row.Name
	switch form {
	case "futimesat":
		at = l.call.Args[2]
	case "utimensat":
		if flags := uint32(l.call.Args[3]); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return unix.EINVAL
		}
		at = l.call.Args[2]
	}
	if at == 0 {
		return utimens(r.FD, nil)
	}
	var raw [32]byte
	size := len(raw)
	if form == "utime" {
		size = 16 // struct utimbuf: seconds only
	}
	if err := readAll(s.tid, raw[:size], at); err != nil {
		return unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(raw[8*i:])) }
	var ts [2]unix.Timespec
	switch form {
	case "utime":
		ts[0].Sec, ts[1].Sec = word(0), word(1)
	case "utimensat":
		ts = [2]unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}
	default: // struct timeval
		for i := range ts {
			us := word(2*i + 1)
			if us < 0 || us >= 1e6 {
				return unix.EINVAL
			}
			ts[i] = unix.Timespec{Sec: word(2 * i), Nsec: us * 1000}
		}
	}
	return utimens(r.FD, &ts)
}

// maxXattr is XATTR_SIZE_MAX of linux/limits.h.
const maxXattr = 1 << 16

func performSetxattr(l *loop, s stopped) error {
	name, err := decode.ReadXattrName(memory{s.tid}, l.call.Args[1])
	if err != nil {
		return err
	}
	size, flags := l.call.Args[3], int(int32(l.call.Args[4]))
	if size > maxXattr {
		return unix.E2BIG
	}
	value := make([]byte, size)
	if size > 0 && readAll(s.tid, value, l.call.Args[2]) != nil {
		return unix.EFAULT
	}
	return unix.Setxattr(pinPath(l.judged[0].resolved.FD), name, value, flags)
}

func performRemovexattr(l *loop, s stopped) error {
	name, err := decode.ReadXattrName(memory{s.tid}, l.call.Args[1])
	if err != nil {
		return err
	}
	return unix.Removexattr(pinPath(l.judged[0].resolved.FD), name)
}
