// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
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
	*a = rules.Addr{Family: o.Addr.Family, IP: o.Addr.IP, Port: o.Addr.Port, Abstract: o.Addr.Abstract, Nameless: o.Addr.NoPath && o.Addr.Abstract == ""}
	switch o.Addr.Family {
	case unix.AF_INET, unix.AF_INET6:
		var err error
		if a.Proto, err = socketProto(s.tid, int(o.Dirfd)); err != nil {
			return 0, err
		}
		if l.replaced(o) {
			own, err := l.ownIP(s, int(o.Dirfd))
			if err != nil {
				return 0, err
			}
			if own.Is4() && !own.IsUnspecified() {
				a.IP = own
			}
		}
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
	if hidden, err := l.walk(s, j, unix.AT_FDCWD, flags); err != nil || hidden {
		return 0, err
	}
	switch {
	case r.Errno != 0:
		return r.Errno, nil
	case o.Access == decode.Bind && r.Slash && (!r.Exists || l.hidden(s, r)):
		return unix.ENOENT, nil // only a directory is made with a slash
	case l.hidden(s, r):
	case o.Access == decode.Bind && r.Exists:
		return unix.EADDRINUSE, nil
	case o.Access == decode.Connect && r.Stat.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return notASocket(r), nil
	}
	l.file(r, &j.request.File)
	return 0, nil
}

// replaced: 0.0.0.0 leads to the address that the socket is bound to, else to 127.0.0.1. What
// was judged is put in its place, for the socket can be bound meanwhile, and a message
// can say by IP_PKTINFO where it comes from.
func (l *loop) replaced(o *decode.Object) bool {
	return l.policy.Rules && o.Access == decode.Connect && o.Addr.IP.Is4() && o.Addr.IP.IsUnspecified()
}

// inetRaw is the address of an allowed connect or send as the kernel is to read it.
func (l *loop) inetRaw(s stopped, j *judgement) string {
	a := &j.object.Addr
	const v4, v6 = 4, 8 // sin_addr, sin6_addr
	ip := j.request.Addr.IP
	switch {
	case l.replaced(j.object):
		if ip.IsUnspecified() {
			ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		at, b := v4, ip.As4()
		if a.Family == unix.AF_INET6 {
			at = v6 + 12
		}
		return a.Raw[:at] + string(b[:]) + a.Raw[at+4:]
	case l.policy.Rules && j.object.Access == decode.Connect && ip.Is6() && ip.IsUnspecified():
		// ::1, but 127.0.0.1 for a socket that is bound to a v4-mapped address: that must be
		// allowed as well, or is not tried.
		other := j.request
		other.Addr.IP = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if l.decide(s, &other).Refused() {
			b := netip.IPv6Loopback().As16()
			return a.Raw[:v6] + string(b[:]) + a.Raw[v6+16:]
		}
	}
	return a.Raw
}

// ownIP is the address that a socket of the tracee is bound to, if that can be seen. The error
// is errTaken.
func (l *loop) ownIP(s stopped, fd int) (netip.Addr, error) {
	n, later, err := l.copyFor(s, fd)
	switch {
	case later:
		return netip.Addr{}, errTaken
	case err != nil:
		return netip.Addr{}, nil
	}
	defer unix.Close(n)
	name, err := unix.Getsockname(n)
	if err != nil {
		return netip.Addr{}, nil
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(a.Addr), nil
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(a.Addr).Unmap(), nil
	}
	return netip.Addr{}, nil
}

// socketProto tells what kind of socket a descriptor of the tracee is. The kernel names it
// in an attribute of the socket (sockfs), which needs no copy of the descriptor; where that
// is withheld too the call cannot be judged, for a rule may be about one protocol alone.
func socketProto(tid, fd int) (rules.Proto, error) {
	var name [32]byte
	n, err := unix.Getxattr(procPath(tid, "fd/"+strconv.Itoa(fd)), "system.sockprotoname", name[:])
	if err == nil {
		switch string(bytes.TrimRight(name[:n], "\x00")) {
		case "TCP", "TCPv6", "MPTCP", "MPTCPv6":
			return rules.ProtoTCP, nil
		case "UDP", "UDPv6", "UDP-Lite", "UDPLITEv6", "UDPLite":
			return rules.ProtoUDP, nil
		}
		return rules.ProtoOther, nil
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) {
		return rules.ProtoOther, nil // no such descriptor, or no socket: the kernel will say so
	}
	return rules.ProtoOther, fmt.Errorf("find out the protocol of descriptor %d: %w", fd, err)
}

// notListening: a refused connect to a unix socket that nobody serves would have failed
// with ECONNREFUSED, so nothing is refused (POLICY 3, Answers).
func (l *loop) notListening(j *judgement) bool {
	a := &j.request.Addr
	switch {
	case j.request.Access != decode.Connect || a.Family != unix.AF_UNIX:
		return false
	case a.Abstract != "" || a.Nameless:
		return len(abstractInodes(a.Abstract)) == 0
	}
	return j.request.File.Path != "" && !unixServed(j.request.File.Path)
}

// examineListen asks about listen(2) on a socket that was never bound: the kernel then binds
// it to a free port of every interface.
func (l *loop) examineListen(s stopped, j *judgement) error {
	fd := int(j.object.Dirfd)
	proto, err := socketProto(s.tid, fd)
	if err != nil {
		return err
	}
	bound := proto != rules.ProtoTCP
	if !bound {
		if bound, err = l.isBound(s, fd); err != nil {
			return err
		}
	}
	if bound {
		l.judged = l.judged[:len(l.judged)-1]
		return nil
	}
	j.request.Addr = rules.Addr{Family: unix.AF_INET, Proto: proto, IP: netip.IPv4Unspecified()}
	return nil
}

// isBound tells whether a TCP socket of the tracee has an address. Where there is no copy of
// its descriptor what was seen of its bind counts. The error is errTaken.
func (l *loop) isBound(s stopped, fd int) (bool, error) {
	n, later, err := l.copyFor(s, fd)
	switch {
	case later:
		return false, errTaken
	case err != nil:
		return l.facts.bound[socketInode(s.tid, fd)], nil
	}
	defer unix.Close(n)
	return hasAddress(n), nil
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

// socketInode identifies a socket of the tracee, 0 if it cannot be seen.
func socketInode(tid, fd int) uint64 {
	var st unix.Stat_t
	if err := unix.Stat(procPath(tid, "fd/"+strconv.Itoa(fd)), &st); err != nil {
		return 0
	}
	return st.Ino
}

// notASocket is what connecting to something else gives: first the right to write is asked
// for, then what it is (net/unix/af_unix.c, unix_find_bsd).
func notASocket(r *resolve.Object) syscall.Errno {
	if err := unix.Faccessat(unix.AT_FDCWD, pinPath(r.FD), unix.W_OK, unix.AT_EACCESS); err != nil {
		return errnoOf(err)
	}
	return unix.ECONNREFUSED
}
