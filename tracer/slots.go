// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"strings"
	"time"
)

// slotFor gives the call that s is stopped at a slot of its window; own tells that the task
// may keep it until its next stop. -1: all are in use, and the call waits.
func (l *loop) slotFor(s stopped) (slot int, own bool) {
	w := s.space.win
	if slot = w.claim(s.task, false); slot >= 0 {
		return slot, true
	}
	if slot = w.claim(s.task, true); slot >= 0 {
		return slot, false
	}
	if slot = w.fromBlocked(); slot >= 0 {
		w.own(slot, s.task)
		return slot, false
	}
	s.task.waits = "a slot of its window"
	w.waiting = append(w.waiting, s) // until another gives its slot back
	l.lookForBlocked(w)
	return -1, false
}

// fromBlocked takes a slot from a task that waits in the open of a FIFO for the other side
// (fifo(7)): that may be one of those that wait for a slot. What the slot holds has been read:
// the kernel copies the structure and the path before it looks at the file, and reads them
// again only in a call that is made anew, which comes to our exit stop first. -1: there is none.
func (w *window) fromBlocked() int {
	for i, t := range w.owner {
		if t != nil && t.leaving != nil && t.leaving.fifo && t.leaving.slot == i && waitsForPartner(t.tid) {
			w.owner[i], t.slot, t.leaving.slot = nil, -1, -1
			return i
		}
	}
	return -1
}

// waitsForPartner tells whether a task sleeps in the function of fs/pipe.c that waits for the
// other side of a FIFO (proc_pid_wchan(5); 0 where the kernel has no names).
func waitsForPartner(tid int) bool {
	name, err := os.ReadFile(procPath(tid, "wchan"))
	return err == nil && (strings.TrimSpace(string(name)) == "wait_for_partner" || strings.TrimSpace(string(name)) == "fifo_open")
}

// blockedAgain is the time between two looks for slots of tasks that wait for the other side:
// nothing is heard when they fall asleep.
const blockedAgain = 5 * time.Millisecond

// lookForBlocked looks again soon, and until no call waits or no open of a FIFO holds a slot.
func (l *loop) lookForBlocked(w *window) {
	fifos := false
	for _, t := range w.owner {
		fifos = fifos || t != nil && t.leaving != nil && t.leaving.fifo
	}
	if !fifos || w.looks || len(w.waiting) == 0 {
		return
	}
	w.looks = true
	time.AfterFunc(blockedAgain, func() {
		l.post(func() {
			w.looks = false
			if w.refs > 0 && len(w.waiting) > 0 && w.fromBlocked() >= 0 {
				l.serveWaiting(w)
			}
			if w.refs > 0 {
				l.lookForBlocked(w)
			}
		})
	})
}
