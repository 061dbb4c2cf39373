// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"

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
	if a.Family != unix.AF_UNIX || a.Path == "" {
		return a.Raw, true
	}
	if j.object.Access == decode.Bind && (a.Path[0] == '/' || l.ownDirectory(s)) {
		// What getsockname(2) will tell. Nobody can change where it leads during the walk,
		// see startWalk; where a relative name starts a sibling could, by a chdir.
		return a.Raw, true
	}
	if len(path) >= maxSunPath {
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
	if path && l.call.Row.Name == "connect" && l.swappable(j.request.File.Path+"/") {
		l.connectPinned(s, j)
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
	at := 1
	if l.call.Row.Name == "sendto" {
		at = 4
	}
	asked := call{l.number, l.call.Args}
	l.reissue(s, false, func(w *window, slot int) call {
		asked.args[at] = w.putBytes(s.space, slot, offAddress, []byte(raw))
		asked.args[at+1] = uint64(len(raw))
		return asked
	})
	if path && j.object.Access == decode.Bind && s.leaving != nil {
		l.startWalk(s)
	}
}

// Offsets in struct msghdr (recvmsg(2)) on 64-bit Linux.
const (
	headerName    = 0
	headerNameLen = 8
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
	if !l.inWindow(s) {
		return
	}
	header := l.call.Header
	raw := ""
	if len(l.judged) > 0 && l.judged[0].object.Index == 0 {
		var ok bool
		if raw, ok = l.address(s, &l.judged[0]); !ok {
			l.refuseWindow(s, "the socket's canonical path is longer than an address can be")
			return
		}
	}
	asked := call{l.number, l.call.Args}
	if many {
		asked.nr, asked.args[2] = unix.SYS_SENDMSG, l.call.Args[3]
	}
	vector := l.call.Args[1]
	l.reissue(s, false, func(w *window, slot int) call {
		name := uint64(0)
		if raw != "" {
			name = w.putBytes(s.space, slot, offAddress, []byte(raw))
		}
		binary.NativeEndian.PutUint64(header[headerName:], name)
		binary.NativeEndian.PutUint32(header[headerNameLen:], uint32(len(raw)))
		asked.args[1] = w.putBytes(s.space, slot, offHeader, header[:])
		return asked
	})
	if many && s.leaving != nil {
		s.task.leaving.done = func(s stopped, r *registers) { oneSent(s, r, vector) }
	}
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
