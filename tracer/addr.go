// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
	"ptguard/rules"
)

// examineAddr turns a socket address into a request; a unix path is resolved like a file.
func (l *loop) examineAddr(s stopped, j *judgement) (syscall.Errno, error) {
	o := j.object
	a := &j.request.Addr
	*a = rules.Addr{Family: o.Addr.Family, IP: o.Addr.IP, Port: o.Addr.Port, Abstract: o.Addr.Abstract}
	switch o.Addr.Family {
	case unix.AF_INET, unix.AF_INET6:
		a.Proto = socketProto(s.tid, int(o.Dirfd))
	case unix.AF_UNIX:
		a.Autobind = o.Addr.Unnamed
		if o.Addr.Path == "" {
			return 0, nil
		}
		return l.examineSocketPath(s, j)
	}
	return 0, nil
}

// examineSocketPath resolves a unix socket's path: the socket of connect(2), which is
// followed, or the name that bind(2) makes.
func (l *loop) examineSocketPath(s stopped, j *judgement) (syscall.Errno, error) {
	o, r := j.object, &j.resolved
	var flags resolve.Flags
	if o.Access == decode.Bind {
		flags = resolve.Entry
	}
	if err := l.resolve.Resolve(r, resolve.Task{TGID: s.proc.pid, TID: s.tid}, unix.AT_FDCWD, o.Path, flags); err != nil {
		return 0, err
	}
	switch {
	case r.Errno != 0:
		return r.Errno, nil
	case o.Access == decode.Bind && r.Exists:
		return unix.EADDRINUSE, nil
	case o.Access == decode.Connect && r.Stat.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return unix.ECONNREFUSED, nil
	}
	l.file(s, r, &j.request.File)
	return 0, nil
}

// socketProto tells what kind of socket a descriptor of the tracee is. It needs a copy of
// the descriptor; where pidfd_getfd(2) is withheld the answer is ProtoOther, which only
// rules without a protocol match.
func socketProto(tid, fd int) rules.Proto {
	n, err := copyFD(tid, fd)
	if err != nil {
		return rules.ProtoOther
	}
	defer unix.Close(n)
	kind, err := unix.GetsockoptInt(n, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return rules.ProtoOther
	}
	proto, err := unix.GetsockoptInt(n, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	if err != nil {
		return rules.ProtoOther
	}
	switch {
	case kind == unix.SOCK_STREAM && (proto == unix.IPPROTO_TCP || proto == unix.IPPROTO_MPTCP):
		return rules.ProtoTCP
	case kind == unix.SOCK_DGRAM && (proto == unix.IPPROTO_UDP || proto == unix.IPPROTO_UDPLITE):
		return rules.ProtoUDP
	}
	return rules.ProtoOther
}

// copyFD duplicates a descriptor of a stopped task (pidfd_getfd(2), Linux 5.6; of a single
// thread, whose table may be its own, since 6.9).
func copyFD(tid, fd int) (int, error) {
	const pidfdThread = unix.O_EXCL // PIDFD_THREAD of linux/pidfd.h
	pidfd, err := unix.PidfdOpen(tid, pidfdThread)
	if err != nil {
		if pidfd, err = unix.PidfdOpen(threadGroup(tid), 0); err != nil {
			return -1, err
		}
	}
	defer unix.Close(pidfd)
	return unix.PidfdGetfd(pidfd, fd, 0)
}

// notListening: a refused connect to a unix socket that nobody serves would have failed
// with ECONNREFUSED, so nothing is refused (POLICY 3, Answers).
func (l *loop) notListening(j *judgement) bool {
	if j.request.Access != decode.Connect || j.request.Addr.Family != unix.AF_UNIX || j.request.File.Path == "" {
		return false
	}
	return !unixServed(j.request.File.Path)
}
