// SPDX-License-Identifier: Apache-2.0

package probe

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// skip makes the stopped call return result without being run: number -1, and the result
// register is left as it is set here (seccomp(2), SECCOMP_RET_TRACE). Precondition: tracer
// thread, tid is in a seccomp stop.
func skip(tid int, result uint64) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	regs.Orig_rax = ^uint64(0)
	regs.Rax = result
	return unix.PtraceSetRegs(tid, &regs)
}
