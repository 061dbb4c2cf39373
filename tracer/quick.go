// SPDX-License-Identifier: Apache-2.0

package tracer

// quick is what the loop keeps so that an allowed call costs no allocation and as few system
// calls as can be.
type quick struct {
	memory memory // of the task whose call is at hand
	// at is the call at hand as the kernel told it at stop atStop of atTask.
	at     syscallInfo
	atTask *task
	atStop uint64
	// oldCalls: calls cannot be replaced by PTRACE_SET_SYSCALL_INFO.
	oldCalls bool
	leftRegs registers // of the task in left
	// walkDone ends a walk at the exit stop, see startWalk.
	walkDone func(stopped, *registers)

	// mayGlance: the call at hand may be decided by a glance; glanced: some object of it was.
	mayGlance, glanced bool
	mountsSeen         uint64 // of mountChanges, when the resolver last forgot
}
