// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/landlock"
	"ptguard/internal/resolve"
	"ptguard/rules"
)

// loop is the one flow: wait for a stop, say what it is, have it judged or booked, resume.
// All of it runs on the tracer thread; the only way in from other goroutines is post.
type loop struct {
	cfg     *Config
	cmd     int // pid of the program
	tasks   map[int]*task
	classes [512]decode.Class // by number; every number of both architectures is below 512
	policy  decode.Policy
	facts   facts
	call    decode.Call
	number  uint64 // of the call at hand
	quick
	tier     Tier
	judged   []judgement // of the call at hand, reused
	resolve  *resolve.Resolver
	listener *listener
	// walks counts binds on their way, heldChanges are the changes to names that wait for them.
	walks       int
	changes     int // walks that change names themselves, which binds and looks wait for
	heldChanges []stopped
	scopes      map[scopeKey]*scope
	// ownerGroups are the process groups that get the signals of a descriptor.
	ownerGroups map[int]bool
	actor       *task           // whose call or exec is at hand
	cleanPath   *string         // see safePath
	sealsMove   bool            // a sealed object may get another name in this run
	briefs      map[uint64]bool // sockets whose patience is cut short, by inode
	connecting  int             // connects that we make and that wait for their servers
	acts        int             // changes to names under way on another thread, all on served file systems
	failed      error           // why the run ends although nothing ran
	stage       *stage
	trial       func() string // tryLayers, or what it gave
	begun       bool          // begin has run
	carriers    map[*decode.Row]func(*loop, stopped)
	own         *credentials
	// rightsDiffer: some task may have other rights than ptguard, because a call has changed them
	// or set what an exec makes of them, or set-uid programs work.
	rightsDiffer bool
	rightsKept   bool             // see findCredentials
	inside       *landlock.Domain // the backstop's, for what we do for the tree; nil if there is none
	cover        *rules.Cover     // where an act that it stops may be made again outside
	core         unix.Rlimit      // the limit on core dumps that ptguard was started with
	limits       rules.Limits
	endedCPU     atomic.Int64          // nanoseconds that processes used which have ended, if cpu time is limited
	over         *Limit                // the limit that ended the tree
	noExecTold   bool                  // tellNoExec has
	ipc          map[ipcObject]madeIPC // the tree's own, in mode strict

	turns    turns
	children bool   // there are children that are not of the tree
	fences   bool   // some process has put itself into a Landlock domain
	started  bool   // the program's own exec has happened
	filters  string // how many seccomp filters the program starts with (proc_pid_status(5))
	ended    bool   // the program has exited
	status   unix.WaitStatus
	stats    Stats

	dying  atomic.Bool // the tree is being killed: nothing resumes any more
	tracer int         // our thread's id, for the bell
	// busy is another number for each event that is handled, 0 in between; busyWith is its task.
	busy     atomic.Uint64
	busyWith atomic.Int64
	looking  atomic.Bool // the watchdog's look has been posted

	asking asking
	frost  frost
	// orphans wait for the event of their parent; held is how many, watched that they are about to
	// be looked at.
	orphans []*task
	held    atomic.Int32
	watched atomic.Bool

	wakerMem []byte // mapped, for a waker; nil until there was one

	affinity []uint32 // the numbers of sched_setaffinity and sched_getaffinity

	mu      sync.Mutex
	posted  []posted
	ringing bool
}

// posted is work from another goroutine; urgent is done while the tree is frozen, too.
type posted struct {
	f      func()
	urgent bool
}

// run handles events until no child is left.
func (l *loop) run() {
	busy := uint64(0)
	for {
		l.runPosted()
		if l.children && l.ended && len(l.tasks) == 0 {
			return
		}
		e, err := l.next()
		switch {
		case err == nil:
			l.busyWith.Store(int64(e.tid))
			busy++
			l.busy.Store(busy)
			near.heard(e.tid, l.tasks[e.tid], !e.status.Stopped())
			l.dispatch(e.tid, e.status)
			l.busy.Store(0)
		case errors.Is(err, unix.EINTR): // the bell
		case errors.Is(err, unix.ECHILD):
			return
		default:
			panic(fmt.Sprintf("wait4: %v", err))
		}
	}
}

// dispatch classifies one wait status (ptrace(2), "Stopped states"): an exit, or a stop
// that is resumed exactly once, here or later.
func (l *loop) dispatch(tid int, status unix.WaitStatus) {
	if counting {
		t := l.tasks[tid]
		countStop(status, t != nil && t.setup != nil)
	}
	if status.Exited() || status.Signaled() {
		l.exited(tid, status)
		return
	}
	if !status.Stopped() {
		return
	}
	t := l.tasks[tid]
	if t == nil {
		t = l.adopt(tid)
		if (t.space.adopted || l.cfg.Scopes != nil) && !l.dying.Load() {
			l.holdOrphan(t, status)
			return
		}
	}
	if l.frost.on && !l.dying.Load() {
		l.keepStop(tid, status)
		return
	}
	t.inStop, t.forking, t.listening, t.waits = true, false, false, ""
	t.stops++
	s := stopped{t, t.stops}
	if l.dying.Load() {
		s.kill()
		return
	}
	event, sig := int(status)>>16, status.StopSignal()
	switch {
	case t.setup != nil && (event == unix.PTRACE_EVENT_SECCOMP || sig == unix.SIGTRAP|0x80):
		l.stats.Stops++
		l.setupStop(s, event == unix.PTRACE_EVENT_SECCOMP)
	case event == unix.PTRACE_EVENT_SECCOMP:
		l.stats.Stops++
		if l.begin(); l.failed != nil {
			s.kill()
			return
		}
		s.task.fresh = true
		l.seccompStop(s)
	case event == unix.PTRACE_EVENT_FORK, event == unix.PTRACE_EVENT_VFORK, event == unix.PTRACE_EVENT_CLONE:
		l.born(s)
	case event == unix.PTRACE_EVENT_EXEC:
		l.execed(s)
	case event == unix.PTRACE_EVENT_STOP && isStopSignal(sig):
		// A group stop: the task stays stopped as its user wants, and hears SIGCONT.
		s.listen()
		if l.speaksForProgram(s.task) {
			l.stopWithProgram(s.tid, sig)
		}
	case sig == unix.SIGTRAP|0x80 && t.listing != nil:
		l.listed(s)
	case sig == unix.SIGTRAP|0x80 && t.atExit != nil:
		atExit := t.atExit
		t.atExit = nil
		atExit(s)
	case sig == unix.SIGTRAP|0x80 && t.leaving != nil:
		l.left(s)
	case event != 0, sig == unix.SIGTRAP|0x80:
		s.resume(0) // first stop of a new task, end of a group stop, a syscall stop nobody asked for
	default:
		if !outOfStub(s) {
			return
		}
		s.resume(sig) // a signal on its way; the same number keeps its siginfo
	}
}

// isStopSignal: the signals of a group stop (ptrace(2)).
func isStopSignal(sig unix.Signal) bool {
	return sig == unix.SIGSTOP || sig == unix.SIGTSTP || sig == unix.SIGTTIN || sig == unix.SIGTTOU
}

// adopt books a task at its first stop, which may come before its parent's event
// (techniques A20). What only the parent's event could tell is taken to be the stricter.
func (l *loop) adopt(tid int) *task {
	t := &task{tid: tid, slot: -1}
	pid := l.groupOf(tid)
	if leader := l.tasks[pid]; pid != tid && leader != nil {
		t.proc = leader.proc
		if sp := leader.space; sp != nil { // threads have one memory (clone(2), CLONE_THREAD)
			sp.strangers = true
			t.enter(sp)
		}
	} else {
		t.proc = &process{pid: pid, core: l.core, adopted: true, sharesFiles: true, fenced: l.fences, filtered: l.ownFilters(tid)}
	}
	if t.space == nil {
		t.enter(&space{crowded: true, strangers: true, adopted: true})
	}
	l.book(t)
	near.adopt(t)
	return t
}

// groupOf is threadGroup of a new task, which must not be taken for a process of its own: an exec
// of the real one ends it without a word, and its number would stay booked for whoever has it
// next. Where no file can be read, the kernel is asked of each process (tgkill(2)).
func (l *loop) groupOf(tid int) int {
	pid := threadGroup(tid)
	if pid != tid || isThread(tid, tid) {
		return pid
	}
	for _, t := range l.tasks {
		if isThread(t.proc.pid, tid) {
			return t.proc.pid
		}
	}
	return tid
}

func (l *loop) book(t *task) {
	l.tasks[t.tid] = t
	t.proc.threads++
}

func (l *loop) unbook(tid int) {
	if t := l.tasks[tid]; t != nil {
		t.proc.threads--
		delete(l.tasks, tid)
	}
}

// born books the child that a fork, vfork or clone event announces.
func (l *loop) born(s stopped) {
	tid, err := eventMessage(s.tid)
	if err == nil {
		near.inherit(s.task, tid, l.tasks[tid])
	}
	if t := l.tasks[tid]; err == nil && t != nil {
		if flags, err := cloneFlags(s.tid); err == nil {
			l.adopted(s, t, flags)
		}
		if t.orphan != nil {
			defer l.takeIn(t, s.scope)
		}
	}
	if err == nil && l.tasks[tid] == nil {
		t := &task{tid: tid, slot: -1, scope: s.scope, proc: &process{pid: tid, core: s.proc.core, undumpable: s.proc.undumpable, fenced: s.proc.fenced, filtered: s.proc.filtered}}
		flags, err := cloneFlags(s.tid)
		switch {
		case err != nil: // killed meanwhile
			s.space.strangers = true
			t.enter(&space{crowded: true, strangers: true})
		case flags&unix.CLONE_THREAD != 0:
			t.proc = s.proc
			fallthrough
		default:
			t.enter(s.childSpace(flags))
			if flags&unix.CLONE_FS != 0 && flags&unix.CLONE_THREAD == 0 {
				t.proc.sharesFS, s.proc.sharesFS = true, true
			}
			if flags&unix.CLONE_FILES != 0 && flags&unix.CLONE_THREAD == 0 {
				t.proc.sharesFiles, s.proc.sharesFiles = true, true
			}
		}
		l.book(t)
	} else if err == nil && l.tasks[tid].proc != s.proc {
		l.tasks[tid].proc.core = s.proc.core
	}
	s.resume(0)
}

// execed books an exec and looks at what is really there now: nothing of the new image
// has run. After an exec by another thread than the leader the event comes under the
// leader's id, and the old id never ends (techniques K19).
func (l *loop) execed(s stopped) {
	if s.tid == l.cmd && !l.started {
		l.closeMemory()
	}
	images, argv := s.images, s.argv
	if old, err := eventMessage(s.tid); err == nil && old != s.tid {
		if t := l.tasks[old]; t != nil {
			images, argv = t.images, t.argv
			l.withdraw(s.task) // the leader, which is gone
			s.task.wait.once = t.wait.once
			s.task.scope = t.scope // of the thread that executed
			// What was noted of a call of the leader's is no word about this exec, nor about
			// the first call of the new image.
			s.task.noted, s.task.auditedExec = t.noted, t.auditedExec
			s.task.retrying, s.task.same = false, false
			l.leave(t)
			l.unbook(old)
		}
	}
	if s.proc.threads > 1 { // siblings may vanish without a word
		for tid, t := range l.tasks {
			if t.proc == s.proc && tid != s.tid {
				l.leave(t)
				l.unbook(tid)
			}
		}
	}
	l.noEventFrom(s.tid)
	once := s.wait.once // the answer was about this exec
	l.leave(s.task)
	s.enter(&space{})
	s.task.wait.once = once
	s.task.setup, s.task.leaving, s.task.listing, s.task.creds, s.task.atExit = nil, nil, nil, nil, nil
	s.task.frameAt, s.task.again, s.task.barred, s.task.noWindow = 0, 0, false, ""
	// What was on its way of a leader that another thread's exec has replaced is over.
	s.task.holds, s.task.repeats, s.task.retrying, s.task.same, s.task.until = false, false, false, false, time.Time{}
	l.listener.take(s.tid)
	s.images, s.argv = nil, nil
	s.proc.undumpable = false
	l.actor = s.task
	l.judgeImage(s, images, argv)
	if s.tid == l.cmd {
		if !l.started { // later it may have more; without a number every task is taken to have some
			l.filters = statusField(s.tid, "Seccomp_filters")
		}
		l.started = true
	}
}

// exited books the end of a task.
func (l *loop) exited(tid int, status unix.WaitStatus) {
	if t := l.tasks[tid]; t != nil {
		if t.proc.pid == tid {
			l.facts.ended(tid)
		}
		if t.space != nil && status.Signaled() {
			t.space.strangers = true // it may have been in a fork
		}
		if t.orphan != nil {
			l.forgetOrphan(t)
		}
		l.leave(t)
		l.listener.take(tid)
		forgetFindings(tid)
	}
	l.unbook(tid)
	l.dropStop(tid)
	l.noEventFrom(tid)
	if tid != l.cmd {
		return
	}
	l.ended, l.status = true, status
	if l.cfg.WaitLeader {
		l.killTree()
		return
	}
	l.noteRemaining()
}

// killTree ends every task. What is born meanwhile is killed at its first stop.
func (l *loop) killTree() {
	l.dying.Store(true)
	for _, t := range l.tasks {
		_ = unix.Kill(t.proc.pid, unix.SIGKILL)
	}
}

// post runs f on the tracer thread soon. It may be called from any goroutine.
// While the tree is frozen it waits: f may resume a task.
func (l *loop) post(f func()) { l.postAs(posted{f: f}) }

// postNow is post for what must not wait for a thaw, and does not resume a task.
func (l *loop) postNow(f func()) { l.postAs(posted{f: f, urgent: true}) }

func (l *loop) postAs(p posted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posted = append(l.posted, p)
	if !l.ringing {
		l.ringing = true
		go l.ring()
	}
}

func (l *loop) runPosted() {
	l.mu.Lock()
	posted := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, p := range posted {
		if p.urgent {
			p.f()
			continue
		}
		l.later(p.f)
	}
}
