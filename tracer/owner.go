// SPDX-License-Identifier: Apache-2.0

package tracer

// carryOwner reissues the calls that say who gets the signals of a descriptor, with our copy
// of what their pointer leads to. F_SETOWN has it in a register.
func (l *loop) carryOwner(s stopped) {
	owner := l.call.Owner
	if owner == nil {
		s.resume(0)
		return
	}
	if !l.inWindow(s) {
		return
	}
	asked := call{l.number, l.call.Args}
	l.reissue(s, true, func(w *window, slot int) call {
		asked.args[2] = w.putBytes(s.space, slot, offAddress, owner)
		return asked
	})
}
