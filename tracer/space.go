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
	// crowded: other tasks use the space, or may without our knowing (a task was adopted
	// before its parent's event): every step of a set-up is then verified. It stays so: of a
	// parent that is killed in its clone(2) the event never comes.
	crowded bool
	// strangers: somebody may have its window who is not booked as one of its tasks, see spare.
	strangers bool
	held      []stopped // siblings that wait in their stop for the set-up
	tries     int       // failed set-ups in a row
	noExec    bool      // the window may not be executable here
	// adopted: it was made for a task that was seen before its parent's event, and may be the
	// memory of that parent. An exec puts another in its place.
	adopted bool
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
	sp.crowded = sp.crowded || sp.tasks > 1
}

// leave takes a task out of its space, at its exit or exec.
func (l *loop) leave(t *task) {
	defer l.endWalk(t)
	l.withdraw(t)
	t.dropArrived()
	if t.setup != nil && t.setup.send != nil {
		t.setup.send.close()
	}
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
	if sp.strangers && sp.win != nil {
		sp.win.shared = true
	}
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
		t.space.strangers = t.space.strangers || flags&unix.CLONE_THREAD != 0
		return t.space
	}
	t.space.strangers = true
	sp := &space{noExec: t.space.noExec}
	if t.readyAtResume && t.space.state == spaceReady {
		sp.state, sp.base, sp.win = spaceReady, t.space.base, t.space.win
		sp.win.refs++
	}
	return sp
}

// adopted notes what an event tells of a child that was seen before it. If the child has needed no
// window yet it gets the space that it would have got with the event; else its memory may be that
// of its parent, although it is booked as a space of its own, with a window of its own.
func (l *loop) adopted(parent stopped, child *task, flags uint64) {
	if sp := child.space; parent.space != nil && sp != nil && sp.adopted && sp.state == spaceNone && sp.win == nil && sp.tries == 0 && sp.tasks == 1 && len(sp.held) == 0 {
		sp.tasks--
		child.enter(parent.childSpace(flags))
	}
	if parent.space != nil {
		parent.space.strangers = true
	}
	if flags&unix.CLONE_VM != 0 && child.space != parent.space && child.space != nil {
		child.space.crowded, parent.space.crowded = true, true
	}
	if flags&unix.CLONE_FS != 0 && child.proc != parent.proc {
		child.proc.sharesFS, parent.proc.sharesFS = true, true
	}
	if flags&unix.CLONE_FILES != 0 && child.proc != parent.proc {
		child.proc.sharesFiles, parent.proc.sharesFiles = true, true
	}
	if p, q := child.proc, parent.proc; p.adopted {
		p.adopted, p.undumpable = false, q.undumpable
		if !p.tookOn {
			p.fenced, p.filtered = q.fenced, q.filtered
		}
	}
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
		l.later(func() {
			if l.waits(s) {
				l.seccompStop(s)
			}
		})
	}
}
