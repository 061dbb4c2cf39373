// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"ptguard/internal/readfile"
)

// credentials are what the kernel judges a task's file accesses by.
type credentials struct {
	fsuid, fsgid int
	groups       string // as /proc writes them, sorted by the kernel
	caps         uint64 // effective
	uid          int    // real, as gid
	gid          int
	// fenced: the task is in a Landlock domain of its own, which our acts would not be in.
	fenced bool
}

// readCredentials reads /proc/TID/status (proc_pid_status(5)).
func readCredentials(tid int) (*credentials, error) {
	text, err := readfile.All(procPath(tid, "status"))
	if err != nil {
		return nil, fmt.Errorf("read the credentials of tid %d: %w", tid, err)
	}
	c := &credentials{fsuid: -1, fsgid: -1}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		fields := strings.Fields(value)
		switch {
		case key == "Uid" && len(fields) == 4:
			c.uid, c.fsuid, err = twoOf(fields)
		case key == "Gid" && len(fields) == 4:
			c.gid, c.fsgid, err = twoOf(fields)
		case key == "Groups":
			c.groups = strings.Join(fields, " ")
		case key == "CapEff" && len(fields) == 1:
			c.caps, err = strconv.ParseUint(fields[0], 16, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("read the credentials of tid %d: %q: %w", tid, line, err)
		}
	}
	if c.fsuid < 0 || c.fsgid < 0 {
		return nil, fmt.Errorf("read the credentials of tid %d: incomplete", tid)
	}
	return c, nil
}

// twoOf reads the real and the file system id of the four in a line of status.
func twoOf(fields []string) (first, last int, err error) {
	if first, err = strconv.Atoi(fields[0]); err == nil {
		last, err = strconv.Atoi(fields[3])
	}
	return first, last, err
}

// asReal tells whether access(2), which asks with the real ids, walks as other calls do. It takes
// the capabilities off who is not root, and gives root those that are permitted.
func (c *credentials) asReal() bool {
	return c.uid == c.fsuid && c.gid == c.fsgid && (c.uid == 0 || c.caps == 0)
}

// credentialsOf gives a stopped task's credentials. They are read once and again after a
// call that may have changed them.
func (l *loop) credentialsOf(s stopped) (*credentials, error) {
	if s.creds == nil {
		c, err := l.findCredentials(s)
		if err != nil {
			return nil, err
		}
		s.task.creds = c
	}
	s.creds.fenced = s.proc.fenced
	return s.creds, nil
}

// findCredentials reads them, unless they can only be ptguard's own: those of the program were, no
// task has made a call that changes any, and no exec does. With no_new_privs an exec gives nothing;
// it takes capabilities only from who is not root (the ambient ones, capabilities(7)), and there
// are none to take here. Each program would be asked for otherwise, and each child.
func (l *loop) findCredentials(s stopped) (*credentials, error) {
	if l.rightsKept && !l.rightsDiffer {
		c := *l.own
		return &c, nil
	}
	c, err := readCredentials(s.tid)
	if err == nil && s.tid == l.cmd && l.started && !l.rightsDiffer {
		l.rightsKept = l.ownRights(c) && c.uid == l.own.uid && c.gid == l.own.gid && c.asReal()
	}
	return c, err
}

// credentialsChange lets a call run that changes the credentials of its task.
func (l *loop) credentialsChange(s stopped) {
	s.task.creds = nil
	if native.SyscallName(uint32(l.number)) == "landlock_restrict_self" {
		if l.started {
			s.proc.fenced, s.proc.tookOn, l.fences = true, true, true
		}
	} else {
		l.rightsDiffer = true
	}
	s.resume(0)
}

// sameRights tells whether the task has exactly our own rights.
func (l *loop) sameRights(s stopped) bool {
	c, err := l.credentialsOf(s)
	return err == nil && !c.fenced && l.ownRights(c)
}

func (l *loop) ownRights(c *credentials) bool {
	return c.fsuid == l.own.fsuid && c.fsgid == l.own.fsgid && c.groups == l.own.groups && c.caps == l.own.caps
}

// umask of a stopped task, read anew each time: tasks that share CLONE_FS share it.
func umask(s stopped) uint32 {
	var room [256]byte // the second line, after a name of at most 16 bytes, escaped
	text, err := readStatus(s.tid, room[:])
	if err != nil {
		return 0o777
	}
	_, rest, ok := bytes.Cut(text, []byte("\nUmask:\t"))
	digits, _, ended := bytes.Cut(rest, []byte("\n"))
	mask := uint32(0)
	for _, c := range digits {
		ok = ok && c >= '0' && c <= '7'
		mask = mask<<3 | uint32(c-'0')
	}
	if !ok || !ended || len(digits) == 0 || mask > 0o777 {
		return 0o777
	}
	return mask
}
