// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"path"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
	"ptguard/rules"
	"ptguard/seals"
)

// Seals hold for an object under whatever name. The facts for that are found out here: its
// time of birth, for an inode's number is given again, and the directories above it.

// sealFacts adds what the seals of the run want to know of an object. Without seals it
// costs one comparison.
func (l *loop) sealFacts(r *resolve.Object, f *rules.File) {
	set := l.cfg.Policy.Seals()
	if set == nil {
		return
	}
	if r.Exists && set.Pinned(seals.Inode(f.Inode)) {
		f.Born = birth(r.FD)
	}
	if set.Directories() {
		f.Above, f.Unseen = above(f.Path)
	}
}

// birth is the time of birth of what a descriptor of ours pins, in nanoseconds; 0 if the
// file system keeps none.
func birth(fd int) int64 {
	var st unix.Statx_t
	if fd < 0 || unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BTIME, &st) != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// above lists the inodes of the directories above a canonical path. unseen: there are some that
// cannot be looked at. We may stand where we could not walk to: the tree can take the right to
// search off a directory that it has a descriptor beneath.
func above(name string) (out []seals.Inode, unseen bool) {
	for name != "" && name != "/" {
		name = path.Dir(name)
		var st unix.Statx_t // of what the walk has just seen: nobody has to be asked anew
		if unix.Statx(unix.AT_FDCWD, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st) == nil {
			out = append(out, seals.Inode{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino})
		} else {
			unseen = true
		}
	}
	return out, unseen
}

// meetSealed pins the objects of the call at hand whose names are about to change or to go,
// so that seals which hold for the old name hold for the object: what was removed lives on
// while a descriptor holds it.
func (l *loop) meetSealed() {
	set := l.cfg.Policy.Seals()
	if set == nil {
		return
	}
	for i := range l.judged {
		j := &l.judged[i]
		act, f := j.request.Act, j.request.File
		if act == rules.ActRenameSource || act == rules.ActExchange || act == rules.ActLinkSource || f.Exists && j.request.Access&decode.Remove != 0 {
			f.Born = birth(j.resolved.FD)
			o := rules.SealObject(&f)
			set.Meet(&o, f.Mode&unix.S_IFMT == unix.S_IFDIR)
		}
	}
}

// movesSealed tells whether the call at hand gives a sealed object another name. It is asked
// after meetSealed.
func (l *loop) movesSealed() bool {
	set := l.cfg.Policy.Seals()
	if set == nil {
		return false
	}
	for i := range l.judged {
		switch r := &l.judged[i].request; r.Act {
		case rules.ActRenameSource, rules.ActExchange, rules.ActLinkSource:
			if set.Pinned(seals.Inode(r.File.Inode)) || set.Directories() && r.File.Mode&unix.S_IFMT == unix.S_IFDIR {
				return true
			}
		}
	}
	return false
}

// opensWaiting tells whether another task is in an open that may wait for long (a FIFO), so
// that its end cannot be waited for: the name it was decided on must not become a sealed
// object's.
func (l *loop) opensWaiting(s stopped) bool {
	for _, t := range l.tasks {
		if t != s.task && t.leaving != nil && !t.walking && t.frames != nil && l.reissuedOpen(t.frames[t.leaving.frame].call.nr) {
			return true
		}
	}
	return false
}

// refuseMove refuses to give a sealed object another name while that cannot be kept from
// racing with opens.
func (l *loop) refuseMove(s stopped) {
	l.refuseConst(s, l.call.Row.Name, l.call.Event, &decode.Answer{
		Errno: unix.EPERM, Guard: "sealed-move", Reason: "a sealed object cannot get another name while an open waits for somebody (a FIFO)",
	})
}

// carryCopy lets an allowed copy by descriptor run. Which object a number means could be
// changed meanwhile by whoever shares the table of descriptors; then the call is answered
// as where the file system cannot do it, and programs read and write instead.
func (l *loop) carryCopy(s stopped) {
	if !l.sharesFiles(s) {
		s.resume(0)
		return
	}
	s.refuse(cannotCopy[l.call.Row.Name])
}

var cannotCopy = map[string]syscall.Errno{
	"copy_file_range": unix.EXDEV,      // copy_file_range(2)
	"sendfile":        unix.EINVAL,     // sendfile(2), NOTES
	"splice":          unix.EINVAL,     // splice(2)
	"ioctl":           unix.EOPNOTSUPP, // ioctl_ficlone(2)
}

func (l *loop) sharesFiles(s stopped) bool {
	if s.proc.sharesFiles {
		return true
	}
	for _, t := range l.tasks {
		if t.proc == s.proc && t != s.task {
			return true
		}
	}
	return false
}
