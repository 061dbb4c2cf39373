// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/rules"
)

// TestBookedOnSuccess: only a bind that has succeeded gives a socket an address, and only a
// rename that has makes its target the tree's own.
func TestBookedOnSuccess(t *testing.T) {
	t.Parallel()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	facts, err := newFacts(nil)
	if err != nil {
		t.Fatal(err)
	}
	facts.add("/made")
	l := &loop{cfg: &Config{Policy: &rules.Policy{}}, facts: facts}
	s := stopped{task: &task{tid: os.Getpid(), proc: &process{pid: os.Getpid()}}}
	bind := []judgement{{object: &decode.Object{Dirfd: int32(fd)}, request: rules.Request{Access: decode.Bind, Addr: rules.Addr{IP: netip.IPv4Unspecified()}}}}
	rename := []judgement{
		{request: rules.Request{Act: rules.ActRenameSource, Access: decode.Remove, File: rules.File{Path: "/made", Exists: true}}},
		{request: rules.Request{Act: rules.ActRenameTarget, Access: decode.Create, File: rules.File{Path: "/there", Exists: true}}},
	}
	for name, x := range map[string]struct {
		call   []judgement
		booked func() bool
	}{
		"bind":   {bind, func() bool { return l.facts.bound[socketInode(s.tid, fd)] }},
		"rename": {rename, func() bool { return l.facts.isMade("/there/.env") }},
	} {
		l.judged = x.call
		l.allowed(s)
		if x.booked() {
			t.Errorf("%s: booked before it has succeeded", name)
		}
		s.task.succeeded()
		if !x.booked() {
			t.Errorf("%s: not booked when it had succeeded", name)
		}
	}
}
