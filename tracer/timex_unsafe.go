// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// carryTimex answers adjtimex(2) and clock_adjtime(2), of which only asking is allowed. The
// word that says so lies in the task's memory, where another thread can change it: so we
// ask the kernel ourselves and give the task what it says.
func (l *loop) carryTimex(s stopped) {
	clock, at := int32(unix.CLOCK_REALTIME), l.call.Args[0]
	if l.call.Row.Name == "clock_adjtime" {
		clock, at = int32(l.call.Args[0]), l.call.Args[1]
	}
	if clock < 0 { // a clock of a descriptor, which is the task's
		s.refuse(unix.EOPNOTSUPP)
		return
	}
	var t unix.Timex
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&t)), unsafe.Sizeof(t))
	if readAll(s.tid, raw[:4], at) != nil {
		s.refuse(unix.EFAULT)
		return
	}
	const singleShotRead = 0xa001 // ADJ_OFFSET_SS_READ of linux/timex.h
	if modes := binary.NativeEndian.Uint32(raw); modes != 0 && modes != singleShotRead {
		s.refuse(unix.EPERM) // it was another when it was judged
		return
	}
	state, err := unix.ClockAdjtime(clock, &t)
	switch {
	case err != nil:
		s.refuse(errnoOf(err))
	case writeMem(s.tid, raw, at) != nil:
		s.refuse(unix.EFAULT)
	default:
		s.answer(int64(state))
	}
}
