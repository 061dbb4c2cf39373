// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hasStub: syscall destroys rcx and r11 anyway, so code that runs after it can put the
// other registers back without a stop.
const hasStub = !withoutStub

// registers are the registers of a stopped task.
type registers = syscall.PtraceRegs

func getRegisters(tid int, r *registers) error {
	return ptraceFill(unix.PTRACE_GETREGS, tid, 0, unsafe.Pointer(r))
}

func setRegisters(tid int, r *registers) error {
	return ptraceFill(unix.PTRACE_SETREGS, tid, 0, unsafe.Pointer(r))
}

// call is a system call in registers.
type call struct {
	nr   uint64
	args [6]uint64
}

// pending reads the call of a task in a seccomp stop.
func pending(r *registers) call {
	return call{r.Orig_rax, [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}}
}

// setPending replaces the call of a task in a seccomp stop.
func setPending(r *registers, c *call) {
	r.Orig_rax = c.nr
	setArgs(r, c)
}

func setArgs(r *registers, c *call) {
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9 = c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5]
}

// setAgain, at a syscall-exit stop, makes the task run c next, with the syscall
// instruction that it has just run.
func setAgain(r *registers, c *call) {
	setArgs(r, c)
	r.Rip -= 2
	r.Rax = c.nr
	r.Orig_rax = ^uint64(0)
}

func instruction(r *registers) uint64        { return r.Rip }
func setInstruction(r *registers, ip uint64) { r.Rip = ip }
func result(r *registers) int64              { return int64(r.Rax) }

// noCall: the task is in no call that could be restarted.
func noCall(r *registers) { r.Orig_rax = ^uint64(0) }

// noTrap: single-stepping by the program itself would force a signal that is blocked.
func noTrap(r *registers) {
	const trapFlag = 1 << 8
	r.Eflags &^= trapFlag
}

// emitCode writes the stubs and the set-up code. All of it is position independent.
func emitCode(mem []byte) {
	for i := range slots * frames {
		emitStub(mem, i)
	}
	emitSetup(mem)
}

// The stub of a frame:
//
//	syscall
//	lea rcx, [rax+40]; jrcxz trap     ELOOP: somebody put a link into the path
//	lea rcx, [rax+13]; jrcxz trap     EACCES: the canonical way may be barred to the task
//	lea rcx, [rip+frame]
//	mov rdi, [rcx]; mov rsi, [rcx+8]; mov rdx, [rcx+16]; mov r10, [rcx+24]
//	jmp [rcx+32]
//	trap: mov eax, trapNumber; syscall; ud2
//
// rcx and r11 are lost in a syscall anyway, and jrcxz leaves the flags alone.
func emitStub(mem []byte, i int) {
	at := i * stubSize
	frame := frameOffset(i/frames, i%frames)
	code := []byte{
		0x0f, 0x05,
		0x48, 0x8d, 0x48, 40, 0xe3, 31,
		0x48, 0x8d, 0x48, 13, 0xe3, 25,
		0x48, 0x8d, 0x0d, 0, 0, 0, 0,
		0x48, 0x8b, 0x39, 0x48, 0x8b, 0x71, 8, 0x48, 0x8b, 0x51, 16, 0x4c, 0x8b, 0x51, 24,
		0xff, 0x61, 32,
		0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0x0f, 0x0b,
	}
	binary.LittleEndian.PutUint32(code[17:], uint32(frame-(at+21)))
	binary.LittleEndian.PutUint32(code[40:], trapNumber)
	copy(mem[at:], code)
}

// The set-up code runs four calls from the table without a stop and then traps, with the
// bitwise or of their results in r12: 0 if all went well.
//
//	lea rbx, [rip+table]; xor r12, r12
//	4x: mov rax, [rbx]; mov rdi, [rbx+8]; mov rsi, [rbx+16]; mov rdx, [rbx+24]; syscall; or r12, rax; add rbx, 32
//	mov eax, trapNumber; syscall; ud2
func emitSetup(mem []byte) {
	code := []byte{0x48, 0x8d, 0x1d, 0, 0, 0, 0, 0x4d, 0x31, 0xe4}
	binary.LittleEndian.PutUint32(code[3:], uint32(offTable-(offSetup+7)))
	for range 4 {
		code = append(code, 0x48, 0x8b, 3, 0x48, 0x8b, 0x7b, 8, 0x48, 0x8b, 0x73, 16, 0x48, 0x8b, 0x53, 24, 0x0f, 5, 0x49, 9, 0xc4, 0x48, 0x83, 0xc3, 32)
	}
	code = append(code, 0xb8)
	code = binary.LittleEndian.AppendUint32(code, trapNumber)
	code = append(code, 0x0f, 5, 0x0f, 0x0b)
	copy(mem[offSetup:], code)
}

// setupFailed: the or of the results, after the set-up code has trapped.
func setupFailed(r *registers) bool { return r.R12 != 0 }

// enterStub makes the pending call run as c from the stub of frame f, which then goes back
// to where the task was.
func enterStub(r *registers, sp *space, slot, f int, c *call) {
	r.Rip = fillStub(sp, slot, f, [5]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.Rip})
	setPending(r, c)
}

// fillStub gives a stub what it is to put back, and gives where the task is to go on.
func fillStub(sp *space, slot, f int, words [5]uint64) (ip uint64) {
	frame := sp.win.mem[frameOffset(slot, f):]
	for i, word := range words {
		binary.LittleEndian.PutUint64(frame[8*i:], word)
	}
	return sp.base + uint64((slot*frames+f)*stubSize) + 2
}

// setsCalls: setCall and jumpToStub do all that a reissue needs.
const setsCalls = true

// jumpToStub is what enterStub does besides replacing the call.
func jumpToStub(tid int, sp *space, slot, f int, asked *frame) error {
	a := &asked.call.args
	return ptrace(unix.PTRACE_POKEUSR, tid, offRIP, uintptr(fillStub(sp, slot, f, [5]uint64{a[0], a[1], a[2], a[3], asked.ip})))
}

var _ = unix.AT_FDCWD

// restoreCall gives a task its own words back at the exit stop of a reissued call. If the
// kernel is about to restart the call, it shall be the task's own.
func restoreCall(r *registers, asked *call, _ int64) {
	setArgs(r, asked)
	r.Orig_rax = asked.nr
}

func setResultRegister(r *registers, n int64) { r.Rax = uint64(n) }

func stackPointer(r *registers) uint64        { return r.Rsp }
func setStackPointer(r *registers, sp uint64) { r.Rsp = sp }
