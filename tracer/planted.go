// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// A task with a seccomp filter of its own may be killed for an openat2(2) that it never
// made. So we open for it, through what pins the decided object, and plant the descriptor
// as the result of its very own call: unchanged but for plantMark in the sixth argument,
// which no open has, and which our filter hands to our listener. A task that marks a call
// itself finds no gift there and gets ENOSYS.

// plantMark is no address and no small number, lest an honest call carry it by chance.
const plantMark = 0x70746775_61726421

// markTest is what the filter does first with a call that opens.
var markTest = []bpf.Instruction{
	bpf.LoadAbsolute{Off: offArgs + 5*8, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: plantMark & 0xffffffff, SkipTrue: 3},
	bpf.LoadAbsolute{Off: offArgs + 5*8 + 4, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: plantMark >> 32, SkipTrue: 1},
	bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF},
}

// opens: the calls that can be answered with a planted descriptor.
func opens(rows []*decode.Row) bool {
	for _, row := range rows {
		switch row.Name {
		case "open", "openat", "openat2", "creat":
			return true
		}
	}
	return false
}

// plant opens for a task. False: it cannot be done, nothing has happened.
func (l *loop) plant(s stopped, j *judgement) bool {
	r := &j.resolved
	c, err := l.credentialsOf(s)
	if err != nil || c.fenced { // its own sandbox must keep its force
		return false
	}
	if r.Exists && waits(r.Stat.Mode, r.Stat.Rdev) || reachedServed(s.tid) {
		return false
	}
	var rr registers
	if err := getRegisters(s.tid, &rr); err != nil {
		s.lost(err, "read registers of")
		return true
	}
	flags, mode := int(l.openFlags(j.object)), uint32(l.openMode(j.object))
	if r.FD < 0 && r.Parent >= 0 {
		mode = l.newMode(s, r.Parent, mode)
	} else {
		mode &^= umask(s)
	}
	fd := -1
	foreign, err := l.actAs(s, c, l.judged, deedOf(func() (err error) {
		fd, err = pinnedOpen(r, flags, mode)
		return err
	}))
	if foreign {
		return false
	}
	if err != nil {
		l.performed(s, err)
		return true
	}
	if s.frames == nil {
		s.task.frames = new([frames]frame)
	}
	f := s.frameAt
	s.task.frameAt = (f + 1) % frames
	s.frames[f] = frame{pending(&rr), instruction(&rr)}
	l.listener.give(s.tid, gift{fd: fd, flags: uint32(flags) & unix.O_CLOEXEC, own: true})
	asked := pending(&rr)
	asked.args[5] = plantMark
	setPending(&rr, &asked)
	s.task.leaving = &leaving{frame: f, slot: slots, done: func(s stopped, _ *registers) { l.listener.take(s.tid) }}
	if err := setRegisters(s.tid, &rr); err != nil {
		s.lost(err, "set registers of")
		return true
	}
	s.request(unix.PTRACE_SYSCALL, 0)
	return true
}

// waits: opening these waits for another process, or opens something else for us than for
// the task (/dev/tty).
func waits(mode uint32, rdev uint64) bool {
	switch mode & unix.S_IFMT {
	case unix.S_IFIFO, unix.S_IFSOCK:
		return true
	case unix.S_IFCHR:
		return rdev == unix.Mkdev(5, 0)
	}
	return false
}
