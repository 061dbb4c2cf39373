// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/image"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
)

// Scopes: a task is in none, or in one that it was started in, narrowed itself to, or
// entered by executing a program. What it starts is in the same. A narrowed task is judged
// by both what it had and what it asked for; one that entered, by the scope alone.

// scope is where a task is. nil is none.
type scope struct {
	name   string
	policy *rules.Policy
	// up is the scope that was narrowed to this one; entered: by executing a program.
	up      *scope
	entered bool
}

// scopePath is where the scope is told and narrowed. Nothing is really there.
const scopePath = "/run/ptguard/scope"

// scopeKey makes scopes the same that were come to in the same way.
type scopeKey struct {
	name string
	up   *scope
}

// policyOf is what holds for a task.
func (l *loop) policyOf(t *task) *rules.Policy {
	if t == nil || t.scope == nil {
		return l.cfg.Policy
	}
	return t.scope.policy
}

// scopeName is the word of the trace for the scope of a task.
func (t *task) scopeName() string {
	if t.scope == nil {
		return rules.ScopeNone
	}
	return t.scope.name
}

// startIn is the scope that the program is started in, nil for none.
func (l *loop) startIn(name string) *scope {
	sc := l.cfg.Scopes.Named(name)
	if sc == nil {
		return nil
	}
	return &scope{name: name, policy: sc.Policy}
}

// enteredScope is the scope that a program leads into.
func (l *loop) enteredScope(sc *rules.Scope) *scope {
	key := scopeKey{name: sc.Name}
	if l.scopes[key] == nil {
		l.scopes[key] = &scope{name: sc.Name, policy: sc.Policy, entered: true}
	}
	return l.scopes[key]
}

// narrow puts a task into a scope for good, on top of what holds for it. The errno says why
// not.
func (l *loop) narrow(s stopped, name string) syscall.Errno {
	sc := l.cfg.Scopes.Named(strings.TrimSuffix(name, "/"))
	switch {
	case sc == nil:
		return unix.ENOENT
	case sc.Entered:
		return unix.EPERM // by its programs only
	}
	for at := s.scope; at != nil; at = at.up {
		if at.name == sc.Name {
			return 0
		}
	}
	key := scopeKey{sc.Name, s.scope}
	if l.scopes[key] == nil {
		l.scopes[key] = &scope{name: sc.Name, policy: l.policyOf(s.task).Narrow(sc.Policy), up: s.scope}
	}
	s.task.scope = l.scopes[key]
	if l.cfg.Sink.Wants(record.KindDecision) {
		r := l.newRecord(s, record.KindDecision)
		r.Syscall, r.Event, r.Verdict, r.Path = l.call.Row.Name, l.call.Event, "allow", scopePath+"/"+sc.Name
		r.Rule, r.Layer, r.Reason = "builtin scope", string(rules.LayerScope), "the task narrowed itself"
		l.cfg.Sink.Put(r, nil)
	}
	return 0
}

// scopeCall answers what a task asks about its scope: mkdir of scopePath/NAME narrows it,
// and so does opening that for writing (a shell's redirection, which then writes to
// /dev/null); readlink of scopePath tells the scope. False: the call is about something
// else.
func (l *loop) scopeCall(s stopped) bool {
	if len(l.call.Objects) == 0 {
		return false
	}
	o := &l.call.Objects[0]
	name, beneath := strings.CutPrefix(o.Path, scopePath+"/")
	switch l.call.Row.Name {
	case "mkdir", "mkdirat":
		if beneath {
			s.refuse(l.narrow(s, name)) // 0 is success
			return true
		}
	case "open", "openat", "creat":
		if !beneath || !o.MayCreate {
			return false
		}
		if errno := l.narrow(s, name); errno != 0 {
			s.refuse(errno)
			return true
		}
		o.Path, o.Exclusive, o.NoFollow = os.DevNull, false, false
	case "readlink", "readlinkat":
		if o.Path == scopePath {
			l.tellScope(s)
			return true
		}
	}
	return false
}

// tellScope answers readlink(2).
func (l *loop) tellScope(s stopped) {
	at, size := l.call.Args[1], int32(l.call.Args[2])
	if l.call.Row.Name == "readlinkat" {
		at, size = l.call.Args[2], int32(l.call.Args[3])
	}
	if size <= 0 {
		s.refuse(unix.EINVAL)
		return
	}
	text := []byte(s.scopeName())
	text = text[:min(len(text), int(size))]
	if err := writeMem(s.tid, text, at); err != nil {
		s.refuse(unix.EFAULT)
		return
	}
	s.answer(int64(len(text)))
}

// reaches tells whether a task may reach into a process: its own, or one whose tasks have
// no more than what it has itself. A program that entered a scope is out of its caller's
// reach, as a set-uid program is.
func (l *loop) reaches(actor *task, pid int) bool {
	target := l.tasks[pid]
	if l.cfg.Scopes == nil || actor == nil || target == nil || target.proc == actor.proc {
		return true
	}
	for _, t := range l.tasks {
		if t.proc == target.proc && !t.scope.within(actor.scope) {
			return false
		}
	}
	return true
}

// within: s is where, or was narrowed from there.
func (s *scope) within(where *scope) bool {
	for ; s != where; s = s.up {
		if s == nil || s.entered {
			return false
		}
	}
	return true
}

// shields tells whether a process of the tree is out of the reach of s.
func (l *loop) shields(s stopped) bool {
	for tid := range l.tasks {
		if !l.reaches(s.task, tid) {
			return true
		}
	}
	return false
}

// barredFrom says why the program at hand, which leads into a scope, cannot be executed: nil
// if it can, or leads into none.
func (l *loop) barredFrom(s stopped) *decode.Answer {
	if l.cfg.Scopes == nil || len(l.judged) == 0 || l.judged[0].object.Access&decode.Exec == 0 || l.judged[0].object.Probe {
		return nil
	}
	first := &l.judged[0].resolved
	sc := l.cfg.Scopes.Entering(first.Path)
	if sc == nil || s.scope != nil && s.scope.name == sc.Name {
		return nil
	}
	refuse := func(why string) *decode.Answer {
		return &decode.Answer{Errno: unix.EPERM, Guard: "scope-entry", Reason: "this program leads into scope " + sc.Name + ", and " + why}
	}
	for i := range l.judged {
		file := l.judged[i].resolved.Path
		if rule := l.cfg.Scopes.Writable(file); rule != nil {
			return refuse("by " + rule.Pos + " the run could write " + file)
		}
	}
	switch {
	case s.proc.filtered || s.proc.fenced:
		return refuse("the caller has a seccomp filter or Landlock domain of its own, which would go with it")
	case s.proc.sharesFS:
		return refuse("the caller shares its current directory with another process, which could change it")
	case l.ownsSignals(s.proc):
		return refuse("the caller, or its process group, gets the signals of a descriptor (F_SETOWN, O_ASYNC, a lease), which others could raise")
	case len(l.judged) > 1 && !l.judged[1].request.Loader && (l.judged[0].object.Path != first.Path):
		return refuse("a script has to be named by " + first.Path + " itself: its interpreter opens it by the name that it is given")
	}
	return nil
}

// enterScope puts a task at its exec event into the scope that its new image leads into.
// False: it is being killed. What is looked at is what the kernel took, so nothing that
// changed after the entry was decided on counts.
func (l *loop) enterScope(s stopped, exe *resolve.Object) bool {
	if l.cfg.Scopes == nil {
		return true
	}
	file := exe.Path
	sc := l.cfg.Scopes.Entering(file)
	if sc == nil {
		if file = l.script(s); file == "" {
			return true
		}
		sc = l.cfg.Scopes.Entering(file)
	}
	if s.scope != nil && s.scope.name == sc.Name || s.proc.filtered || s.proc.fenced || s.proc.sharesFS || l.ownsSignals(s.proc) ||
		l.cfg.Scopes.Writable(file) != nil || l.cfg.Scopes.Writable(exe.Path) != nil {
		return true
	}
	if err := l.cleanEnvironment(s); err != nil {
		l.killImage(s, "its environment could not be cleaned for scope "+sc.Name)
		return false
	}
	s.task.scope = l.enteredScope(sc)
	return true
}

// script is the name of the script that the new image interprets, if it leads into a scope
// and its name is just its canonical path, which nobody in the tree can make lead elsewhere;
// else "".
func (l *loop) script(s stopped) string {
	name, err := startedAs(s.tid)
	if err != nil || !filepath.IsAbs(name) || l.cfg.Scopes.Entering(name) == nil {
		return ""
	}
	var r resolve.Object
	if err := l.resolve.Resolve(&r, resolve.Task{TGID: s.proc.pid, TID: s.tid}, unix.AT_FDCWD, name, 0); err != nil {
		return ""
	}
	defer r.Close()
	if r.Errno != 0 || r.Path != name || len(r.Hops) > 0 || r.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return ""
	}
	if next, err := image.Next(r.FD); err != nil || next.Path == "" || next.Loader {
		return ""
	}
	return name
}
