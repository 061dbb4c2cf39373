// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/readfile"
	"ptguard/internal/resolve"
	"ptguard/rules"
)

// Inquiry asks what a run would be answered, with nothing running. The objects are found
// and judged by the code that judges a tracee's call; the process that asks stands for it,
// with its current directory, its root and its /proc.
type Inquiry struct {
	l *loop
	s stopped
}

// NewInquiry gives an Inquiry into a policy, that of a scope or of none (""). It fails where
// a run could not start either.
func NewInquiry(p *rules.Policy, name string) (*Inquiry, error) {
	l := &loop{cfg: &Config{Policy: p}, tasks: map[int]*task{}, started: true}
	mounts, err := readfile.All("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the kernel's own file systems: %w", err)
	}
	if l.facts, err = newFacts(mounts); err != nil {
		return nil, err
	}
	if l.resolve, err = resolve.New(); err != nil {
		return nil, err
	}
	l.policy = filterNeeds(p.Needs(), false)
	t := &task{tid: os.Getpid(), proc: &process{pid: os.Getpid()}, slot: -1}
	if name != "" && name != rules.ScopeNone {
		t.scope = &scope{name: name, policy: p}
	}
	l.tasks[t.tid] = t
	return &Inquiry{l, stopped{task: t}}, nil
}

// Answer is what one object of an act is answered.
type Answer struct {
	Request  rules.Request
	Decision rules.Decision
}

// Act is something that a program may do. Objects are as a call would name them. Argv is
// the whole argument vector of an exec.
type Act struct {
	Objects []decode.Object
	Argv    []string
	Opens   bool // by open(2): reading a directory lists it
}

// Ask judges every object of an act, and those that follow from it (the interpreter of a
// script, the loader). bare is the kernel's own errno where the act fails today on what is
// or is not there, so that a run would not refuse it: the answers are then those that the
// policy would give if it did not.
func (q *Inquiry) Ask(act Act) (answers []Answer, bare syscall.Errno, err error) {
	l := q.l
	l.call = decode.Call{Row: &decode.Row{Name: "why"}, Objects: act.Objects, Argv: act.Argv, HasFlags: act.Opens}
	defer l.forget()
	if bare, err = l.examine(q.s); err != nil {
		return nil, 0, err
	}
	if bare != 0 {
		if err := q.suppose(); err != nil {
			return nil, 0, err
		}
	}
	for i := range l.judged {
		j := &l.judged[i]
		if j.request.Access == 0 {
			continue
		}
		j.decision = l.decide(q.s, &j.request)
		if bare == 0 && j.decision.Refused() && j.decision.Verdict != rules.Hide && l.notListening(j) {
			bare = unix.ECONNREFUSED
		}
		answers = append(answers, Answer{j.request, j.decision})
	}
	if len(answers) == 0 {
		return nil, bare, fmt.Errorf("nothing to ask about")
	}
	return answers, bare, nil
}

// suppose makes the requests of an act that fails on its names as if it did not: with the
// names that the walk found, as far as they lead.
func (q *Inquiry) suppose() error {
	l := q.l
	l.forget()
	for i := range l.call.Objects {
		o := &l.call.Objects[i]
		if o.Kind != decode.Path && o.Kind != decode.Entry && o.Kind != decode.Sockaddr {
			continue
		}
		l.judged = append(l.judged, judgement{object: o, request: rules.Request{Access: o.Access, Act: o.Act}})
		j := &l.judged[len(l.judged)-1]
		j.resolved.FD, j.resolved.Parent = -1, -1
		if o.Kind == decode.Sockaddr {
			j.request.Addr = rules.Addr{Family: o.Addr.Family}
		}
		task := resolve.Task{TGID: q.s.proc.pid, TID: q.s.tid}
		if err := l.resolve.Resolve(&j.resolved, task, unix.AT_FDCWD, o.Path, walkFlags(o)); err != nil {
			return err
		}
		r := &j.resolved
		if r.Errno == 0 {
			l.file(r, &j.request.File)
		} else {
			j.request.File.Path, j.request.File.Spellings = r.Path, r.Hops
		}
		if o.MayCreate && (r.Errno != 0 || !r.Exists) {
			j.request.Access |= decode.Create
		}
		if o.Access&decode.Exec != 0 {
			j.request.Program, j.request.Argv = true, l.call.Argv
		}
	}
	return nil
}
