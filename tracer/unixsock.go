// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
	"ptguard/rules"
)

// bind(2) and connect(2) to a path have no flag that refuses links on the way, so where the
// tree may put a link into the path, the canonical name alone protects nothing.
//
// So the task makes the call, by the canonical path; but while it walks, no call of the tree that
// changes names is carried out. We are the ones who carry them out, so that is a matter of
// waiting. The name that bind is given is kept by the kernel and shown to everybody, so it stays
// as it was, if nothing but names decides where it leads.
//
// A connect that cannot go by the canonical path we make ourselves, on a copy of the task's descriptor,
// through the magic link of the descriptor that pins the socket. Its peer then sees our
// credentials.

// swappable tells whether the tree may rename a directory of a canonical path, and so put
// something else in its place between our look and the kernel's. whole: so may the last name
// be, which may become a link.
func (l *loop) swappable(path string, whole bool) bool {
	for at := 1; at <= len(path); {
		next := strings.IndexByte(path[at:], '/')
		if next < 0 {
			if !whole {
				return false // what remains is the last name
			}
			next = len(path) - at
		}
		at += next + 1
		r := rules.Request{Access: decode.Remove, Act: rules.ActRenameSource}
		r.File = rules.File{Path: path[:at-1], Exists: true, Mode: unix.S_IFDIR | 0o755}
		if d := l.decide(stopped{}, &r); d.Verdict == rules.Ask || !l.bars(d) {
			return true // where it would be asked, an answer may come at any time
		}
	}
	return false
}

// connectPinned connects a copy of the task's socket. The answer is the kernel's. False: we
// cannot, as it has rights of its own or pidfd_getfd(2) is withheld; nothing has happened.
func (l *loop) connectPinned(s stopped, j *judgement) bool {
	if !l.sameRights(s) {
		return false
	}
	if l.connecting >= maxConnecting {
		l.refuseWindow(s, fmt.Sprintf("%d connections already wait for their servers", maxConnecting))
		return true
	}
	socket, err := copyFD(s.tid, int(j.object.Dirfd))
	if err != nil {
		return false
	}
	pin, err := unix.FcntlInt(uintptr(j.resolved.FD), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		unix.Close(socket)
		s.refuse(errnoOf(err))
		return true
	}
	l.connectApart(s, func() error {
		defer unix.Close(socket)
		defer unix.Close(pin)
		return unix.Connect(socket, &unix.SockaddrUnix{Name: pinPath(pin)})
	})
	return true
}

// startWalk holds back the tree's changes to names until the exit stop of the call that s
// has just been let go with.
func (l *loop) startWalk(s stopped) {
	l.walks++
	s.task.walking = true
	if l.walkDone == nil {
		l.walkDone = func(s stopped, _ *registers) { l.endWalk(s.task) }
	}
	s.task.leaving.done = l.walkDone
}

// awaitChange holds a call back while a change to names is on its way that we do not make
// ourselves (reissueNames): where the call's path leads is not known before that is over.
func (l *loop) awaitChange(s stopped) bool {
	if l.changes == 0 {
		return l.awaitAct(s)
	}
	s.task.waits = "a change to names by another task"
	l.heldChanges = append(l.heldChanges, s)
	return true
}

// awaitTurn holds back a call that will be a walk (startWalk): as awaitChange does, and while a
// change waits for the end of other walks, or those of many threads would hold it back for ever.
func (l *loop) awaitTurn(s stopped, walk string) bool {
	if l.awaitChange(s) {
		return true
	}
	if l.walks == 0 || len(l.heldChanges) == 0 {
		return false
	}
	s.task.waits = walk
	l.heldChanges = append(l.heldChanges, s)
	return true
}

// awaitAct does so while another thread changes names on a served file system, if the path
// leads to one.
func (l *loop) awaitAct(s stopped) bool {
	if l.acts == 0 || !reachedServed(s.tid) {
		return false
	}
	s.task.waits = "a change to names on a served file system"
	l.heldChanges = append(l.heldChanges, s)
	return true
}

// ownDirectory tells whether no other task shares the current directory of s.
func (l *loop) ownDirectory(s stopped) bool {
	if s.proc.sharesFS || s.proc.adopted {
		return false
	}
	for _, t := range l.tasks {
		if t.proc == s.proc && t != s.task {
			return false
		}
	}
	return true
}

// ownTable tells whether no other task shares the descriptors of s.
func (l *loop) ownTable(s stopped) bool {
	return !s.proc.sharesFiles && !s.space.crowded && s.space.tasks == 1 && l.ownDirectory(s)
}

// startMoves tells whether another task can change where the words of an object start or jump to
// before the kernel reads them: the current directory, the descriptor that a relative name
// starts from, or one of these by a magic link on the way. A magic link at the end stands for
// what the tree holds, whichever that is.
func (l *loop) startMoves(s stopped, j *judgement) bool {
	o, r := j.object, &j.resolved
	switch {
	case r.Jumped && r.Magic == resolve.MagicNone, o.Path[0] != '/' && o.Dirfd != unix.AT_FDCWD:
		return s.proc.sharesFiles || !l.ownDirectory(s)
	case o.Path[0] != '/':
		return !l.ownDirectory(s)
	}
	return false
}

// endWalk lets the changes happen that waited.
func (l *loop) endWalk(t *task) {
	l.endBrief(t)
	if !t.walking {
		return
	}
	t.walking = false
	if t.changing {
		t.changing = false
		l.changes--
	}
	if l.walks--; l.walks > 0 {
		return
	}
	l.releaseChanges()
}

func (l *loop) releaseChanges() {
	held := l.heldChanges
	l.heldChanges = nil
	l.lookAgain(held)
}
