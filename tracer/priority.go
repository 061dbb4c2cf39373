// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/rules"
)

// setpriority(2) and ioprio_set(2) on a process group or on the processes of a user reach,
// like a signal, the members inside the tree alone. The kernel knows no such bound, so we
// tell each member.

// tuned is the process group or user that a call of this kind names.
type tuned struct {
	user bool
	id   int
}

// tunedBy gives it, with 0 replaced by the caller's own.
func tunedBy(s stopped, o *decode.Object) tuned {
	t := tuned{o.Kind == decode.UserID, int(o.PID)}
	switch {
	case t.id != 0:
	case t.user:
		t.id = uidsOf(s.tid)[0]
	default:
		t.id, _ = unix.Getpgid(s.proc.pid)
	}
	return t
}

// has tells whether a process or thread is one of them.
func (t tuned) has(pid int) bool {
	if t.user {
		uid := uidsOf(pid)[0]
		return uid == t.id && uid != unseenUID
	}
	group, err := unix.Getpgid(pid)
	return err == nil && group == t.id
}

// unseenUID is no uid (setreuid(2)): of a task that is gone, or whose uids cannot be read. It is not to be
// taken for that of another.
const unseenUID = -1

// uidsOf gives the real and the effective uid of a task.
func uidsOf(tid int) [2]int {
	fields := strings.Fields(statusField(tid, "Uid"))
	if len(fields) < 2 {
		return [2]int{unseenUID, unseenUID}
	}
	var out [2]int
	for i := range out {
		n, err := strconv.ParseUint(fields[i], 10, 32)
		if err != nil {
			return [2]int{unseenUID, unseenUID}
		}
		out[i] = int(int32(n)) // as in the register of setpriority(2)
	}
	return out
}

// examineMany says whether a group or user has members that are ours.
func (l *loop) examineMany(s stopped, j *judgement) (syscall.Errno, error) {
	t, f := tunedBy(s, j.object), &j.request.File
	f.Exists, f.Path = true, "process group "+strconv.Itoa(t.id)
	if t.user {
		f.Path = "processes of user " + strconv.Itoa(t.id)
	}
	for _, task := range l.tasks {
		if t.has(task.tid) {
			f.Owner = rules.OwnerTree
			return 0, nil
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && t.has(pid) {
			f.Owner = rules.OwnerOutsider
			return 0, nil
		}
	}
	return unix.ESRCH, nil
}

// carryPriority lets a call on one process run, whose number is in a register, and carries
// out one on many.
func (l *loop) carryPriority(s stopped) {
	if len(l.judged) == 0 || l.judged[0].object.Kind == decode.PID {
		s.resume(0)
		return
	}
	c, err := l.credentialsOf(s)
	if err != nil {
		l.unresolvable(s, err)
		return
	}
	t, value := tunedBy(s, l.judged[0].object), int(int32(l.call.Args[2]))
	caller := tuner{uids: uidsOf(s.tid), caps: c.caps}
	if caller.uids[1] == unseenUID {
		l.unresolvable(s, errors.New("its uids cannot be read"))
		return
	}
	var members []int
	for tid := range l.tasks {
		if t.has(tid) && l.reaches(s.task, tid) {
			members = append(members, tid)
		}
	}
	if l.call.Row.Name == "ioprio_set" {
		s.answer(-int64(caller.ioprio(members, value)))
		return
	}
	s.answer(-int64(caller.nice(members, min(max(value, -20), 19))))
}

// tuner is who changes priorities: we have his rights or more, so his are asked here.
type tuner struct {
	uids [2]int
	caps uint64
}

func (c *tuner) may(capability uint) bool { return c.caps&(1<<capability) != 0 }

// nice sets the nice value of tasks (kernel/sys.c, set_one_prio).
func (c *tuner) nice(tids []int, nice int) syscall.Errno {
	answer := unix.ESRCH
	for _, tid := range tids {
		uids := uidsOf(tid)
		if uids[0] != c.uids[1] && uids[1] != c.uids[1] && !c.may(unix.CAP_SYS_NICE) {
			answer = unix.EPERM
			continue
		}
		var limit unix.Rlimit
		raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid) // 20 - nice
		if err == nil {
			err = unix.Prlimit(tid, unix.RLIMIT_NICE, nil, &limit)
		}
		switch {
		case err != nil: // it has ended
		case nice < 20-raw && uint64(20-nice) > limit.Cur && !c.may(unix.CAP_SYS_NICE):
			answer = unix.EACCES
		default:
			err = unix.Setpriority(unix.PRIO_PROCESS, tid, nice)
		}
		switch {
		case err != nil && errnoOf(err) != unix.ESRCH:
			answer = errnoOf(err)
		case err == nil && answer == unix.ESRCH:
			answer = 0
		}
	}
	return answer
}

// ioprio sets the I/O priority of tasks (block/ioprio.c); the first refusal ends it.
func (c *tuner) ioprio(tids []int, value int) syscall.Errno {
	const realTime, classShift = 1, 13 // IOPRIO_CLASS_RT, IOPRIO_CLASS_SHIFT of linux/ioprio.h
	if value>>classShift&7 == realTime && !c.may(unix.CAP_SYS_NICE) && !c.may(unix.CAP_SYS_ADMIN) {
		return unix.EPERM
	}
	answer := unix.ESRCH
	for _, tid := range tids {
		uid := uidsOf(tid)[0]
		if uid != c.uids[0] && uid != c.uids[1] && !c.may(unix.CAP_SYS_NICE) {
			return unix.EPERM
		}
		const process = 1 // IOPRIO_WHO_PROCESS
		switch _, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, process, uintptr(tid), uintptr(value)); errno {
		case 0:
			answer = 0
		case unix.ESRCH: // it has ended
		default:
			return errno
		}
	}
	return answer
}
