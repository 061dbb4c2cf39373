// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Job control. The shell that started us sees a stopped job only if we are stopped, so when the
// program enters a group stop (ptrace(2)), we enter one by the same signal: that is the status
// the shell shows. Nobody but a sender of SIGCONT wakes us, and fg, bg and whoever stops and
// continues a process group send one to the whole group, once. If that one came between the
// program's stop and ours, it would have woken the program and been nothing to us, and then we
// would stop alone, with the program waiting for us.

// speaksForProgram tells whether the group stop of a thread is the program's: its first thread's
// or, if that one has ended, any other's.
func (l *loop) speaksForProgram(t *task) bool {
	return t.tid == l.cmd || t.proc.pid == l.cmd && strings.HasPrefix(statusField(l.cmd, "State"), "Z")
}

// stopWithProgram follows the program, whose thread tid is in a group stop by sig, so that
// the shell that started us sees a stopped job, and wakes it when we are woken alone
// (kill -CONT of our pid).
//
// Precondition: tracer thread, and the thread LISTENs.
func (l *loop) stopWithProgram(tid int, sig unix.Signal) {
	if os.Getpid() == 1 {
		return // of its own name space's processes, init(1) gets no signal that it does not catch
	}
	hadTerminal := l.programHasTerminal()
	for again := true; again; {
		w := l.startWaker(tid)
		if sig == unix.SIGSTOP || l.mayBeOrphaned() || !stopBy(sig, tid) {
			// It can be neither blocked nor ignored, so the look comes right before it, and what
			// happens in between is for the waker.
			if groupStopped(tid) {
				// To this thread: it is to stop here, before another one has taken the signal.
				_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
			}
		}
		again = w.end() && groupStopped(tid) // it woke us for nothing
	}
	if hadTerminal {
		l.returnTerminal()
	}
	// Here somebody has sent us SIGCONT. fg and bg send it to the whole group, so the
	// program may have its own on the way: a second one would be seen by its handler.
	for range 20 {
		if !groupStopped(tid) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	_ = unix.Kill(l.cmd, unix.SIGCONT)
}

// programHasTerminal tells whether the terminal's foreground is a process group that the
// program has made for itself, as an interactive shell does. Who stops and continues us as a job
// does not know of that group.
func (l *loop) programHasTerminal() bool {
	group, err := unix.Getpgid(l.cmd)
	if err != nil || group == unix.Getpgrp() {
		return false
	}
	tty, err := openTerminal()
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	has, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && has == group
}

// returnTerminal gives the terminal to the program's process group if it has been given to ours.
func (l *loop) returnTerminal() {
	group, err := unix.Getpgid(l.cmd)
	if err != nil {
		return
	}
	tty, err := openTerminal()
	if err != nil {
		return
	}
	defer unix.Close(tty)
	if has, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP); err == nil && has == unix.Getpgrp() {
		_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, group)
	}
}

func openTerminal() (fd int, err error) {
	return unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
}

// stopBy stops us by one of the terminal's stop signals if the thread is still in its group
// stop. false: it could not be tried.
//
// The signal is made pending first, the look is second, and the stop is last: a SIGCONT to us
// that comes before the signal is pending has reached the program, too, and the look sees it; one
// that comes later discards the pending signal or ends the stop (signal(7), "Standard signals").
// The kernel serves a process group from its newest member to its oldest, so the program, our
// child, has its SIGCONT before we have ours.
func stopBy(sig unix.Signal, tid int) bool {
	bit := uint64(1) << (sig - 1)
	mask, err := getSigmask()
	if err != nil || setSigmask(mask|bit) != nil {
		return false
	}
	// As long as it is not ignored, another thread of ours would be stopped by one that the whole
	// group gets. The program gets it as well, and so will we both get SIGCONT.
	err = setSigaction(int(sig), &sigaction{})
	if err == nil {
		if err = unix.Tgkill(os.Getpid(), unix.Gettid(), sig); err == nil && groupStopped(tid) {
			_ = setSigmask(mask &^ bit) // stops here
		}
		_ = setSigaction(int(sig), &sigaction{handler: 1}) // discards one that is pending
	}
	_ = setSigmask(mask)
	return err == nil
}

// mayBeOrphaned: our process group may be an orphaned one, in which the terminal's stop signals
// stop nobody (setpgid(2), "orphaned process group"). It is one unless a member has its parent
// in another group of the same session; we look at ourselves and those who started us only.
func (l *loop) mayBeOrphaned() bool {
	group := unix.Getpgrp()
	if of, err := unix.Getpgid(l.cmd); err == nil && of == group {
		return false // or it would not have stopped the program
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return true
	}
	for pid := os.Getppid(); pid > 0; {
		of, err := unix.Getpgid(pid)
		if err != nil {
			return true
		}
		if of != group {
			in, err := unix.Getsid(pid)
			return err != nil || in != session
		}
		if pid, err = strconv.Atoi(statusField(pid, "PPid")); err != nil {
			return true
		}
	}
	return true
}

// groupStopped tells whether a task that LISTENs in its group stop has not been sent SIGCONT
// since it stopped. SIGCONT makes it run at once, until it is in its next stop, whose event
// waits for us; a peek (WNOWAIT) leaves that in place for the loop. The state has to be read
// first: seen stopped, it is in the old stop, or in the next one and the event is there.
//
// Precondition: tracer thread.
func groupStopped(tid int) bool {
	if !strings.HasPrefix(statusField(tid, "State"), "t") {
		return false
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, tid, &info, unix.WNOHANG|unix.WNOWAIT|unix.WEXITED|unix.WSTOPPED|unix.WALL, nil)
	return err == nil && info.Signo == 0
}
