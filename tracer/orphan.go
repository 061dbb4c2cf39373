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
	looks  int // that have been taken
}

// A parent's event comes at once, unless the parent was killed in between. orphanTime is how long
// it is waited for at most, and orphanLook how often it is looked whether it can still come.
const (
	orphanTime = 5 * time.Second
	orphanLook = 2 * time.Millisecond
)

func (l *loop) holdOrphan(t *task, status unix.WaitStatus) {
	t.inStop, t.orphan, t.waits = true, &orphan{status: status}, "its parent's event"
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

// lookAtOrphans goes on with held tasks of which no event can be expected. It counts its looks and
// not the time, which passes while we are stopped, or the tree is frozen, and take no events.
func (l *loop) lookAtOrphans() {
	for _, t := range slices.Clone(l.orphans) {
		if t.orphan == nil {
			continue
		}
		t.orphan.looks++
		switch late := t.orphan.looks > int(orphanTime/orphanLook); {
		case late && l.cfg.Scopes != nil && l.mayTell(parentOf(t.tid)):
			l.killBlind(stopped{t, t.stops}, "clone", "os.fork", "its parent lives and has not told of it, so its scope is not known")
		case late, !l.mayTell(parentOf(t.tid)):
			l.takeInAlone(t)
		}
	}
	if len(l.orphans) > 0 {
		l.watchOrphans()
	}
}

// mayTell tells whether a process may be in a clone(2) of which the event is to come. In a wrong
// scope a task would be judged by other rules, so with scopes a living parent is enough: with
// CLONE_PARENT it is another process that tells. Of a wrong memory the price is a window. Who the
// parent is may not have been found out, for want of a descriptor: then any may be it.
func (l *loop) mayTell(pid int, err error) bool {
	if err != nil {
		return !gone(err)
	}
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
		return !gone(err)
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

// gone tells whether a file of /proc/TID could not be read because there is no such task.
func gone(err error) bool { return errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) }

// parentOf is the process that the kernel calls the parent of a task.
func parentOf(tid int) (int, error) {
	text, err := statusOf(tid, "PPid")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// noEventFrom is the end of a process, or of all its threads but the one that executes: of a
// clone(2) in which one was killed the event never comes.
func (l *loop) noEventFrom(pid int) {
	for _, t := range slices.Clone(l.orphans) {
		parent, err := parentOf(t.tid)
		if err == nil && (parent == pid || l.tasks[parent] == nil) || err != nil && gone(err) {
			l.takeInAlone(t)
		}
	}
}

// takeInAlone lets a held task run of which no event tells: in a scope that is in all of those
// that it may be in.
func (l *loop) takeInAlone(t *task) {
	if l.tasks[t.tid] != t || t.orphan == nil {
		return
	}
	var sc *scope
	if l.cfg.Scopes != nil {
		sc = l.scopeOfAny()
	}
	l.takeIn(t, sc)
}

// scopeOfAny is for a task that may be in any scope of the run: user, and narrowed to each that some
// task has come to, for the one that made it may have been in that.
func (l *loop) scopeOfAny() *scope {
	names := []string{l.cfg.Scope}
	sc := &scope{name: rules.ScopeUser, policy: l.cfg.Policy}
	for key, come := range l.scopes {
		names = append(names, key.name)
		sc.entered = sc.entered || come.entered
	}
	slices.Sort(names)
	for _, name := range append(slices.Compact(names), rules.ScopeUser) { // the name of the scope is that of the last
		if come := l.cfg.Scopes.Named(name); come != nil {
			sc.policy = sc.policy.Narrow(come.Policy)
		}
	}
	return sc
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
