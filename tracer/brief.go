// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"golang.org/x/sys/unix"
)

// A connect to a path that the tree may rename goes along it while no name of the tree
// changes (startWalk). It is the task that makes it, so that its peer sees whose it is
// (SO_PEERCRED). It must not be for long: a server of the tree may have to change a name
// before it accepts. So a socket that would wait gets a short SO_SNDTIMEO for the time of the call, and
// where the task would have waited on, the call is made again a little later.

// brief is a socket whose patience is cut short.
type brief struct {
	socket int // ours
	inode  uint64
	before unix.Timeval // its own
}

// endBrief gives the socket its own patience back.
func (l *loop) endBrief(t *task) {
	if b := t.brief; b != nil {
		t.brief = nil
		delete(l.briefs, b.inode)
		_ = unix.SetsockoptTimeval(b.socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &b.before)
		unix.Close(b.socket)
	}
}

// beBrief cuts the patience of the socket of a connect short, if it has any. False: s is being
// taken care of.
func (l *loop) beBrief(s stopped, number int) bool {
	fd, later, err := l.copyFor(s, number)
	switch {
	case later:
		return false
	case err != nil:
		return true // it waits as long as it likes, and the changes with it
	}
	var st unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	kind, errKind := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || errKind != nil || flags&unix.O_NONBLOCK != 0 || kind == unix.SOCK_DGRAM || unix.Fstat(fd, &st) != nil {
		unix.Close(fd)
		return true
	}
	if l.briefs[st.Ino] { // another thread connects the same socket
		unix.Close(fd)
		s.task.waits = "a connect of another task"
		l.heldChanges = append(l.heldChanges, s)
		return false
	}
	before, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
	if err == nil {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 1000})
	}
	if err != nil {
		unix.Close(fd)
		return true
	}
	if l.briefs == nil {
		l.briefs = map[uint64]bool{}
	}
	l.briefs[st.Ino] = true
	s.task.brief = &brief{fd, st.Ino, *before}
	return true
}

// restartSys is ERESTARTSYS of linux/errno.h. No program sees it: on its way to a signal the kernel
// makes EINTR of it where the handler has no SA_RESTART, and else has the call made again.
const restartSys = 512

// interruptForSignal gives a call that a signal has ended the result that it has in the kernel where
// the socket has no patience of its own (sock_intr_errno of net/sock.h). The stop that is asked for
// makes the kernel look at the result also where no signal comes, as a sibling has taken it.
func interruptForSignal(s stopped, r *registers) {
	if ptrace(unix.PTRACE_INTERRUPT, s.tid, 0, 0) == nil {
		setResultRegister(r, -restartSys)
	}
}

// waitOn, at the exit of a connect, has it made again if it was only our patience that ended.
// A signal that waits ends the waiting, and so does the socket's own patience.
func (l *loop) waitOn(s stopped, b *brief, r *registers) {
	if b != nil && result(r) == -int64(unix.EINTR) && b.before.Nano() == 0 {
		interruptForSignal(s, r)
	}
	if b == nil || result(r) != -int64(unix.EAGAIN) {
		s.task.until = time.Time{}
		return
	}
	if own := time.Duration(b.before.Nano()); own != 0 && s.until.IsZero() {
		s.task.until = time.Now().Add(own)
	}
	switch {
	case !s.until.IsZero() && time.Now().After(s.until):
		s.task.until = time.Time{}
	default:
		s.task.repeats = true
	}
}
