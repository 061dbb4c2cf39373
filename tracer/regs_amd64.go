// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

var native = decode.AMD64

// Offsets in struct user of sys/user.h.
const (
	offRAX     = 10 * 8
	offRDI     = 14 * 8
	offOrigRAX = 15 * 8
	offRIP     = 16 * 8
)

// skipCall makes the kernel skip the stopped call and return result (seccomp(2),
// SECCOMP_RET_TRACE: a number of -1).
func skipCall(tid int, result int64) error {
	if err := ptrace(unix.PTRACE_POKEUSR, tid, offOrigRAX, ^uintptr(0)); err != nil {
		return err
	}
	return ptrace(unix.PTRACE_POKEUSR, tid, offRAX, uintptr(result))
}

// setFirstArg replaces the first argument of the stopped call.
func setFirstArg(tid int, word uint64) error {
	return ptrace(unix.PTRACE_POKEUSR, tid, offRDI, uintptr(word))
}

// cloneFlags tells, at a fork, vfork or clone event, the flags the child was made with.
// They are in a register, which nobody else can change.
func cloneFlags(tid int) (uint64, error) {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return 0, err
	}
	switch regs.Orig_rax {
	case unix.SYS_FORK:
		return 0, nil
	case unix.SYS_VFORK:
		return unix.CLONE_VM | unix.CLONE_VFORK, nil
	}
	return regs.Rdi, nil
}

// setResult replaces what the call of a task in its syscall-exit stop returns.
func setResult(tid int, result int64) error {
	return ptrace(unix.PTRACE_POKEUSR, tid, offRAX, uintptr(result))
}

// repeatCall, at the syscall-exit stop, makes the task run the same call again: back over
// the two bytes of the syscall instruction, the number in rax. The filter sees it anew.
func repeatCall(tid int, nr, _ uint64) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Rip -= 2
	regs.Rax = nr
	regs.Orig_rax = ^uint64(0) // not in a call: nothing to restart
	return syscall.PtraceSetRegs(tid, &regs)
}
