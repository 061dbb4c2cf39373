// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// getPinned answers a getxattr(2) or kin of what has no name, or whose canonical way is barred to
// the task: by its own words a magic link could lead to another object by then, and what it tells
// is content. We read from what is pinned, with the task's rights.
func (l *loop) getPinned(s stopped, j *judgement) {
	c, err := l.credentialsOf(s)
	if err != nil {
		l.unresolvable(s, err)
		return
	}
	name, at, size := l.call.Text, l.call.Args[2], l.call.Args[3]
	if l.call.Row.Name == "getxattrat" {
		var raw [16]byte // struct xattr_args of linux/xattr.h: value, size, flags
		if l.call.Args[5] < uint64(len(raw)) {
			s.refuse(unix.EINVAL)
			return
		}
		if readAll(s.tid, raw[:], l.call.Args[4]) != nil {
			s.refuse(unix.EFAULT)
			return
		}
		if binary.NativeEndian.Uint32(raw[12:]) != 0 {
			s.refuse(unix.EINVAL)
			return
		}
		at, size = binary.NativeEndian.Uint64(raw[:]), uint64(binary.NativeEndian.Uint32(raw[8:]))
	}
	path, value, n := pinPath(j.resolved.FD), make([]byte, min(size, maxXattr)), 0
	act := deedOf(func() (err error) {
		n, err = unix.Getxattr(path, name, value)
		return err
	})
	done := func(s stopped, err error) {
		switch {
		case s.task == nil:
		case err != nil:
			s.refuse(errnoOf(err))
		case size > 0 && n > 0 && writeMem(s.tid, value[:n], at) != nil:
			s.refuse(unix.EFAULT)
		default:
			s.answer(int64(n))
		}
	}
	if reachedServed(s.tid) {
		l.apart(s, c, "a served file system", act, done)
		return
	}
	foreign, err := l.actAs(s, c, l.judged, act)
	if foreign {
		err = unix.EACCES
	}
	done(s, err)
}

// tellsContent: the call has the name of an attribute, whose value it gives.
func tellsContent(row *decode.Row) bool {
	for _, arg := range row.Args {
		if arg.Kind == decode.XattrName {
			return true
		}
	}
	return false
}
