// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/internal/readfile"
)

// A core dump is a file that the kernel itself writes, by the task's rights, into the
// current directory or where core_pattern says, and no call is there to be judged. So the
// tree's RLIMIT_CORE is 0 where there are rules, and the calls on that limit are answered
// from what the program was started with and has set since: it finds what it expects, and
// nothing is dumped. A pattern that is a pipe hands the dump to a program of the machine's
// owner, and is left alone.

// coresAreFiles tells whether a core dump is written to a file (core(5)).
func coresAreFiles() bool {
	pattern, err := readfile.All("/proc/sys/kernel/core_pattern")
	return err != nil || !bytes.HasPrefix(pattern, []byte("|"))
}

// carryCore answers a call on RLIMIT_CORE and lets the others run (kernel/sys.c, do_prlimit).
func (l *loop) carryCore(s stopped) {
	a, proc := &l.call.Args, s.proc
	resource, newAt, oldAt := uint32(a[0]), uint64(0), uint64(0)
	switch l.call.Row.Name {
	case "getrlimit":
		oldAt = a[1]
	case "setrlimit":
		newAt = a[1]
	default:
		resource, newAt, oldAt = uint32(a[1]), a[2], a[3]
	}
	if resource != unix.RLIMIT_CORE || !l.policy.Cores {
		s.resume(0)
		return
	}
	if oldAt == 0 && l.call.Row.Name == "getrlimit" || newAt == 0 && l.call.Row.Name == "setrlimit" {
		s.refuse(unix.EFAULT)
		return
	}
	var raw [16]byte
	if newAt != 0 && readAll(s.tid, raw[:], newAt) != nil {
		s.refuse(unix.EFAULT)
		return
	}
	if tid := int(int32(a[0])); l.call.Row.Name == "prlimit64" && tid != 0 && tid != s.tid {
		t := l.tasks[tid]
		if t == nil {
			s.refuse(unix.ESRCH) // it has just ended
			return
		}
		if !l.mayLimit(s, t.tid) {
			s.refuse(unix.EPERM)
			return
		}
		proc = t.proc
	}
	old := proc.core
	if newAt != 0 {
		limit := unix.Rlimit{Cur: binary.NativeEndian.Uint64(raw[:]), Max: binary.NativeEndian.Uint64(raw[8:])}
		c, err := l.credentialsOf(s)
		switch {
		case limit.Cur > limit.Max:
			s.refuse(unix.EINVAL)
			return
		case limit.Max > old.Max && (err != nil || c.caps&(1<<unix.CAP_SYS_RESOURCE) == 0):
			s.refuse(unix.EPERM)
			return
		}
		proc.core = limit
	}
	if oldAt != 0 {
		binary.NativeEndian.PutUint64(raw[:], old.Cur)
		binary.NativeEndian.PutUint64(raw[8:], old.Max)
		if writeMem(s.tid, raw[:], oldAt) != nil {
			s.refuse(unix.EFAULT)
			return
		}
	}
	s.answer(0)
}

// mayLimit: another's limits are for whoever has CAP_SYS_RESOURCE, or whose real ids are
// all of the other's.
func (l *loop) mayLimit(s stopped, tid int) bool {
	if c, err := l.credentialsOf(s); err == nil && c.caps&(1<<unix.CAP_SYS_RESOURCE) != 0 {
		return true
	}
	for _, key := range []string{"Uid", "Gid"} {
		own, other := strings.Fields(statusField(s.tid, key)), strings.Fields(statusField(tid, key))
		if len(own) < 3 || len(other) < 3 || slices.ContainsFunc(other[:3], func(id string) bool { return id != own[0] }) {
			return false
		}
	}
	return true
}
