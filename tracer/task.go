// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// task is one thread of the tree, from its first stop to its exit status.
type task struct {
	tid  int
	proc *process
	// scope is what it is in, nil for none.
	scope *scope
	// orphan is set while it is held because its parent has not been heard of.
	orphan *orphan
	// inStop: the task waits for us. Only dispatch sets it, only a resume clears it.
	inStop bool
	// waits says what a stop of ours waits for that is not resumed at once.
	waits string
	// stops counts its stops, so that what was begun in one is not ended in another; seen is that of the stop which the watchdog has found it in.
	stops, seen uint64
	// images are the files that the pending execve was decided on; the exec event compares.
	images []fileID
	// argv are the arguments that the pending execve was decided on, if rules look at them.
	argv []string
	// space is its address space; slot is its place in the space's window, -1 if it has
	// none, frames the calls that run from there, frameAt the next to be used.
	space   *space
	slot    int
	frames  *[frames]frame
	frameAt int
	// readyAtResume: the window was ready when the task was last resumed.
	readyAtResume bool
	setup         *setup        // under way
	leaving       *leaving      // a reissued call whose exit stop is awaited
	leavingRoom   leaving       // where that mostly lies
	atExit        func(stopped) // takes the exit stop of the call at hand
	walking       bool          // it is in a bind(2) that changes to names wait for
	changing      bool          // that is a change to names itself
	noted         bool          // what was decided on the call at hand is in the trace
	auditedExec   bool          // so is the refusal of its exec, which is not enforced
	noWindow      string        // why the call that comes next cannot have a window
	// again counts how often the call at hand has been decided anew; retrying: the next
	// seccomp stop is such a call; barred: the canonical way is barred to the task.
	again    int
	holds    bool // it stays in its exit stop until something has been found out
	repeats  bool // the call that has just returned is to be made again, after a pause
	retrying bool
	brief    *brief    // the socket of a connect on its way
	until    time.Time // when the patience of that socket ends, zero for never
	barred   bool
	forking  bool // it was let make a process, which is not there yet
	// wide: the call at hand is about affinities. narrowed: it was resumed with a narrow mask,
	// guessed: its mask is a guess (near.go).
	// readsProc: the call at hand leads into /proc, where the task may read its mask next.
	wide, narrowed, guessed, readsProc bool

	creds *credentials // nil until needed, and again when they may have changed
	// listening: in a group stop of job control (PTRACE_LISTEN). fresh: the seccomp stop at
	// hand has just come in, so it is another call, unless retrying or same say otherwise.
	listening   bool
	fresh, same bool
	wait        answers // questions about the call at hand
	unasked     string  // why the call at hand is refused although it is one to ask about
	// books is what is to be booked when the call at hand has succeeded, see allowed.
	books []booking
	// arrived is the copy of a descriptor that the call at hand is about.
	arrived *arrived
	// listing is the getdents call whose exit stop is awaited.
	listing *listing
}

// process is what the threads of one thread group share.
type process struct {
	pid     int
	threads int // tasks that are booked
	// undumpable: it asked for PR_SET_DUMPABLE 0 and was told so, without effect.
	undumpable bool
	// sharesFS: it was made with CLONE_FS, or made such a one: its current directory is not its own.
	sharesFS bool
	// sharesFiles: its descriptors may not be its own (CLONE_FILES without CLONE_THREAD).
	sharesFiles bool
	// filtered: it has a seccomp filter of its own.
	filtered bool
	// core is what it takes for its limit on core dumps, see carryCore.
	core unix.Rlimit
	// adopted: its parent's event has not been seen, so what it inherited is a guess.
	adopted bool
	// tookOn: it has taken on a filter or a domain itself, so that its parent's event says
	// nothing of these any more.
	tookOn bool
	// owner: it gets the signals of a descriptor (SIGIO), which whoever holds that can raise.
	owner bool
	// fenced: it put itself into a Landlock domain.
	fenced bool
}

type fileID struct{ dev, ino uint64 }

// stopped is a task in a stop of ours. It is handed on until exactly one of its resume
// methods is called; a running task has no such type, so it cannot be resumed twice.
type stopped struct {
	*task
	stop uint64 // which of its stops
}

// booking is something that is to be booked when a call has succeeded.
type booking struct {
	book     func(f *facts, b *booking)
	facts    *facts
	from, to string
	inode    uint64
}

// succeeded books what the call at hand has done.
func (t *task) succeeded() {
	books := t.books
	t.books = t.books[:0]
	book(books)
}

func book(books []booking) {
	for i := range books {
		books[i].book(books[i].facts, &books[i])
	}
}

// waits tells whether a task whose stop was kept for later is still in it. It may have been
// killed, or be in another stop: a sibling that executes a program takes over the leader's id.
func (l *loop) waits(s stopped) bool {
	return l.tasks[s.tid] == s.task && s.inStop && s.stop == s.stops
}

// resume lets the task run on, with signal sig delivered if it is not 0.
func (s stopped) resume(sig unix.Signal) {
	if s.awaitsExit() {
		s.request(unix.PTRACE_SYSCALL, uintptr(sig))
		return
	}
	s.request(unix.PTRACE_CONT, uintptr(sig))
}

// awaitsExit: the task is in a call whose end we have to see, whatever stops come between.
func (t *task) awaitsExit() bool {
	return t.leaving != nil || t.listing != nil || t.atExit != nil || t.setup != nil && !t.setup.ran
}

// listen leaves the task in its group stop but lets it hear SIGCONT (PTRACE_LISTEN).
func (s stopped) listen() {
	s.task.listening = true
	s.request(unix.PTRACE_LISTEN, 0)
}

// refuse makes the kernel skip the call and return -errno, and resumes.
func (s stopped) refuse(errno unix.Errno) { s.answer(-int64(errno)) }

// answer makes the kernel skip the call and return result, and resumes.
func (s stopped) answer(result int64) {
	if err := skipCall(s.tid, result); err != nil {
		s.lost(err, "skip call")
		return
	}
	s.request(unix.PTRACE_CONT, 0)
}

func (s stopped) request(request int, data uintptr) {
	if !s.inStop {
		panic(fmt.Sprintf("bug: tid %d resumed twice", s.tid))
	}
	s.inStop, s.task.waits = false, ""
	if len(finding) > 0 {
		forgetFindings(s.tid)
	}
	s.task.dropArrived()
	if s.setup == nil {
		s.task.noted = false
	}
	s.readyAtResume = s.space != nil && s.space.state == spaceReady
	if err := near.resume(s, request, data); err != nil {
		s.lost(err, "resume")
	}
}

// lost is the one place for a request that failed. ESRCH means that the task was killed
// meanwhile: its exit status comes by wait, there is nothing to resume. Anything else
// would leave a call undecided, so the task dies.
func (s stopped) lost(err error, what string) {
	s.inStop = false
	if errors.Is(err, unix.ESRCH) {
		return
	}
	_ = unix.Kill(s.proc.pid, unix.SIGKILL)
	panic(fmt.Sprintf("%s tid %d: %v", what, s.tid, err))
}

// kill ends the whole process; the tasks' exit statuses come by wait.
func (s stopped) kill() {
	s.inStop = false
	_ = unix.Kill(s.proc.pid, unix.SIGKILL)
}

// procPath is /proc/TID/name.
func procPath(tid int, name string) string { return "/proc/" + strconv.Itoa(tid) + "/" + name }
