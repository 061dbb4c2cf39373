// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/internal/readfile"
	"ptguard/rules"
)

// orphan is a process that was seen before its parent's event (techniques A20): in which scope it
// is and whose memory it has is not known, so it is held in its first stop until the event says.
// Else each child of a vfork(2) that is seen early, and opens something before its exec, would
// leave a window of its own in its parent's memory, where it is sealed for good.
type orphan struct {
	status unix.WaitStatus
	since  time.Time
}

// A parent's event comes at once, unless the parent was killed in between. orphanTime is how long
// it is waited for at most, and orphanLook how often it is looked whether it can still come.
const (
	orphanTime = 5 * time.Second
	orphanLook = 2 * time.Millisecond
)

func (l *loop) holdOrphan(t *task, status unix.WaitStatus) {
	t.inStop, t.orphan, t.waits = true, &orphan{status, time.Now()}, "its parent's event"
	l.orphans = append(l.orphans, t)
	l.held.Store(int32(len(l.orphans)))
	l.watchOrphans()
}

// watchOrphans sees to it that the held tasks are looked at, if there are any by then: mostly the
// event has come, and the tracer thread is not troubled.
func (l *loop) watchOrphans() {
	if l.watched.Swap(true) {
		return
	}
	time.AfterFunc(orphanLook, func() {
		l.watched.Store(false)
		if l.held.Load() > 0 {
			l.post(l.lookAtOrphans)
		}
	})
}

// lookAtOrphans goes on with held tasks of which no event can be expected.
func (l *loop) lookAtOrphans() {
	for _, t := range slices.Clone(l.orphans) {
		if t.orphan != nil && (!l.mayTell(parentOf(t.tid)) || time.Since(t.orphan.since) > orphanTime) {
			l.takeInAlone(t)
		}
	}
	if len(l.orphans) > 0 {
		l.watchOrphans()
	}
}

// mayTell tells whether a process may be in a clone(2) of which the event is to come. In a wrong
// scope a task would be judged by other rules, so with scopes a living parent is enough: with
// CLONE_PARENT it is another process that tells. Of a wrong memory the price is a window.
func (l *loop) mayTell(pid int) bool {
	if l.tasks[pid] == nil || l.cfg.Scopes != nil {
		return l.tasks[pid] != nil
	}
	for _, t := range l.tasks {
		if t.proc.pid == pid && !t.inStop && mayBeForking(t.tid) {
			return true
		}
	}
	return false
}

// mayBeForking asks /proc/TID/syscall (proc_pid_syscall(5)): "running", or the number of the call
// that it sleeps in.
func mayBeForking(tid int) bool {
	text, err := readfile.All(procPath(tid, "syscall"))
	if err != nil {
		return !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.ENOENT)
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	nr, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		return true
	}
	switch native.SyscallName(uint32(nr)) {
	case "clone", "clone3", "fork", "vfork":
		return true
	}
	return false
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
	l.held.Store(int32(len(l.orphans)))
}
