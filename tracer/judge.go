// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
	"ptguard/rules"
)

// judgement is one object of the call at hand with the question it raises.
type judgement struct {
	object   *decode.Object
	resolved resolve.Object
	request  rules.Request
	decision rules.Decision
	pid      int  // the process that a pidfd stood for when it was looked at
	gone     bool // a hidden name is part of the path: the request asks about that
}

// seccompStop handles a call that the filter sent to us. Dispatch is on number and audit
// arch of the registers, never on the event message, which a filter of the tracee's own
// can forge (techniques K3).
func (l *loop) seccompStop(s stopped) {
	l.actor = s.task
	info := &l.at
	l.atTask = nil
	if err := getSyscallInfo(s.tid, info); err != nil {
		s.lost(err, "read the call of")
		return
	}
	if counting && s.fresh {
		countCall(info)
	}
	if info.Op == syscallInfoSeccomp && info.Arch == native.Audit && !l.backFromStub(s, info) {
		return
	}
	l.atTask, l.atStop = s.task, s.stop
	if s.retrying {
		s.task.retrying = false
	} else {
		s.task.again, s.task.barred = 0, false
		if s.fresh && !(s.same && s.wait.call == call{info.Nr, info.Args}) {
			s.task.wait = answers{}
		}
	}
	s.task.fresh, s.task.same = false, false
	nr := uint32(info.Nr)
	l.number = info.Nr
	switch {
	case info.Op != syscallInfoSeccomp:
		l.killBlind(s, "unknown", "", "the kernel tells of another stop than it reported, so nothing is known of the call")
		return
	case info.Arch != native.Audit:
		l.refuseConst(s, foreignName(nr), "", foreignABI)
		return
	case native.X32 != 0 && nr >= native.X32 && int32(nr) >= 0:
		l.refuseConst(s, native.SyscallName(nr&^native.X32), "", foreignABI)
		return
	case nr >= uint32(len(l.classes)):
		l.refuseConst(s, native.SyscallName(nr), "", unknownCall)
		return
	}
	s.task.wide, s.task.readsProc = slices.Contains(l.affinity, nr), false
	args := info.Args
	row := l.rowFor(nr, &args)
	switch {
	case row == nil && len(l.classes[nr].Rows) == 0 && !l.classes[nr].Pass:
		l.refuseConst(s, native.SyscallName(nr), "", unknownCall)
	case row == nil:
		// Our filter let it pass: a filter of the tracee's own returned TRACE and would
		// see ENOSYS without a tracer (techniques A7).
		s.refuse(unix.ENOSYS)
	default:
		l.callOf(s, row, &args)
	}
}

// callOf handles a call by its row.
func (l *loop) callOf(s stopped, row *decode.Row, args *[6]uint64) {
	if row.Const != nil {
		l.refuseConst(s, row.Name, row.Event, row.Const)
		return
	}
	switch row.Special {
	case decode.Changes:
		l.credentialsChange(s)
	case decode.Filters:
		s.proc.filtered, s.proc.tookOn = true, true
		s.resume(0)
	case decode.Range:
		l.rangeCall(s, row, args)
	case decode.Untrace:
		if l.mayFork(s, args[0]) {
			l.untrace(s, args[0])
		}
	case decode.Forks:
		if l.mayFork(s, 0) {
			s.resume(0)
		}
	case decode.Owns:
		s.proc.owner = true
		s.resume(0)
	case decode.Affinity:
		s.resume(0)
	case decode.Dumpable:
		l.dumpable(s, args)
	case decode.NotSpecial, decode.Listing, decode.Signal:
		l.judge(s, row, args)
	}
}

// The refusals that no row stands for.
var (
	foreignABI  = &decode.Answer{Errno: unix.ENOSYS, Guard: "foreign-abi", Reason: "a call of another ABI (32-bit or x32): its numbers and arguments mean other things"}
	unknownCall = &decode.Answer{Errno: unix.ENOSYS, Guard: "unknown-call", Reason: "a system call that this version does not know"}
)

func foreignName(nr uint32) string {
	return "foreign_" + strings.TrimPrefix((&decode.Arch{}).SyscallName(nr), "syscall_")
}

// rowFor picks the row of a call: the first whose conditions hold.
func (l *loop) rowFor(nr uint32, args *[6]uint64) *decode.Row {
	for _, row := range l.classes[nr].Rows {
		if l.holds(row, args) {
			return row
		}
	}
	return nil
}

// rowAfter is the next row of the same call whose conditions hold.
func (l *loop) rowAfter(row *decode.Row, args *[6]uint64) *decode.Row {
	rows := l.classes[uint32(l.number)].Rows
	for _, next := range rows[slices.Index(rows, row)+1:] {
		if l.holds(next, args) {
			return next
		}
	}
	return nil
}

func (l *loop) holds(row *decode.Row, args *[6]uint64) bool {
	tests, traced := row.Conditions(l.policy)
	if !traced || len(tests) == 0 {
		return traced
	}
	for _, test := range tests {
		if test.Holds(args) {
			return true
		}
	}
	return false
}

// untrace clears CLONE_UNTRACED, so that the child is ours (techniques K4). The flags are
// in a register, where no other thread can set the bit again.
func (l *loop) untrace(s stopped, flags uint64) {
	if err := setFirstArg(s.tid, flags&^uint64(unix.CLONE_UNTRACED)); err != nil {
		s.lost(err, "clear CLONE_UNTRACED of")
		return
	}
	l.recordUntraced(s)
	s.resume(0)
}

// dumpable answers PR_SET_DUMPABLE 0 and PR_GET_DUMPABLE without effect: an unprivileged
// ptguard could not read the arguments of a task that became non-dumpable (techniques K21).
func (l *loop) dumpable(s stopped, args *[6]uint64) {
	if int32(args[0]) == unix.PR_GET_DUMPABLE {
		if s.proc.undumpable {
			s.answer(0)
			return
		}
		s.resume(0)
		return
	}
	s.proc.undumpable = true
	s.answer(0)
}

// judge is the way of every call that the policy decides: decode, resolve every object,
// decide each, and refuse at the first refusal.
func (l *loop) judge(s stopped, row *decode.Row, args *[6]uint64) {
	l.stats.Decisions++
	l.memory.tid = s.tid
	err := decode.Decode(&l.call, row, *args, &l.memory, l.policyOf(s.task).NeedsArgv())
	if err != nil {
		l.undecodable(s, row, err)
		return
	}
	if l.cfg.Scopes != nil && l.scopeCall(s) {
		return
	}
	defer l.forget()
	l.mayGlance, l.glanced = l.trustsGlances(s), false
	bare, err := l.examine(s)
	if l.glanced {
		if err == nil && bare == 0 && l.call.Refuse == nil && l.settle(s) == nil && !l.anyRefused() {
			l.allow(s)
			return
		}
		if err == nil && bare == unix.ENOENT && l.plainOpen(s) {
			l.recordBare(s, bare)
			s.refuse(bare)
			return
		}
		// What is not simply allowed is looked at in full.
		l.mayGlance, l.glanced = false, false
		bare, err = l.examine(s)
	}
	switch {
	case err != nil:
		l.unresolvable(s, err)
		return
	case bare != 0 && blind(bare):
		s.refuse(bare)
		return
	case bare != 0:
		// The act fails on its names. The kernel would say so too, but not if somebody
		// changes them before it looks.
		l.recordBare(s, bare)
		l.answerBare(s, bare)
		return
	case l.call.Refuse != nil:
		l.refuseConst(s, row.Name, l.call.Event, l.call.Refuse)
		return
	}
	// What is not there is said before what may not be done with the rest, as the kernel does.
	if i := slices.IndexFunc(l.judged, func(j judgement) bool { return j.gone }); i > 0 {
		l.judged[0], l.judged[i] = l.judged[i], l.judged[0]
	}
	if j := l.settle(s); j != nil {
		if j.decision.Verdict != rules.Hide && l.notListening(j) {
			l.recordBare(s, unix.ECONNREFUSED)
			s.refuse(unix.ECONNREFUSED)
			return
		}
		if j.decision.Verdict == rules.Ask {
			if s.task.unasked = l.raise(s, j); s.unasked == "" {
				return
			}
		}
		l.refused(s, j, j.decision)
		return
	}
	l.allow(s)
}

// allow lets a call run that every decision allows, unless a part of it still waits.
func (l *loop) allow(s stopped) {
	if bar := l.barredFrom(s); bar != nil {
		l.refuseConst(s, l.call.Row.Name, l.call.Event, bar)
		return
	}
	for i := range l.judged {
		if strings.HasPrefix(l.judged[i].resolved.Path, "/proc/") {
			s.task.readsProc = true
		}
	}
	l.allowed(s)
	l.recordAllowed(s)
	l.carryOut(s)
}

// trustsGlances tells whether an open of this task may be decided by resolve.Glance: it is
// sure to be run as openat2(2) on the canonical name and without links, which finds out a
// glance that was led away, and is then looked at in full. So not where a call runs on its
// own words, nor where we open ourselves by what we have pinned. Seals want to know more of
// the object than a glance tells.
func (l *loop) trustsGlances(s stopped) bool {
	if plain || l.listener.fd < 0 || !l.started || s.proc.filtered || s.again > 0 || s.barred || served.Load() != nil || l.cfg.Policy.Seals() != nil {
		return false
	}
	l.noteMounts()
	l.resolve.Avoid(nil)
	return true
}

// noteMounts has the resolver forget what it knows of names when mounts have changed.
func (l *loop) noteMounts() {
	if now := mountChanges.Load(); now != l.mountsSeen {
		l.mountsSeen = now
		l.resolve.Forget()
	}
}

// anyRefused tells whether some decision on the call is a refusal, enforced or not.
func (l *loop) anyRefused() bool {
	for i := range l.judged {
		if l.judged[i].decision.Refused() {
			return true
		}
	}
	return false
}

// settle decides every object of the call and gives the first that is refused, nil if the
// call may run.
func (l *loop) settle(s stopped) *judgement {
	for i := range l.judged {
		j := &l.judged[i]
		j.decision = l.decide(s, &j.request)
		if j.decision.Refused() && j.object.MayCreate && j.object.Directory && !j.object.TmpFile {
			j.decision.Errno = unix.EINVAL // whatever the name means (open(2), Linux 6.4)
		}
		if l.bars(j.decision) {
			return j
		}
	}
	return nil
}

// bars tells whether a decision keeps the act from being carried out: a refusal does, but
// for an audit, where only the guards do: they keep ptguard itself able to see. A seal is
// recorded like any other rule.
func (l *loop) bars(d rules.Decision) bool {
	return d.Refused() && (!l.cfg.Audit || d.Rule.Layer == rules.LayerGuard)
}

// hides tells whether a decision is to be answered as if nothing were there.
func (l *loop) hides(d rules.Decision) bool { return d.Verdict == rules.Hide && l.bars(d) }

// carryOut lets an allowed call run, in the way its row asks for.
func (l *loop) carryOut(s stopped) {
	switch l.call.Row.Special {
	case decode.Signal:
		l.deliver(s)
	case decode.Listing:
		l.list(s)
	case decode.NotSpecial, decode.Untrace, decode.Dumpable, decode.Changes, decode.Range, decode.Filters, decode.Forks, decode.Owns:
		if carry := l.carriers[l.call.Row]; carry != nil && l.started {
			carry(l, s)
			return
		}
		s.task.succeeded() // nobody will tell
		s.resume(0)
	}
}

// blind: errnos of the walk that say that we could not look, rather than that nothing is
// there. The tracee has at most our rights, so the kernel would answer it the same; but
// what we could not see is not passed on.
func blind(errno syscall.Errno) bool {
	switch errno {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG, unix.EBADF, unix.EXDEV, unix.EEXIST, unix.EISDIR, unix.EINVAL, unix.EBUSY, unix.ENOTEMPTY, unix.EADDRINUSE, unix.ECONNREFUSED, unix.ESRCH, unix.EIDRM:
		return false
	}
	return true
}

// forget closes what examine opened.
func (l *loop) forget() {
	for i := range l.judged {
		l.judged[i].resolved.Close()
	}
	l.judged = l.judged[:0]
}

// decide asks the policy, first with the facts at hand and, if it refuses, with those that
// are costly to find out and can only speak for the call.
func (l *loop) decide(s stopped, r *rules.Request) rules.Decision {
	l.granted(s, r)
	if s.task != nil && s.scope != nil {
		r.Scope = s.scope.name
	}
	p := l.policyOf(s.task)
	d := p.Decide(r)
	if d.Refused() && l.facts.complete(l, s, r) {
		d = p.Decide(r)
	}
	if credulous && d.Refused() && d.Rule.Layer != rules.LayerGuard {
		d.Verdict = rules.Allow
	}
	if l.cfg.Audit {
		return unasked(d) // nothing is refused, so nobody is asked
	}
	return d
}

// unasked is the refusal that a question is where nobody says yes.
func unasked(d rules.Decision) rules.Decision {
	if d.Verdict == rules.Ask {
		d.Verdict = rules.Deny
		if d.Errno == unix.ENOENT {
			d.Verdict = rules.Hide
		}
	}
	return d
}

// granted hands a request the answers that were given.
func (l *loop) granted(s stopped, r *rules.Request) {
	if l.asking.grants.Len() > 0 {
		r.Grants = &l.asking.grants
	}
	if s.task != nil && s.wait.once.Len() > 0 {
		r.Once = &s.task.wait.once
	}
}

// examine resolves every object of the call and builds the requests. bare is the errno of
// an act that fails on its names anyway.
func (l *loop) examine(s stopped) (bare syscall.Errno, err error) {
	l.forget() // of a look that found the call to be made anew
	if l.call.Row.Special == decode.Signal {
		if errno := l.signalErrno(s); errno != 0 {
			return errno, nil
		}
	}
	for i := range l.call.Objects {
		o := &l.call.Objects[i]
		l.judged = append(l.judged, judgement{object: o, request: rules.Request{Access: o.Access}})
		j := &l.judged[len(l.judged)-1]
		j.resolved.FD, j.resolved.Parent = -1, -1
		switch o.Kind {
		case decode.Path, decode.Entry:
			bare, err = l.examinePath(s, j)
		case decode.FD, decode.MapFD:
			bare, err = l.examineFD(s, j)
		case decode.Sockaddr:
			bare, err = l.examineAddr(s, j)
		case decode.PID, decode.ThreadID, decode.SignalPID, decode.PIDFD:
			bare, err = l.examineProcess(s, j)
		case decode.IPCKey, decode.IPCID:
			bare = l.examineIPC(j)
		case decode.GroupID, decode.UserID:
			bare, err = l.examineMany(s, j)
		case decode.SocketFD:
			err = l.examineListen(s, j)
		case decode.ListFD:
			bare, err = l.examineFD(s, j)
		case decode.MapRange:
			l.judged = l.judged[:len(l.judged)-1]
			err = l.examineRange(s, o)
		}
		if bare != 0 || err != nil {
			return bare, err
		}
	}
	if len(l.judged) == 2 {
		l.judged[0].request.To, l.judged[1].request.To = l.judged[1].resolved.Path, l.judged[0].resolved.Path
	}
	if len(l.judged) == 2 && l.judged[0].object.Act == decode.ActRenameSource {
		from, to := &l.judged[0], &l.judged[1]
		if from.resolved.Exists && from.resolved.Stat.Mode&unix.S_IFMT == unix.S_IFREG {
			to.request.NodeType = unix.S_IFREG // what takes the name
		}
		if !from.gone && !to.gone && !l.hidden(s, &from.resolved) {
			return renameErrno(&from.resolved, &to.resolved, to.resolved.Exists && !l.hidden(s, &to.resolved)), nil
		}
	}
	if len(l.judged) > 0 && l.judged[0].object.Access&decode.Exec != 0 && !l.judged[0].object.Probe {
		return l.examineChain(s)
	}
	return 0, nil
}

// examinePath resolves a name and gives the access it really needs.
func (l *loop) examinePath(s stopped, j *judgement) (syscall.Errno, error) {
	o, r := j.object, &j.resolved
	if hidden, err := l.walk(s, j, int(o.Dirfd), walkFlags(o)); err != nil || hidden {
		return 0, err
	}
	if via := l.closedToUs(r); via != rules.OwnerNone {
		j.request.Access, j.request.Act = o.Access, o.Act
		j.request.File = rules.File{Path: r.Path, Via: via}
		return 0, nil
	}
	if r.Errno != 0 {
		return r.Errno, nil
	}
	dir := r.Exists && r.Stat.Mode&unix.S_IFMT == unix.S_IFDIR
	if hidden := l.hidden(s, r); hidden && o.Kind == decode.Entry && r.Slash && onlyDirectory(o) {
		return unix.ENOENT, nil // as if it were not there: only a directory is made with a slash
	} else if bare := bareErrno(o, r, dir); bare != 0 && !hidden {
		return bare, nil
	}
	access := o.Access
	switch {
	case o.Probe:
		access = probed(access, dir)
	case o.TmpFile:
	case o.MayCreate && (!r.Exists || l.hidden(s, r)):
		access |= decode.Create
	case access == decode.Read && dir && o.Act == decode.ActOther && l.call.HasFlags:
		access = decode.List
	case o.Kind == decode.Entry && o.Act == decode.ActRenameTarget && r.Exists:
		access |= decode.Remove
	}
	j.request.Access, j.request.Act = access, o.Act
	if o.Act == decode.ActMknod && len(l.call.Row.Args) > 0 {
		j.request.NodeType = l.nodeType()
	}
	j.request.Program = access&decode.Exec != 0
	j.request.Argv = l.call.Argv
	j.request.First = !l.started
	l.file(r, &j.request.File)
	if o.EmptyPath && o.Path == "" && o.Dirfd != unix.AT_FDCWD {
		j.request.File.Held |= decode.Look // as fstat(2) would tell
	}
	if o.TmpFile {
		j.request.File.Path += "/#tmpfile" // the unnamed file of O_TMPFILE counts as made here
		j.request.File.Exists = false
	}
	return 0, nil
}

// walk resolves the path of an object. hidden: a rule hides a part of it, and the request
// asks for that.
func (l *loop) walk(s stopped, j *judgement, dirfd int, flags resolve.Flags) (hidden bool, err error) {
	if l.policy.Lists {
		flags |= resolve.Ways
	}
	t := resolve.Task{TGID: s.proc.pid, TID: s.tid}
	if o := j.object; l.mayGlance && o.Opens && !o.TmpFile && !o.Exclusive && l.resolve.Glance(&j.resolved, t, dirfd, o.Path, flags) {
		l.glanced = true
	} else if err := l.resolveFor(&j.resolved, t, dirfd, j.object.Path, flags); err != nil {
		return false, err
	}
	return l.policy.Lists && l.hiddenWay(s, j), nil
}

// hiddenWay tells whether the walk went through a hidden name, or failed at one: the answer
// is then that nothing is there, whatever came of it. The request is the look at that name.
func (l *loop) hiddenWay(s stopped, j *judgement) bool {
	r := &j.resolved
	ways := slices.Clone(r.Left)
	switch {
	case r.Errno == unix.ENOENT, r.Errno == unix.EISDIR:
	case r.Errno != 0:
		ways = append(append(ways, r.Hops...), r.Stop)
	case j.object.TmpFile, r.LastDot, strings.HasSuffix(j.object.Path, "/."):
		ways = append(ways, r.Path) // as a directory: the name itself cannot be made so
	case !r.Exists, j.object.Kind == decode.Entry, j.object.MayCreate, j.object.Exclusive, j.object.Access == decode.Bind:
		ways = append(ways, filepath.Dir(r.Path))
	}
	for _, way := range ways {
		if way == "" {
			continue
		}
		look := rules.Request{Access: decode.Look, Silent: true, File: rules.File{Path: way, Exists: true}}
		if l.hides(l.decide(s, &look)) {
			j.request, j.gone = look, true
			return true
		}
	}
	return false
}

// hidden tells whether an object is to be answered as if it were not there: then its being
// there must not show in an errno either.
func (l *loop) hidden(s stopped, r *resolve.Object) bool {
	if !l.policy.Lists || !r.Exists {
		return false
	}
	look := rules.Request{Access: decode.Look, Silent: true}
	l.file(r, &look.File)
	return l.hides(l.decide(s, &look))
}

// probed is what access(2) asks about: for a directory, writing is making and removing
// names in it, and executing is passing through.
func probed(access decode.Access, dir bool) decode.Access {
	if !dir {
		return access
	}
	out := access &^ (decode.Read | decode.Write | decode.Exec)
	if access&decode.Read != 0 {
		out |= decode.List
	}
	if access&decode.Write != 0 {
		out |= decode.Create | decode.Remove
	}
	return out
}

// bareErrno is the kernel's own refusal of an act by what is or is not there (POLICY 3,
// Answers).
func bareErrno(o *decode.Object, r *resolve.Object, dir bool) syscall.Errno {
	switch {
	case o.Kind == decode.Entry && r.LastDot:
		return dotErrno(o, r.Name)
	case o.Kind == decode.Entry && o.Act == decode.ActRenameTarget:
		if r.Exists && o.NoReplace {
			return unix.EEXIST
		}
		return 0
	case o.Kind == decode.Entry && r.Slash && r.Exists && !dir && o.Access&decode.Remove != 0:
		return unix.ENOTDIR
	case o.Kind == decode.Entry && r.Slash && !r.Exists && onlyDirectory(o):
		return unix.ENOENT
	case o.Kind == decode.Path && o.NoFollow && !o.PathOnly && !o.Exclusive && o.Act == decode.ActOther && o.Opens && r.Exists && r.Stat.Mode&unix.S_IFMT == unix.S_IFLNK:
		return unix.ELOOP // O_NOFOLLOW
	case o.Kind == decode.Entry && o.Access&decode.Create != 0 && o.Act != decode.ActExchange && r.Exists:
		return unix.EEXIST
	case o.Kind == decode.Entry && o.Access&decode.Remove != 0 && !r.Exists:
		return unix.ENOENT
	case o.Act == decode.ActRmdir && !dir:
		return unix.ENOTDIR
	case o.Act == decode.ActOther && o.Kind == decode.Entry && o.Access == decode.Remove && dir:
		return unix.EISDIR
	case o.Exclusive && r.Exists && !o.TmpFile:
		return unix.EEXIST
	case o.MayCreate && !r.Exists && r.Slash:
		return unix.EISDIR
	case o.Access&decode.Write != 0 && !o.Probe && o.Act == decode.ActOther && o.Kind == decode.Path && dir && !o.TmpFile:
		return unix.EISDIR
	}
	return 0
}

// renameErrno is the kernel's refusal of a rename by what its two names are (rename(2)).
// there: the target exists, for all that the task may know.
func renameErrno(from, to *resolve.Object, there bool) syscall.Errno {
	isDir := func(o *resolve.Object) bool { return o.Stat.Mode&unix.S_IFMT == unix.S_IFDIR }
	switch {
	case !isDir(from) && (from.Slash || to.Slash):
		return unix.ENOTDIR
	case isDir(from) && there && !isDir(to):
		return unix.ENOTDIR
	case !isDir(from) && there && isDir(to):
		return unix.EISDIR
	}
	return 0
}

// dotErrno is what the kernel says of a name that ends in ".", ".." or "/", where an entry
// is meant (fs/namei.c: filename_create, do_rmdir, do_unlinkat, do_renameat2).
func dotErrno(o *decode.Object, name string) syscall.Errno {
	switch o.Act {
	case decode.ActRmdir:
		switch name {
		case ".":
			return unix.EINVAL
		case "..":
			return unix.ENOTEMPTY
		}
		return unix.EBUSY
	case decode.ActRenameSource, decode.ActRenameTarget, decode.ActExchange:
		return unix.EBUSY
	case decode.ActOther:
		if o.Access&decode.Remove != 0 {
			return unix.EISDIR
		}
	}
	return unix.EEXIST
}

// onlyDirectory: the act makes a name, and not that of a directory, so a slash after it is wrong.
func onlyDirectory(o *decode.Object) bool {
	switch o.Act {
	case decode.ActMknod, decode.ActSymlink, decode.ActLinkTarget:
		return true
	}
	return false
}

// walkFlags says how the last component of an object is to be treated.
func walkFlags(o *decode.Object) resolve.Flags {
	var f resolve.Flags
	for _, flag := range [...]struct {
		on   bool
		flag resolve.Flags
	}{
		{o.NoFollow, resolve.NoFollow},
		{o.Kind == decode.Entry, resolve.Entry},
		{o.EmptyPath, resolve.EmptyPath},
		{o.MayCreate, resolve.MayCreate},
		{o.Directory, resolve.Directory},
		{o.Beneath, resolve.Beneath},
		{o.InRoot, resolve.InRoot},
		{o.NoLinks, resolve.NoSymlinks},
		{o.NoMagicLinks, resolve.NoMagicLinks},
		{o.NoXDev, resolve.NoXDev},
	} {
		if flag.on {
			f |= flag.flag
		}
	}
	return f
}

// examineFD finds the object of a descriptor through its magic link.
func (l *loop) examineFD(s stopped, j *judgement) (syscall.Errno, error) {
	o := j.object
	if o.Kind == decode.MapFD && o.Dirfd < 0 {
		return unix.EBADF, nil
	}
	r := &j.resolved
	if err := l.resolveFor(r, resolve.Task{TGID: s.proc.pid, TID: s.tid}, int(o.Dirfd), "", resolve.EmptyPath); err != nil {
		return 0, err
	}
	if r.Errno != 0 {
		return r.Errno, nil
	}
	l.file(r, &j.request.File)
	if r.Nameless && o.Kind == decode.FD {
		// A pipe, a socket, a deleted file: the tree holds it, no rule can name it.
		j.request.File.Held = decode.Attr
	}
	return 0, nil
}

// file turns a resolved object into what rules look at.
func (l *loop) file(r *resolve.Object, f *rules.File) {
	f.Path, f.Exists = r.Path, r.Exists
	if r.Exists {
		f.Inode = rules.Inode{Dev: r.Stat.Dev, Ino: r.Stat.Ino}
		f.Mode, f.Rdev = r.Stat.Mode, r.Stat.Rdev
	}
	f.Spellings = r.Hops
	l.sealFacts(r, f)
	f.Nameless = r.Nameless
	f.Memfd = r.NamelessKind == "memfd"
	f.Unreachable = r.NamelessKind == "unreachable"
	if r.ProcPID != 0 {
		f.Owner = l.owner(r.ProcPID)
	}
	if r.Magic == resolve.MagicFD && l.owner(r.MagicPID) == rules.OwnerTree {
		f.Held = heldAccess(r.HeldFlags)
	}
	f.Via = l.via(r.Hops)
	f.KernelFS = r.Exists && l.facts.kernelFS[r.Stat.Dev]
}

// via says whose magic link was followed on the way: the one that is least ours.
func (l *loop) via(hops []string) rules.Owner {
	worst := rules.OwnerNone
	for _, hop := range hops {
		rest, ok := strings.CutPrefix(hop, "/proc/")
		if !ok {
			continue
		}
		digits, _, _ := strings.Cut(rest, "/")
		if pid, err := strconv.Atoi(digits); err == nil {
			worst = max(worst, l.owner(pid)) // tree < outsider < guard
		}
	}
	return worst
}

// heldAccess is what a descriptor with these open flags already allows on its object.
func heldAccess(flags int) decode.Access {
	if flags&unix.O_PATH != 0 {
		return 0 // names the object and grants nothing (techniques C12)
	}
	const reads = decode.Look | decode.List | decode.Read | decode.Map
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		return reads
	case unix.O_WRONLY:
		return decode.Look | decode.Write
	case unix.O_RDWR:
		return reads | decode.Write
	}
	return 0
}

// nodeType is the S_IFMT part of mknod's mode argument.
func (l *loop) nodeType() uint32 {
	for i, arg := range l.call.Row.Args {
		if arg.Kind == decode.ModeType {
			return uint32(l.call.Args[i]) & unix.S_IFMT
		}
	}
	return 0
}
