// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/rules"
)

// orphan is a process that was seen before its parent's event (techniques A20): in which scope it
// is and whose memory it has is not known, so it is held in its first stop until the event says.
// Else each child of a vfork(2) that is seen early, and opens something before its exec, would
// leave a window of its own in its parent's memory, where it is sealed for good.
type orphan struct{ status unix.WaitStatus }

// How long a parent's event may take. It comes at once, unless the parent was killed in between;
// where that shows, nobody waits for it. In a wrong scope a task would be judged by other rules, of
// a wrong memory the price is a window.
const (
	scopeTime = 5 * time.Second
	spaceTime = 50 * time.Millisecond
)

func (l *loop) holdOrphan(t *task, status unix.WaitStatus) {
	t.inStop, t.orphan, t.waits = true, &orphan{status}, "its parent's event"
	l.orphans = append(l.orphans, t)
	if l.tasks[parentOf(t.tid)] == nil {
		l.takeInAlone(t)
		return
	}
	wait := spaceTime
	if l.cfg.Scopes != nil {
		wait = scopeTime
	}
	time.AfterFunc(wait, func() { l.post(func() { l.takeInAlone(t) }) })
}

// parentOf is the process that the kernel calls the parent of a task, -1 if it does not say.
func parentOf(tid int) int {
	if pid, err := strconv.Atoi(statusField(tid, "PPid")); err == nil {
		return pid
	}
	return -1
}

// noEventFrom is the end of a process, or of all its threads but the one that executes: of a
// clone(2) in which one was killed the event never comes.
func (l *loop) noEventFrom(pid int) {
	for _, t := range slices.Clone(l.orphans) {
		if parent := parentOf(t.tid); parent == pid || l.tasks[parent] == nil {
			l.takeInAlone(t)
		}
	}
}

// takeInAlone lets a held task run of which no event tells: in scope user.
func (l *loop) takeInAlone(t *task) {
	if l.tasks[t.tid] != t || t.orphan == nil {
		return
	}
	var sc *scope
	if l.cfg.Scopes != nil {
		key := scopeKey{name: rules.ScopeUser}
		if l.scopes[key] == nil {
			l.scopes[key] = &scope{name: key.name, policy: l.cfg.Policy.Narrow(l.cfg.Scopes.Named(key.name).Policy)}
		}
		sc = l.scopes[key]
	}
	l.takeIn(t, sc)
}

// takeIn lets a held task run, in a scope.
func (l *loop) takeIn(t *task, sc *scope) {
	status := t.orphan.status
	t.scope, t.orphan = sc, nil
	l.forgetOrphan(t)
	l.dispatch(t.tid, status)
}

func (l *loop) forgetOrphan(t *task) {
	l.orphans = slices.DeleteFunc(l.orphans, func(o *task) bool { return o == t })
}
