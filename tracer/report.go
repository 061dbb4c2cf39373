// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/record"
	"ptguard/rules"
)

// refuseConst refuses a call that no policy can allow. Answers of ENOSYS are what programs
// try and fall back from (io_uring, new calls): they are recorded, but not shown live.
func (l *loop) refuseConst(s stopped, call, event string, a *decode.Answer) {
	r := l.newRecord(s, record.KindDenial)
	r.Syscall, r.Event, r.Verdict, r.Errno = call, event, "deny", unix.ErrnoName(a.Errno)
	r.Rule, r.Layer, r.Reason, r.Hint = "guard "+a.Guard, "guard", a.Reason, a.Hint
	l.put(s, r, a.Errno, a.Errno == unix.ENOSYS)
}

// undecodable refuses a call whose arguments could not be read.
func (l *loop) undecodable(s stopped, row *decode.Row, err error) {
	if l.findFirst(s, l.seccompStop) {
		return
	}
	var fault *decode.Fault
	if !errors.As(err, &fault) {
		fault = &decode.Fault{Errno: unix.EFAULT, What: err.Error()}
	}
	if fault.Plain {
		s.refuse(fault.Errno)
		return
	}
	if !alive(s.tid) {
		s.resume(0) // killed in its stop: the kernel skips the call
		return
	}
	l.refuseConst(s, row.Name, row.Event, &decode.Answer{Errno: fault.Errno, Guard: "unreadable", Reason: "ptguard cannot read its arguments: " + fault.What})
}

// unresolvable refuses a call whose objects could not be found out.
func (l *loop) unresolvable(s stopped, err error) {
	if errors.Is(err, errTaken) || l.findFirst(s, l.seccompStop) {
		return
	}
	if !alive(s.tid) {
		s.resume(0)
		return
	}
	r := l.newRecord(s, record.KindDenial)
	r.Syscall, r.Event, r.Verdict, r.Errno = l.call.Row.Name, l.call.Event, "deny", "EPERM"
	if len(l.judged) > 0 {
		r.Path = l.judged[len(l.judged)-1].object.Path
	}
	r.Rule, r.Layer, r.Reason = "guard unresolved", "guard", "ptguard cannot find out what it means: "+err.Error()
	l.put(s, r, unix.EPERM, false)
}

// refused answers a call that the policy refuses.
func (l *loop) refused(s stopped, j *judgement, d rules.Decision) {
	d = unasked(d)
	r := l.requestRecord(s, kindOf(d), j.object, &j.request, d)
	if s.unasked != "" {
		r.Verdict = "ask-deny"
		r.Reason += "; " + s.unasked
		s.task.unasked = ""
	}
	l.execWords(r, &j.request) // never for the decision
	errno := d.Errno
	if errno == 0 {
		errno = unix.EPERM
	}
	l.put(s, r, errno, l.asks(j))
}

// kindOf is the kind of record of a refusal: seals and scopes have one of their own.
func kindOf(d rules.Decision) record.Kind {
	switch d.Rule.Layer {
	case rules.LayerSeal:
		return record.KindSeal
	case rules.LayerScope:
		return record.KindScope
	case rules.LayerFence:
		return record.KindFence
	}
	return record.KindDenial
}

// requestRecord is the record of one decided request.
func (l *loop) requestRecord(s stopped, kind record.Kind, o *decode.Object, q *rules.Request, d rules.Decision) *record.Record {
	r := l.newRecord(s, kind)
	if l.call.Row != nil {
		r.Syscall, r.Event = l.call.Row.Name, l.call.Event
		if l.call.HasFlags {
			r.Flags = openFlagNames(l.call.Flags)
		}
	}
	if o != nil {
		r.Path = o.Path
	}
	Describe(r, q, d.Access)
	r.Verdict = d.Verdict.String()
	if d.Refused() {
		r.Errno = unix.ErrnoName(d.Errno)
	}
	q.Comm = r.Comm
	e := l.policyOf(s.task).Explain(q, d)
	r.Rule, r.Layer, r.Reason, r.Hint, r.Fix = e.Rule, e.Layer, e.Reason, e.Hint, e.Fix
	return r
}

// newRecord is a record of this task.
func (l *loop) newRecord(s stopped, kind record.Kind) *record.Record {
	exe, comm, ppid, argv := identity(s.tid, s.proc.pid)
	return &record.Record{
		Kind: kind, PID: s.proc.pid, TID: s.tid, PPID: ppid, Exe: exe, Comm: comm,
		Argv: argv, Scope: s.scopeName(),
	}
}

// put writes a refusal and then, never before, lets the refused task go on.
func (l *loop) put(s stopped, r *record.Record, errno syscall.Errno, quiet bool) {
	if !quiet {
		l.stats.Denials++
		l.cfg.Live.Refused(r)
	}
	s.task.waits = "the trace's reader"
	r.Advise()
	written := l.cfg.Sink.Put(r, func(error) {
		l.post(func() {
			if l.waits(s) {
				s.refuse(errno)
			}
		})
	})
	if written {
		s.refuse(errno)
	}
}

// killRefused ends a process whose new image is refused, before its first instruction.
func (l *loop) killRefused(s stopped, q *rules.Request, d rules.Decision) {
	r := l.requestRecord(s, kindOf(d), nil, q, d)
	r.Syscall, r.Event, r.Verdict = "execve", "os.exec", "kill"
	r.Advise()
	l.cfg.Live.Refused(r)
	l.cfg.Sink.Put(r, nil)
	s.kill()
}

// killImage ends a process whose new image cannot be seen.
func (l *loop) killImage(s stopped, why string) { l.killBlind(s, "execve", "os.exec", why) }

// killBlind ends a process that is in the middle of something that cannot be seen, and says so.
// Nothing is said of one that is being killed: of that, nothing can be read either.
func (l *loop) killBlind(s stopped, call, event, why string) {
	if state := statusField(s.tid, "State"); !alive(s.tid) && (state == "" || strings.ContainsAny(state[:1], "ZX")) {
		s.kill()
		return
	}
	r := l.newRecord(s, record.KindDenial)
	r.Syscall, r.Event, r.Verdict, r.Rule, r.Layer, r.Reason = call, event, "kill", "guard unresolved", "guard", why
	r.Advise()
	l.cfg.Live.Refused(r)
	l.cfg.Sink.Put(r, nil)
	s.kill()
}

// recordAllowed writes one record an object of an allowed call, at level decisions.
func (l *loop) recordAllowed(s stopped) {
	wanted := l.cfg.Sink.Wants(record.KindDecision)
	if s.noted || !wanted && !l.cfg.Audit {
		return
	}
	s.task.noted = true // it may be looked at again, after a set-up or a wait
	s.task.auditedExec = false
	for i := range l.judged {
		switch j := &l.judged[i]; {
		case j.decision.Refused():
			l.audited(s, j)
		case wanted:
			r := l.requestRecord(s, record.KindDecision, j.object, &j.request, j.decision)
			l.execWords(r, &j.request)
			l.cfg.Sink.Put(r, nil)
		}
	}
}

// audited writes a refusal that an audit does not enforce.
func (l *loop) audited(s stopped, j *judgement) {
	if j.decision.Verdict != rules.Hide && l.notListening(j) {
		return // it fails anyway
	}
	r := l.requestRecord(s, kindOf(j.decision), j.object, &j.request, j.decision)
	l.execWords(r, &j.request)
	s.task.auditedExec = j.request.Access&decode.Exec != 0
	if j.decision.Verdict == rules.Ask {
		r.Verdict = "ask-deny" // nobody is asked
	}
	l.putAudited(r, l.asks(j))
}

// auditedImage writes that a new image would have been refused, where that is not enforced.
func (l *loop) auditedImage(s stopped, q *rules.Request, d rules.Decision) bool {
	if l.bars(d) {
		return false
	}
	if s.auditedExec { // on its way in
		s.task.auditedExec = false
		return true
	}
	r := l.requestRecord(s, kindOf(d), nil, q, d)
	r.Syscall, r.Event = "execve", "os.exec"
	l.putAudited(r, false)
	return true
}

func (l *loop) putAudited(r *record.Record, quiet bool) {
	r.Audit = true
	if !quiet {
		l.stats.Denials++
		l.cfg.Live.Refused(r)
	}
	l.cfg.Sink.Put(r, nil)
}

// asks: a question whether an act would be allowed (access(2), kill(2) with signal 0) is no
// attempt: it is recorded, and people are not told.
func (l *loop) asks(j *judgement) bool {
	d := &j.decision
	// Nor that it looked for what its view does not have.
	return j.object.Probe || l.call.Row.Special == decode.Signal && l.signalNumber() == 0 ||
		d.Verdict == rules.Hide && d.Rule.Layer == rules.LayerMode && d.Access&^(decode.Look|decode.List) == 0
}

// execWords puts the words of an exec into its record: for people, and for another policy.
// Where the decision needed none they are read now, which says nothing of what was decided:
// so into a call of their own.
func (l *loop) execWords(r *record.Record, q *rules.Request) {
	if q.Access&decode.Exec == 0 {
		return
	}
	if r.Argv = l.call.Argv; r.Argv != nil {
		return
	}
	var c decode.Call
	if decode.Decode(&c, l.call.Row, l.call.Args, memory{r.TID}, true) == nil {
		r.Argv = c.Argv
	}
}

// recordBare writes a call that fails on its names and is left to the kernel.
func (l *loop) recordBare(s stopped, errno syscall.Errno) {
	if !l.cfg.Sink.Wants(record.KindDecision) {
		return
	}
	r := l.newRecord(s, record.KindDecision)
	r.Syscall, r.Event, r.Verdict, r.Errno = l.call.Row.Name, l.call.Event, "allow", unix.ErrnoName(errno)
	r.Rule, r.Layer, r.Reason = "built-in bare errno", "builtin", "it fails anyway on what is or is not there"
	if len(l.judged) > 0 {
		o := l.judged[len(l.judged)-1].object
		r.Path, r.Access = o.Path, o.Access.Names()
		r.Resolved = l.judged[len(l.judged)-1].resolved.Path
	}
	l.cfg.Sink.Put(r, nil)
}

func (l *loop) recordUntraced(s stopped) {
	if l.cfg.Sink.Wants(record.KindDecision) {
		r := l.newRecord(s, record.KindDecision)
		r.Syscall, r.Event, r.Verdict, r.Rule, r.Layer = "clone", "os.fork", "allow", "guard untraced", "guard"
		r.Reason = "CLONE_UNTRACED was cleared"
		l.cfg.Sink.Put(r, nil)
	}
}

func (l *loop) recordExec(s stopped) {
	if l.cfg.Sink.Wants(record.KindExec) {
		l.cfg.Sink.Put(l.newRecord(s, record.KindExec), nil)
	}
}

// describeAddr writes a socket address into its record.
func describeAddr(r *record.Record, a *rules.Addr) {
	r.Family = familyName(a.Family)
	switch a.Proto {
	case rules.ProtoTCP:
		r.Proto = "tcp"
	case rules.ProtoUDP:
		r.Proto = "udp"
	case rules.ProtoOther:
	}
	switch {
	case a.IP.IsValid():
		r.Addr, r.Port = a.IP.String(), int(a.Port)
	case a.Abstract != "":
		r.Addr = "@" + a.Abstract
	case a.Family == unix.AF_UNIX:
		r.Addr = r.Resolved
	}
}

var familyNames = map[uint16]string{
	unix.AF_UNSPEC: "unspec", unix.AF_UNIX: "unix", unix.AF_INET: "inet", unix.AF_INET6: "inet6", unix.AF_NETLINK: "netlink",
	unix.AF_PACKET: "packet", unix.AF_VSOCK: "vsock", unix.AF_ALG: "alg", unix.AF_BLUETOOTH: "bluetooth", unix.AF_CAN: "can",
	unix.AF_TIPC: "tipc", unix.AF_XDP: "xdp",
}

func familyName(f uint16) string {
	if name, ok := familyNames[f]; ok {
		return name
	}
	return fmt.Sprintf("family %d", f)
}

// openFlagNames spells open(2)'s flags; unknown bits stay in hex.
func openFlagNames(flags uint64) []string {
	out := []string{[...]string{"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"}[flags&unix.O_ACCMODE]}
	rest := flags &^ unix.O_ACCMODE
	for _, f := range [...]struct {
		bits uint64
		name string
	}{
		{unix.O_TMPFILE, "O_TMPFILE"},
		{unix.O_CREAT, "O_CREAT"},
		{unix.O_EXCL, "O_EXCL"},
		{unix.O_NOCTTY, "O_NOCTTY"},
		{unix.O_TRUNC, "O_TRUNC"},
		{unix.O_APPEND, "O_APPEND"},
		{unix.O_NONBLOCK, "O_NONBLOCK"},
		{unix.O_SYNC, "O_SYNC"},
		{unix.O_DSYNC, "O_DSYNC"},
		{unix.O_DIRECT, "O_DIRECT"},
		{0x8000, "O_LARGEFILE"},
		{unix.O_DIRECTORY, "O_DIRECTORY"},
		{unix.O_NOFOLLOW, "O_NOFOLLOW"},
		{unix.O_NOATIME, "O_NOATIME"},
		{unix.O_CLOEXEC, "O_CLOEXEC"},
		{unix.O_PATH, "O_PATH"},
	} {
		if f.bits != 0 && rest&f.bits == f.bits {
			out = append(out, f.name)
			rest &^= f.bits
		}
	}
	if rest != 0 {
		out = append(out, strings.ToLower(fmt.Sprintf("%#x", rest)))
	}
	return out
}

// tellNoExec records, for the first task that it concerns, that a part of the tree has less
// than the tier of the start record says: the same protection, by one stop more a call.
func (l *loop) tellNoExec(s stopped) {
	if l.noExecTold {
		return
	}
	l.noExecTold = true
	r := l.newRecord(s, record.KindWarning)
	r.Reason = "it may map no executable memory, so its calls end at an exit stop and not in the stub: race-free, one stop more"
	l.cfg.Sink.Put(r, nil)
}
