// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"unsafe"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

var native = decode.ARM64

// Register sets of elf.h.
const (
	ntPrstatus      = 1
	ntArmSystemCall = 0x404
)

// skipCall makes the kernel skip the stopped call and return result (seccomp(2),
// SECCOMP_RET_TRACE: a number of -1, which arm64 keeps in a register set of its own).
func skipCall(tid int, result int64) error {
	if err := setFirstArg(tid, uint64(result)); err != nil { // x0 is argument and result
		return err
	}
	nr := int32(-1)
	return setRegset(tid, ntArmSystemCall, unsafe.Pointer(&nr), unsafe.Sizeof(nr))
}

// setFirstArg replaces the first argument of the stopped call.
func setFirstArg(tid int, word uint64) error {
	var regs unix.PtraceRegsArm64
	if err := getRegset(tid, ntPrstatus, unsafe.Pointer(&regs), unsafe.Sizeof(regs)); err != nil {
		return err
	}
	regs.Regs[0] = word
	return setRegset(tid, ntPrstatus, unsafe.Pointer(&regs), unsafe.Sizeof(regs))
}

// cloneFlags tells, at a clone event, the flags the child was made with: arm64 has no
// fork or vfork, and clone's flags are still in x0.
func cloneFlags(tid int) (uint64, error) {
	var regs unix.PtraceRegsArm64
	err := getRegset(tid, ntPrstatus, unsafe.Pointer(&regs), unsafe.Sizeof(regs))
	return regs.Regs[0], err
}

// setResult replaces what the call of a task in its syscall-exit stop returns.
func setResult(tid int, result int64) error { return setFirstArg(tid, uint64(result)) }

// repeatCall, at the syscall-exit stop, makes the task run the same call again: back over
// the svc instruction, with the first argument where the result is; the number is still in
// x8. The filter sees it anew.
func repeatCall(tid int, _, first uint64) error {
	var regs unix.PtraceRegsArm64
	if err := getRegset(tid, ntPrstatus, unsafe.Pointer(&regs), unsafe.Sizeof(regs)); err != nil {
		return err
	}
	regs.Pc -= 4
	regs.Regs[0] = first
	return setRegset(tid, ntPrstatus, unsafe.Pointer(&regs), unsafe.Sizeof(regs))
}
