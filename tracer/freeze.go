// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Freezing: while a person is asked at the terminal that the tree has too, the whole tree
// stands still. Otherwise a program could write over the question, read the answer before
// us, or change the terminal's settings. Nothing of it is seen by the tree but the time; as
// with any stop and continue, a few calls (epoll_wait, semop; signal(7)) give EINTR.
//
// Running tasks are interrupted (PTRACE_INTERRUPT); every stop that is reported meanwhile is
// kept and handled at the thaw. What would resume a task for another reason waits, too.

// freezePatience bounds the wait for tasks that do not come to their stop: in the kernel they
// do no harm, and they stop before they run on.
const freezePatience = 100 * time.Millisecond

// frost is the state of a freeze. Tracer thread only.
type frost struct {
	on    bool
	held  []heldStop
	later []func()
	await map[int]bool // interrupted and not yet seen to stop
	then  func()       // runs when all stand still
}

type heldStop struct {
	tid    int
	status unix.WaitStatus
}

// freeze stops the tree and runs then when it stands still.
func (l *loop) freeze(then func()) {
	f := &l.frost
	f.on, f.then, f.await = true, then, map[int]bool{}
	for tid, t := range l.tasks {
		if t.inStop || t.listening {
			continue
		}
		if ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0) == nil {
			f.await[tid] = true
		}
	}
	l.frozen()
	l.watchFreeze(time.Now().Add(freezePatience))
}

// watchFreeze looks again, until the deadline, whether the rest stands still.
func (l *loop) watchFreeze(deadline time.Time) {
	f := &l.frost
	if f.then == nil {
		return
	}
	time.AfterFunc(2*time.Millisecond, func() {
		l.postNow(func() {
			if f.then == nil {
				return
			}
			for tid := range f.await {
				// D: in a call that cannot be interrupted, such as the wait of vfork(2).
				if state, err := statusOf(tid, "State"); err != nil && gone(err) || err == nil && strings.ContainsAny(state[:1], "DZX") {
					delete(f.await, tid)
				}
			}
			if time.Now().After(deadline) {
				clear(f.await)
			}
			l.frozen()
			l.watchFreeze(deadline)
		})
	})
}

// frozen goes on if all stand still.
func (l *loop) frozen() {
	f := &l.frost
	if then := f.then; then != nil && len(f.await) == 0 {
		f.then = nil
		then()
	}
}

// keepStop keeps a stop for the thaw.
func (l *loop) keepStop(tid int, status unix.WaitStatus) {
	f := &l.frost
	f.held = append(f.held, heldStop{tid, status})
	delete(f.await, tid)
	l.frozen()
}

// dropStop forgets a task that has ended.
func (l *loop) dropStop(tid int) {
	f := &l.frost
	f.held = slices.DeleteFunc(f.held, func(h heldStop) bool { return h.tid == tid })
	if delete(f.await, tid); f.on {
		l.frozen()
	}
}

// later runs f now or, while the tree is frozen, at the thaw. For what resumes tasks.
func (l *loop) later(f func()) {
	if l.frost.on {
		l.frost.later = append(l.frost.later, f)
		return
	}
	f()
}

// thaw lets the tree go on.
func (l *loop) thaw() {
	f := &l.frost
	if !f.on {
		return
	}
	held, later := f.held, f.later
	*f = frost{}
	for _, h := range held {
		l.dispatch(h.tid, h.status)
	}
	for _, g := range later {
		l.later(g)
	}
}
