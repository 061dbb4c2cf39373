// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// Where pidfd_getfd(2) is withheld (a stock container), the task itself is made to send us the
// descriptor that its call is about: our listener plants one end of a socket pair in it, it sends the
// descriptor along there (SCM_RIGHTS) and closes its end, and then makes its call again,
// which finds the copy. The steps are those of a set-up (setup.go): in registers and the
// window, each seen at its exit, with signals blocked.
//
// A sibling may meddle with the planted end. Then nothing arrives, and the call is refused, or
// another descriptor of the tree's does: then that is what is looked at and acted on, as if the
// sibling had put it behind the number before.

// sending is a copy under way.
type sending struct {
	number   int   // the descriptor that the call is about
	ours     int   // our end
	theirs   int   // to be planted
	failed   int64 // the result of a step that failed, -errno
	lastSlot int   // of the window, to be given back
}

func (c *sending) close() {
	for _, fd := range []*int{&c.ours, &c.theirs} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// arrived is a descriptor that has come, or why it has not. It is for one call.
type arrived struct {
	number, fd int
	err        error
}

// dropArrived closes a copy at the end of the call that it is for.
func (t *task) dropArrived() {
	if t.arrived != nil {
		if t.arrived.fd >= 0 {
			unix.Close(t.arrived.fd)
		}
		t.arrived = nil
	}
}

// errNoCopy: the descriptor could not be copied, so nobody knows what a call on it would act on.
var errNoCopy = errors.New("a copy of its descriptor has not arrived")

// errTaken: the call is being taken care of, and will come again.
var errTaken = errors.New("its descriptor is on its way to ptguard")

// copyFor is copyFD for the call that s is stopped at. later: s is being taken care of, and the
// call will come again. EBADF means that there is no such descriptor; with any other error
// the call must not run on the number.
func (l *loop) copyFor(s stopped, number int) (fd int, later bool, err error) {
	fd, err = copyFD(s.tid, number)
	if err == nil || errors.Is(err, unix.EBADF) || errors.Is(err, unix.ESRCH) {
		return fd, false, err
	}
	if c := s.task.arrived; c != nil && c.number == number {
		if c.err != nil {
			return -1, false, c.err
		}
		fd, err = unix.FcntlInt(uintptr(c.fd), unix.F_DUPFD_CLOEXEC, 3)
		return fd, false, err
	}
	if l.listener.fd < 0 || s.proc.filtered {
		return -1, false, errNoCopy // a filter of its own might kill it for calls that it never made
	}
	if !l.inWindow(s) {
		return -1, true, nil
	}
	if err := l.beginSending(s, number); err != nil {
		return -1, false, err
	}
	return -1, true, nil
}

// beginSending starts a copy with the call that s is stopped at.
func (l *loop) beginSending(s stopped, number int) error {
	slot, _ := l.slotFor(s)
	if slot < 0 {
		return nil
	}
	u := &setup{fd: -1, send: &sending{number: number, ours: -1, theirs: -1, lastSlot: slot}}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	u.send.ours, u.send.theirs = pair[0], pair[1]
	if err = getRegisters(s.tid, &u.saved); err == nil {
		if u.mask, err = signalMask(s.tid); err == nil {
			err = setSignalMask(s.tid, ^uint64(0))
		}
	}
	if err != nil {
		u.send.close()
		return err
	}
	s.setup = u
	l.inject(s, call{nr: magicNumber}, true)
	return nil
}

// sendStep takes the result of a step of a copy and goes on to the next.
func (l *loop) sendStep(s stopped, res int64) {
	u := s.setup
	if res < 0 && u.step != stepClose {
		u.send.failed = res
	}
	switch {
	case u.step == stepFD && res >= 0:
		u.fd, u.step = res, stepMap
		l.inject(s, call{unix.SYS_SENDMSG, [6]uint64{uint64(u.fd), putRights(s.space, u.send), unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL}}, false)
	case u.step == stepMap:
		u.step = stepClose
		l.inject(s, call{unix.SYS_CLOSE, [6]uint64{uint64(u.fd)}}, false)
	default:
		l.endSending(s)
	}
}

// putRights writes a message of one byte that carries a descriptor into a slot, and gives the
// address of its header (struct msghdr, struct iovec, struct cmsghdr: recvmsg(2), cmsg(3)).
func putRights(sp *space, c *sending) uint64 {
	rights := unix.UnixRights(c.number)
	w := sp.win
	control := w.putBytes(sp, c.lastSlot, offAddress, rights)
	vector := make([]byte, 16)
	binary.NativeEndian.PutUint64(vector, w.putBytes(sp, c.lastSlot, offPath, []byte{0}))
	binary.NativeEndian.PutUint64(vector[8:], 1)
	var header [56]byte
	binary.NativeEndian.PutUint64(header[16:], w.putBytes(sp, c.lastSlot, offHow, vector))
	binary.NativeEndian.PutUint64(header[24:], 1)
	binary.NativeEndian.PutUint64(header[32:], control)
	binary.NativeEndian.PutUint64(header[40:], uint64(len(rights)))
	return w.putBytes(sp, c.lastSlot, offHeader, header[:])
}

// endSending takes what has come and has the call made again.
func (l *loop) endSending(s stopped) {
	u := s.setup
	l.listener.take(s.tid)
	got := &arrived{number: u.send.number}
	got.fd, got.err = receiveRights(u.send.ours)
	if got.err != nil && u.send.failed == -int64(unix.EBADF) {
		got.err = unix.EBADF
	}
	u.send.close()
	s.setup = nil
	l.giveBack(s, u.send.lastSlot)
	if err := setSignalMask(s.tid, u.mask); err != nil {
		s.lost(err, "restore the signal mask of")
		return
	}
	r := u.saved
	c := pending(&r)
	setAgain(&r, &c)
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "restore registers of")
		return
	}
	noted := s.noted
	s.request(unix.PTRACE_CONT, 0)
	s.task.noted, s.task.same, s.task.arrived = noted, true, got
}

// receiveRights takes the one descriptor that lies ready at a socket.
func receiveRights(socket int) (int, error) {
	var text [1]byte
	room := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, text[:], room, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return -1, errNoCopy
	}
	messages, err := unix.ParseSocketControlMessage(room[:n])
	if err != nil || len(messages) != 1 {
		return -1, errNoCopy
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1, errNoCopy
	}
	for _, fd := range fds[1:] { // a sibling's message with more than one
		unix.Close(fd)
	}
	return fds[0], nil
}
