// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// Addresses and message headers run from the window: the kernel reads our copy. These calls
// may wait for long, so they run to their exit stop and not through a stub.

// maxSunPath is the room of sun_path (unix(7)).
const maxSunPath = 108

// address is what goes into the window for an object: its bytes, or, for a unix socket with
// a path, the canonical path that was decided on. ok is false if that does not fit.
func (l *loop) address(s stopped, j *judgement) (raw string, ok bool) {
	a := &j.object.Addr
	path := j.request.File.Path
	switch {
	case a.IP.IsValid():
		return l.inetRaw(s, j), true
	case a.Family != unix.AF_UNIX || a.Path == "":
		return a.Raw, true
	}
	if j.object.Access == decode.Bind && (a.Path[0] == '/' || l.ownDirectory(s)) && !j.resolved.Jumped {
		// What getsockname(2) will tell. Nobody can change where it leads during the walk,
		// see startWalk; where a relative name starts a sibling could, by a chdir, and where a
		// magic link leads, by a dup2 as well.
		return a.Raw, true
	}
	if path == "" || len(path) >= maxSunPath { // no path at all would be an abstract name
		return "", false
	}
	return a.Raw[:2] + path + "\x00", true
}

// carryAddress reissues connect(2), bind(2) and sendto(2).
func (l *loop) carryAddress(s stopped) {
	if len(l.judged) == 0 { // no address: a length of zero, in a register
		s.resume(0)
		return
	}
	j := &l.judged[0]
	path := j.object.Addr.Family == unix.AF_UNIX && j.object.Addr.Path != ""
	if path && l.call.Row.Name != "bind" && l.barredWay(s, j) {
		return
	}
	along := false // a connect that goes along its path, while no name changes
	if path && l.call.Row.Name == "connect" && (s.barred || l.swappable(j.request.File.Path, true)) {
		if (s.barred || len(j.request.File.Path) >= maxSunPath) && l.connectPinned(s, j) {
			return
		}
		along = true
	}
	if l.call.Row.Name == "sendto" {
		if l.refusedElsewhere(s, j, l.call.Args[3]) {
			return
		}
	} else if l.protocolMatters(s, j) && l.onCopy(s, j) {
		return
	}
	// A datagram is sent along the path; a connect whose path could change is made elsewhere.
	sends := path && l.call.Row.Name == "sendto" && l.swappable(j.request.File.Path, true)
	if (sends || along || path && j.object.Access == decode.Bind) && l.awaitChange(s) {
		return
	}
	if along && l.walks > 0 && len(l.heldChanges) > 0 {
		s.task.waits = "a connect of another task"
		l.heldChanges = append(l.heldChanges, s) // or connects of many threads would hold back a change for ever
		return
	}
	if !l.inWindow(s) {
		return
	}
	raw, ok := l.address(s, &l.judged[0])
	if !ok {
		l.refuseWindow(s, "the socket's canonical path is longer than an address can be")
		return
	}
	binds := path && j.object.Access == decode.Bind
	var socket *os.File
	if binds && l.inside != nil {
		fd, later, err := l.copyFor(s, int(j.object.Dirfd))
		if later {
			return
		}
		if err == nil {
			socket = os.NewFile(uintptr(fd), "socket") // closed when nothing holds it any more
		}
	}
	if along && !l.beBrief(s, int(j.object.Dirfd)) {
		return
	}
	at := 1
	if l.call.Row.Name == "sendto" {
		at = 4
	}
	asked := call{l.number, l.call.Args}
	if sends {
		asked.args[3] |= unix.MSG_DONTWAIT
	}
	l.reissue(s, false, func(w *window, slot int) call {
		asked.args[at] = w.putBytes(s.space, slot, offAddress, []byte(raw))
		asked.args[at+1] = uint64(len(raw))
		return asked
	})
	switch {
	case s.leaving == nil:
		l.endBrief(s.task)
	case sends:
		l.startSending(s, l.call.Args[3])
	case along:
		l.startWalk(s)
		s.task.leaving.barrable = true
		done, b := s.task.leaving.done, s.task.brief
		s.task.leaving.done = func(s stopped, r *registers) {
			done(s, r)
			l.waitOn(s, b, r)
		}
	case binds:
		l.startWalk(s)
		if socket != nil {
			l.bindAgain(s, j, socket, raw)
		}
	}
}

// startSending holds back the tree's changes to names while a datagram is on its way to a
// path. It must not be for long, so the call does not wait: where the task would have, it is
// made again a little later. What is lost is SO_SNDTIMEO.
func (l *loop) startSending(s stopped, flags uint64) {
	l.startWalk(s)
	fd := int(int32(l.call.Args[0]))
	done := s.task.leaving.done
	s.task.leaving.done = func(s stopped, r *registers) {
		done(s, r)
		if result(r) == -int64(unix.EAGAIN) && flags&unix.MSG_DONTWAIT == 0 && !nonblocking(s.tid, fd) {
			s.task.repeats = true
		}
	}
}

// nonblocking tells whether a descriptor of a task has O_NONBLOCK.
func nonblocking(tid, fd int) bool {
	flags, ok := heldFlags(tid, fd)
	return !ok || flags&unix.O_NONBLOCK != 0
}

// pause is how long a task waits before a call is made again.
const pause = 2 * time.Millisecond

// repeat resumes a task after a pause, so that it makes its call again. If a signal waits for the task
// then, the call ends instead, as in the kernel.
func (l *loop) repeat(s stopped, again, interrupted registers) {
	time.AfterFunc(pause, func() {
		l.post(func() {
			if !l.waits(s) {
				return
			}
			r := &again
			if signalWaits(s.tid) {
				if r = &interrupted; s.until.IsZero() {
					interruptForSignal(s, r)
				}
				s.task.until = time.Time{}
			}
			if err := setRegisters(s.tid, r); err != nil {
				s.lost(err, "restore registers of")
				return
			}
			s.request(unix.PTRACE_CONT, 0)
		})
	})
}

// Offsets in struct msghdr (recvmsg(2)) on 64-bit Linux.
const (
	headerName    = 0
	headerNameLen = 8
	headerControl = 32
	headerCtlLen  = 40
	messageLen    = 56 // in struct mmsghdr: msg_len
)

// carryMessage reissues sendmsg(2), and sendmmsg(2) as a sendmsg of its first message, which
// is a legal short count: the caller sends the rest by another call.
func (l *loop) carryMessage(s stopped) {
	many := l.call.Row.Name == "sendmmsg"
	if !l.call.HasHeader { // no message at all
		s.resume(0)
		return
	}
	header := l.call.Header
	raw, sends := "", false
	if len(l.judged) > 0 && l.judged[0].object.Index == 0 {
		a := &l.judged[0].object.Addr
		if a.Family == unix.AF_UNIX && l.barredWay(s, &l.judged[0]) {
			return
		}
		flags := l.call.Args[2]
		if many {
			flags = l.call.Args[3]
		}
		if l.refusedElsewhere(s, &l.judged[0], flags) {
			return
		}
		sends = a.Family == unix.AF_UNIX && a.Path != "" && l.swappable(l.judged[0].request.File.Path, true)
	}
	control, ok := l.control(s, header[:])
	if !ok || sends && l.awaitChange(s) || !l.inWindow(s) {
		return
	}
	if len(l.judged) > 0 && l.judged[0].object.Index == 0 {
		if raw, ok = l.address(s, &l.judged[0]); !ok {
			l.refuseWindow(s, "the socket's canonical path is longer than an address can be")
			return
		}
	}
	if w := s.space.win; len(control) > pageSize && w.large != nil && w.large != s.task {
		s.refuse(unix.ENOBUFS) // as where the kernel has no room for it at the moment
		return
	}
	asked := call{l.number, l.call.Args}
	if many {
		asked.nr, asked.args[2] = unix.SYS_SENDMSG, l.call.Args[3]
	}
	flags := asked.args[2]
	if sends {
		asked.args[2] |= unix.MSG_DONTWAIT
	}
	vector := l.call.Args[1]
	l.reissue(s, false, func(w *window, slot int) call {
		name := uint64(0)
		if raw != "" {
			name = w.putBytes(s.space, slot, offAddress, []byte(raw))
		}
		switch {
		case len(control) > pageSize:
			binary.NativeEndian.PutUint64(header[headerControl:], w.putLarge(s.space, s.task, control))
		case len(control) > 0:
			binary.NativeEndian.PutUint64(header[headerControl:], w.putBytes(s.space, slot, offPath, control))
		}
		binary.NativeEndian.PutUint64(header[headerName:], name)
		binary.NativeEndian.PutUint32(header[headerNameLen:], uint32(len(raw)))
		asked.args[1] = w.putBytes(s.space, slot, offHeader, header[:])
		return asked
	})
	if s.leaving == nil {
		return
	}
	if sends {
		l.startSending(s, flags)
	}
	if many {
		done := s.task.leaving.done
		s.task.leaving.done = func(s stopped, r *registers) {
			if done != nil {
				done(s, r)
			}
			oneSent(s, r, vector)
		}
	}
}

// maxControl is the room for control data in the window. 253 descriptors, the most that a message can
// carry (unix(7)), take 1032 bytes and lie in the slot.
const maxControl = largeSize

// control is our copy of the control data of a message: what in it sends packets elsewhere than the
// address says is refused. False: s is taken care of.
func (l *loop) control(s stopped, header []byte) ([]byte, bool) {
	size := binary.NativeEndian.Uint64(header[headerCtlLen:])
	switch {
	case size == 0:
		return nil, true
	case size > maxControl:
		l.refuseConst(s, l.call.Row.Name, l.call.Event, &decode.Answer{Errno: unix.ENOBUFS, Guard: "socket-options", Reason: "its control data is longer than ptguard can keep from changing"})
		return nil, false
	}
	raw := make([]byte, size)
	if readAll(s.tid, raw, binary.NativeEndian.Uint64(header[headerControl:])) != nil {
		s.refuse(unix.EFAULT)
		return nil, false
	}
	if decode.Reroutes(raw) {
		l.refuseConst(s, l.call.Row.Name, l.call.Event, &decode.Answer{Errno: unix.EPERM, Guard: "socket-options", Reason: "sends packets elsewhere than the address says"})
		return nil, false
	}
	return raw, true
}

// oneSent turns the result of sendmsg into that of a sendmmsg that sent one message.
func oneSent(s stopped, r *registers, vector uint64) {
	n := result(r)
	if n < 0 {
		return
	}
	var sent [4]byte
	binary.NativeEndian.PutUint32(sent[:], uint32(n))
	if writeMem(s.tid, sent[:], vector+messageLen) == nil {
		setResultRegister(r, 1)
	}
}
