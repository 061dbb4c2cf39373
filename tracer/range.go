// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// rangeCall keeps the argument window where it is: a call that would take it away, put
// something else in its place, or keep it from a forked child is refused. All of it is in
// registers. With mseal(2) the kernel refuses most of these by itself.
func (l *loop) rangeCall(s stopped, row *decode.Row, args *[6]uint64) {
	if sp := s.space; sp != nil && (sp.state != spaceNone || sp.crowded) {
		for _, r := range ranges(row.Name, args) {
			if sp.covers(r[0], r[1]) {
				s.refuse(unix.EPERM)
				return
			}
		}
	}
	if next := l.rowAfter(row, args); next != nil {
		l.callOf(s, next, args)
		return
	}
	s.resume(0)
}

// ranges are the start and length of what a call takes away or replaces.
func ranges(name string, args *[6]uint64) [][2]uint64 {
	switch name {
	case "mremap":
		const fixed = 2 // MREMAP_FIXED
		out := [][2]uint64{{args[0], args[1]}}
		if args[3]&fixed != 0 {
			out = append(out, [2]uint64{args[4], args[2]})
		}
		return out
	case "shmat":
		return [][2]uint64{{args[1], 1 << 46}} // as long as the segment is: nobody needs SHM_REMAP there
	}
	return [][2]uint64{{args[0], args[1]}}
}

// covers tells whether a range reaches the window, or where a set-up is about to put it.
func (sp *space) covers(start, length uint64) bool {
	base := sp.base
	if sp.state == spaceBusy && sp.setter != nil && sp.setter.setup != nil {
		base = sp.setter.setup.base
	}
	end := start + length
	if sp.crowded {
		// Its memory may be that of another space, whose window lies somewhere there.
		return end < start || start < windowEnd && end+pageSize > windowFirst
	}
	return end < start || start < base+windowSize && end+pageSize > base
}
