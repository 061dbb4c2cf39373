// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"math"
	"math/bits"
	"syscall"

	"golang.org/x/sys/unix"
)

// What the kernel finds wrong with a signal before it asks who may send it (kernel/signal.c).
// The answer is given here, for on its way to the kernel the number of a process that is not
// there could become that of one outside.

// signalErrno is the errno of a signal that fails on its words, 0 if it does not.
func (l *loop) signalErrno(s stopped) syscall.Errno {
	a := &l.call.Args
	first, second := int32(a[0]), int32(a[1])
	switch l.call.Row.Name {
	case "kill":
		if first == math.MinInt32 {
			return unix.ESRCH
		}
	case "tkill":
		if first <= 0 {
			return unix.EINVAL
		}
	case "tgkill":
		return l.sameProcess(first, second)
	case "rt_sigqueueinfo":
		if errno := siginfoErrno(s, a[2], first); errno != 0 {
			return errno
		}
		if first <= 0 {
			return unix.ESRCH // no groups here
		}
	case "rt_tgsigqueueinfo":
		code, errno := siginfoCode(s, a[3])
		switch {
		case errno != 0:
			return errno
		case first <= 0 || second <= 0:
			return unix.EINVAL
		case pretends(code) && int(second) != s.tid:
			return unix.EPERM
		}
		return l.sameProcess(first, second)
	case "pidfd_send_signal":
		const scopes = 7 // PIDFD_SIGNAL_THREAD, _THREAD_GROUP, _PROCESS_GROUP
		if flags := uint32(a[3]); flags&^scopes != 0 || bits.OnesCount32(flags) > 1 {
			return unix.EINVAL
		}
	}
	return 0
}

// sameProcess: a thread is named with the process it belongs to. Of one that is booked the kernel
// says so itself, if it has just ended: Go's runtime does this all the time.
func (l *loop) sameProcess(pid, tid int32) syscall.Errno {
	t := l.tasks[int(tid)]
	switch {
	case pid <= 0 || tid <= 0:
		return unix.EINVAL
	case t != nil && t.proc.pid == int(pid):
	case threadGroup(int(tid)) != int(pid):
		return unix.ESRCH
	}
	return 0
}

// siginfoErrno is what is wrong with the siginfo_t for a process or thread.
func siginfoErrno(s stopped, addr uint64, pid int32) syscall.Errno {
	code, errno := siginfoCode(s, addr)
	if errno == 0 && pretends(code) && int(pid) != s.tid {
		return unix.EPERM
	}
	return errno
}

// pretends: the kernel's own codes, and that of tkill(2), are for nobody but oneself.
func pretends(code int32) bool { return code >= 0 || code == siTkill }

// Codes of asm-generic/siginfo.h.
const (
	siTkill    = -6
	siDethread = -7
	siAsyncNL  = -60
)

// siginfoCode reads si_code. What follows the fields that the kernel knows of a code must be
// zero where it does not know the code.
func siginfoCode(s stopped, addr uint64) (int32, syscall.Errno) {
	var raw [128]byte
	const known = 48 // sizeof(struct kernel_siginfo)
	if readAll(s.tid, raw[:known], addr) != nil {
		return 0, unix.EFAULT
	}
	code := int32(binary.NativeEndian.Uint32(raw[8:]))
	if code < siDethread && code != siAsyncNL {
		if readAll(s.tid, raw[known:], addr+known) != nil {
			return 0, unix.EFAULT
		}
		for _, b := range raw[known:] {
			if b != 0 {
				return 0, unix.E2BIG
			}
		}
	}
	return code, 0
}

// validSignal: 0 asks, and there are 64.
func validSignal(sig unix.Signal) bool { return sig >= 0 && sig <= 64 }
