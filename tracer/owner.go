// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// carryOwner reissues the calls that say who gets the signals of a descriptor, with our copy
// of what their pointer leads to. F_SETOWN has it in a register.
func (l *loop) carryOwner(s stopped) {
	if l.cfg.Scopes != nil && !l.bookOwner(s) {
		l.refuseConst(s, l.call.Row.Name, l.call.Event, &decode.Answer{
			Errno: unix.EPERM, Guard: "scope-entry", Reason: "a process of the group has entered a scope, and no descriptor of others raises signals in it",
		})
		return
	}
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

// ownerGroup is F_OWNER_PGRP of asm-generic/fcntl.h.
const ownerGroup = 2

// bookOwner notes whom the call at hand makes the owner of a descriptor's signals: such a
// process enters no scope, for its caller could go on to signal it there. A group is noted
// for good, since its members change. False: one of them is out of the caller's reach.
func (l *loop) bookOwner(s stopped) bool {
	pid, group := 0, false
	raw := l.call.Owner
	switch {
	case len(raw) == 4: // FIOSETOWN, SIOCSPGRP
		pid = int(int32(binary.NativeEndian.Uint32(raw)))
	case len(raw) == 8: // F_SETOWN_EX
		pid, group = int(int32(binary.NativeEndian.Uint32(raw[4:]))), binary.NativeEndian.Uint32(raw) == ownerGroup
	case l.call.Row.Name == "fcntl" && uint32(l.call.Args[1]) == unix.F_SETOWN:
		pid = int(int32(l.call.Args[2]))
	}
	if pid < 0 {
		pid, group = -pid, true
	}
	if group {
		for tid := range l.tasks {
			if g, err := unix.Getpgid(tid); !l.reaches(s.task, tid) && (err != nil || g == pid) {
				return false
			}
		}
		if l.ownerGroups == nil {
			l.ownerGroups = map[int]bool{}
		}
		l.ownerGroups[pid] = true
	} else if t := l.tasks[pid]; t != nil {
		t.proc.owner = true
	}
	return true
}

// ownsSignals tells whether a descriptor may raise signals in a process.
func (l *loop) ownsSignals(p *process) bool {
	if p.owner {
		return true
	}
	if len(l.ownerGroups) == 0 {
		return false
	}
	group, err := unix.Getpgid(p.pid)
	return err != nil || l.ownerGroups[group]
}
