// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/sys/unix"
)

// space is one address space (mm) of the tree: what tasks made with CLONE_VM share, and
// what an exec replaces. Its window is brought in at the first call that needs one.
type space struct {
	state  spaceState
	tasks  int // live tasks, until their exit status
	setter *task
	base   uint64 // where the window lies, when ready
	win    *window
	// crowded: other tasks may use the space without our knowing (a task was adopted
	// before its parent's event): every step of a set-up is then verified.
	crowded bool
	held    []stopped // siblings that wait in their stop for the set-up
	tries   int       // failed set-ups in a row
}

type spaceState uint8

const (
	spaceNone spaceState = iota
	spaceBusy
	spaceReady
)

// enter counts a task into a space.
func (t *task) enter(sp *space) {
	t.space = sp
	sp.tasks++
}

// leave takes a task out of its space, at its exit or exec.
func (l *loop) leave(t *task) {
	defer l.endWalk(t)
	sp := t.space
	if sp == nil {
		return
	}
	t.space = nil
	if sp.win != nil {
		sp.win.release(t)
		defer l.serveWaiting(sp.win)
	}
	t.frames, t.slot = nil, -1
	sp.tasks--
	if sp.state == spaceBusy && sp.setter == t {
		sp.state, sp.setter = spaceNone, nil
		l.releaseHeld(sp)
	}
	if sp.tasks == 0 && sp.win != nil {
		sp.win.drop()
		sp.win = nil
	}
}

// childSpace is the space of a new task. A forked child has the window only if its parent
// was last resumed after it was ready: wait4 does not report in the order of events, so
// the fork may be older than the set-up that another thread has finished meanwhile
// (slot.md 2).
func (t *task) childSpace(flags uint64) *space {
	if flags&unix.CLONE_VM != 0 {
		return t.space
	}
	sp := &space{}
	if t.readyAtResume && t.space.state == spaceReady {
		sp.state, sp.base, sp.win = spaceReady, t.space.base, t.space.win
		sp.win.refs++
	}
	return sp
}

// releaseHeld looks again at the calls that waited.
func (l *loop) releaseHeld(sp *space) {
	held := sp.held
	sp.held = nil
	l.lookAgain(held)
}

// lookAgain handles calls that have waited in their stop, as if they had just been made.
func (l *loop) lookAgain(calls []stopped) {
	for _, s := range calls {
		if l.tasks[s.tid] == s.task && s.inStop {
			l.seccompStop(s)
		}
	}
}
