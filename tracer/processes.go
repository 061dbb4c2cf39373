// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/readfile"
	"ptguard/rules"
)

// Calls on other processes: those of the tree may be reached, no others. A signal to a
// group, or to every process, reaches the members that are ours; Landlock's scope makes
// the kernel do that, and where it is missing we deliver ourselves.

// examineProcess finds out whose process an argument means.
func (l *loop) examineProcess(s stopped, j *judgement) (syscall.Errno, error) {
	o, f := j.object, &j.request.File
	pid := int(o.PID)
	f.Exists = true
	if o.Kind == decode.PIDFD {
		var errno syscall.Errno
		if pid, errno = pidOfPidfd(s.tid, pid); errno != 0 {
			return errno, nil
		}
		j.pid = pid
		const processGroup = 4 // PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9
		if l.call.Row.Name == "pidfd_send_signal" && uint32(l.call.Args[3])&processGroup != 0 && !l.tier.Scoped {
			return l.examineGroupOf(s, pid, f)
		}
	}
	f.Path = "pid " + strconv.Itoa(pid)
	if o.Kind == decode.SignalPID && pid <= 0 {
		return l.examineGroup(s, pid, f)
	}
	if pid <= 0 {
		if o.Kind == decode.PID && l.call.Row.Special == decode.NotSpecial && !strings.HasPrefix(l.call.Event, "fcntl.") {
			// In a register, so it stays a number that no process has; EINVAL or ESRCH is the kernel's to say.
			l.judged = l.judged[:len(l.judged)-1]
			return 0, nil
		}
		return unix.EINVAL, nil
	}
	if f.Owner = l.owner(pid); f.Owner == rules.OwnerOutsider && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return unix.ESRCH, nil
	}
	return l.signalAt(f), nil
}

// examineGroupOf is for a signal to the group whose number a process has, without Landlock to
// keep it inside: every member has to be ours.
func (l *loop) examineGroupOf(s stopped, group int, f *rules.File) (syscall.Errno, error) {
	f.Path = "process group " + strconv.Itoa(group)
	ours, others, err := l.members(s, -group)
	if f.Owner = rules.OwnerTree; others > 0 {
		f.Owner = rules.OwnerOutsider
	} else if ours == 0 {
		return unix.ESRCH, err
	}
	return 0, err
}

// examineGroup says whether a group (0 the own one, -N another, -1 everybody) is ours to
// reach: some member, for a signal that stays inside; else every member.
func (l *loop) examineGroup(s stopped, pid int, f *rules.File) (syscall.Errno, error) {
	f.Path = "process group " + strconv.Itoa(-pid)
	if pid == -1 {
		f.Path = "every process"
	}
	ours, others, err := l.members(s, pid)
	if err != nil {
		return 0, err
	}
	switch {
	case ours == 0 && others == 0:
		return unix.ESRCH, nil
	case others == 0, ours > 0 && l.staysInside():
		f.Owner = rules.OwnerTree
	default:
		f.Owner = rules.OwnerOutsider
	}
	return l.signalAt(f), nil
}

// signalAt: of a signal to somebody who is there the number is looked at before the right.
func (l *loop) signalAt(f *rules.File) syscall.Errno {
	if l.call.Row.Special == decode.Signal && f.Owner != rules.OwnerTree && !validSignal(l.signalNumber()) {
		return unix.EINVAL
	}
	return 0
}

// staysInside tells whether the call at hand reaches the tree's members of a group alone.
func (l *loop) staysInside() bool {
	return l.call.Row.Special == decode.Signal || l.tier.Scoped && strings.HasPrefix(l.call.Event, "fcntl.")
}

// members counts the processes of a group, of the tree and others.
func (l *loop) members(s stopped, pid int) (ours, others int, err error) {
	group := -pid
	if pid == 0 {
		if group, err = unix.Getpgid(s.proc.pid); err != nil {
			return 0, 0, fmt.Errorf("find the process group of pid %d: %w", s.proc.pid, err)
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if pid != -1 {
			if g, err := unix.Getpgid(n); err != nil || g != group {
				continue
			}
		}
		if l.owner(n) == rules.OwnerTree {
			ours++
		} else {
			others++
		}
	}
	return ours, others, nil
}

// signalNumber is the signal of the call at hand, the argument after the ids.
func (l *loop) signalNumber() unix.Signal {
	for i, arg := range l.call.Row.Args {
		if arg.Kind == decode.Word {
			return unix.Signal(int32(l.call.Args[i]))
		}
	}
	return -1
}

// deliver carries out a signal that is allowed. To one process, or with Landlock's scope,
// the kernel does it; else a group is served member by member.
func (l *loop) deliver(s stopped) {
	o := l.judged[0].object
	if o.Kind == decode.PIDFD && !l.tier.Scoped {
		l.signalByNumber(s, l.judged[0].pid)
		return
	}
	if o.Kind != decode.SignalPID || o.PID > 0 || l.tier.Scoped && !l.shields(s) {
		s.resume(0)
		return
	}
	group := -int(o.PID)
	if o.PID == 0 {
		group, _ = unix.Getpgid(s.proc.pid)
	}
	sig, seen := l.signalNumber(), map[int]bool{}
	result, reached := error(unix.ESRCH), false
	for _, t := range l.tasks {
		pid := t.proc.pid
		if g, err := unix.Getpgid(pid); seen[pid] || !l.reaches(s.task, pid) || o.PID == -1 && pid == s.proc.pid || o.PID != -1 && (err != nil || g != group) {
			continue
		}
		seen[pid] = true
		if err := unix.Kill(pid, sig); err == nil {
			reached = true
		} else {
			result = err
		}
	}
	if reached {
		s.answer(0)
		return
	}
	s.refuse(errnoOf(result))
}

// signalByNumber makes a pidfd_send_signal(2) a kill(2) or its kin of the process that was
// decided on: a sibling can put another pidfd behind the number, and there is no Landlock that
// would keep the signal inside.
func (l *loop) signalByNumber(s stopped, pid int) {
	if !l.inWindow(s) {
		return
	}
	sig, info, flags := l.call.Args[1], l.call.Args[2], uint32(l.call.Args[3])
	const thread, group = 1, 4 // PIDFD_SIGNAL_THREAD, PIDFD_SIGNAL_PROCESS_GROUP, Linux 6.9
	c := call{unix.SYS_KILL, [6]uint64{uint64(pid), sig}}
	switch {
	case flags&group != 0:
		pgid, err := unix.Getpgid(pid)
		if err != nil || info != 0 {
			s.refuse(unix.EINVAL)
			return
		}
		c.args[0] = uint64(-pgid)
	case flags&thread != 0 && info != 0:
		c = call{unix.SYS_RT_TGSIGQUEUEINFO, [6]uint64{uint64(threadGroup(pid)), uint64(pid), sig, info}}
	case flags&thread != 0:
		c = call{unix.SYS_TGKILL, [6]uint64{uint64(threadGroup(pid)), uint64(pid), sig}}
	case info != 0:
		c = call{unix.SYS_RT_SIGQUEUEINFO, [6]uint64{uint64(pid), sig, info}}
	}
	l.reissue(s, false, func(*window, int) call { return c })
}

// carryGetFD takes the descriptor of the process that was decided on and plants it, for the
// same reason.
func (l *loop) carryGetFD(s stopped) {
	if l.tier.Scoped || len(l.judged) == 0 || l.listener.fd < 0 {
		s.resume(0)
		return
	}
	if !l.sameRights(s) {
		s.refuse(unix.EPERM)
		return
	}
	fd, err := copyFD(l.judged[0].pid, int(int32(l.call.Args[1])))
	if err != nil || uint32(l.call.Args[2]) != 0 {
		if err == nil {
			unix.Close(fd)
			err = unix.EINVAL
		}
		s.refuse(errnoOf(err))
		return
	}
	l.plantResult(s, fd, unix.O_CLOEXEC)
}

// pidOfPidfd reads the process behind a descriptor of pidfd_open(2) from its fdinfo.
func pidOfPidfd(tid, fd int) (int, syscall.Errno) {
	const selfThread, selfGroup = -10000, -10001 // PIDFD_SELF_* of linux/fcntl.h, Linux 6.14
	if fd == selfThread || fd == selfGroup {
		return tid, 0
	}
	text, err := readfile.All(procPath(tid, "fdinfo/"+strconv.Itoa(fd)))
	if err != nil {
		return 0, unix.EBADF
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Pid:"); ok {
			pid, err := strconv.Atoi(strings.TrimSpace(rest))
			switch {
			case err != nil:
				return 0, unix.EINVAL
			case pid <= 0: // the process has ended, or is in another pid name space
				return 0, unix.ESRCH
			}
			return pid, 0
		}
	}
	// A directory /proc/PID, of whatever proc file system, does for pidfd_send_signal(2).
	link, _ := os.Readlink(procPath(tid, "fd/"+strconv.Itoa(fd)))
	if pid, err := strconv.Atoi(path.Base(link)); err == nil && pid > 0 {
		return pid, 0
	}
	return 0, unix.EBADF
}
