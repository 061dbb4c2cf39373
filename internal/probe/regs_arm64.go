// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const auditArch = unix.AUDIT_ARCH_AARCH64

// The register sets of elf.h that ptrace(2) names.
const (
	ntPRStatus      = 1
	ntARMSystemCall = 0x404 // the number is no general register on arm64
)

// skip makes the stopped call return result without being run: number -1, and x0 is left
// as it is set here (seccomp(2), SECCOMP_RET_TRACE). Precondition: tracer thread, tid is in
// a seccomp stop.
func skip(tid int, result uint64) error {
	var regs unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, ntPRStatus, &regs); err != nil {
		return err
	}
	regs.Regs[0] = result
	if err := unix.PtraceSetRegSetArm64(tid, ntPRStatus, &regs); err != nil {
		return err
	}
	none := int32(-1)
	iov := unix.Iovec{Base: (*byte)(unsafe.Pointer(&none))}
	iov.SetLen(int(unsafe.Sizeof(none)))
	return fill(unix.PTRACE_SETREGSET, tid, ntARMSystemCall, unsafe.Pointer(&iov))
}
