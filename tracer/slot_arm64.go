// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hasStub: svc leaves every register but x0 as it was, so nothing can be put back without a
// stop; calls are seen at their exit stop instead.
const hasStub = false

// registers are the registers of a stopped task and its call number, which arm64 keeps in
// a set of its own.
type registers struct {
	unix.PtraceRegsArm64
	nr    int32
	newNr bool
}

func getRegisters(tid int, r *registers) error {
	r.newNr = false
	if err := getRegset(tid, ntPrstatus, unsafe.Pointer(&r.PtraceRegsArm64), unsafe.Sizeof(r.PtraceRegsArm64)); err != nil {
		return err
	}
	return getRegset(tid, ntArmSystemCall, unsafe.Pointer(&r.nr), unsafe.Sizeof(r.nr))
}

func setRegisters(tid int, r *registers) error {
	if err := setRegset(tid, ntPrstatus, unsafe.Pointer(&r.PtraceRegsArm64), unsafe.Sizeof(r.PtraceRegsArm64)); err != nil {
		return err
	}
	if !r.newNr {
		return nil
	}
	return setRegset(tid, ntArmSystemCall, unsafe.Pointer(&r.nr), unsafe.Sizeof(r.nr))
}

// call is a system call in registers.
type call struct {
	nr   uint64
	args [6]uint64
}

// pending reads the call of a task in a seccomp stop.
func pending(r *registers) call {
	c := call{nr: uint64(uint32(r.nr))}
	copy(c.args[:], r.Regs[:6])
	return c
}

// setPending replaces the call of a task in a seccomp stop.
func setPending(r *registers, c *call) {
	r.nr, r.newNr = int32(c.nr), true
	setArgs(r, c)
}

func setArgs(r *registers, c *call) { copy(r.Regs[:6], c.args[:]) }

// setAgain, at a syscall-exit stop, makes the task run c next, with the svc instruction
// that it has just run.
func setAgain(r *registers, c *call) {
	setArgs(r, c)
	r.Pc -= 4
	r.Regs[8] = c.nr
}

func instruction(r *registers) uint64        { return r.Pc }
func setInstruction(r *registers, ip uint64) { r.Pc = ip }
func result(r *registers) int64              { return int64(r.Regs[0]) }

// noCall: the task is in no call that could be restarted.
func noCall(r *registers) { r.nr, r.newNr = -1, true }

// noTrap: a program cannot single-step itself.
func noTrap(*registers) {}

func emitCode([]byte) {}

func setupFailed(*registers) bool { return true }

func enterStub(*registers, *space, int, int, *call) {}

// setsCalls: a call is replaced by its registers.
const setsCalls = false

func jumpToStub(int, *space, int, int, *frame) error { return unix.ENOSYS }

// restoreCall gives a task its own words back at the exit stop of a reissued call; x0 is
// the result, unless the kernel is about to restart the call, when it takes the argument
// from where it saved it, so the number is put back for that case.
func restoreCall(r *registers, asked *call, res int64) {
	copy(r.Regs[1:6], asked.args[1:])
	r.Regs[0] = uint64(res)
	r.Regs[8] = asked.nr
}

func setResultRegister(r *registers, n int64) { r.Regs[0] = uint64(n) }

func stackPointer(r *registers) uint64        { return r.Sp }
func setStackPointer(r *registers, sp uint64) { r.Sp = sp }
