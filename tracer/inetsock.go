// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/rules"
)

// A call on a socket names it by a number, and a sibling can put another socket behind that
// between our look and the kernel's. Where it matters which one it is, because a rule is about
// one protocol alone or an unbound socket would listen everywhere, we make the call on a copy
// of the descriptor that was looked at (copyFor).

// protocolMatters tells whether the answer to an internet address depends on the socket.
func (l *loop) protocolMatters(s stopped, j *judgement) bool {
	if !j.request.Addr.IP.IsValid() {
		return false
	}
	for _, proto := range []rules.Proto{rules.ProtoTCP, rules.ProtoUDP, rules.ProtoOther} {
		if r := l.asProtocol(j, proto); l.decide(s, &r).Refused() {
			return true
		}
	}
	return false
}

func (l *loop) asProtocol(j *judgement, proto rules.Proto) rules.Request {
	r := j.request
	r.Addr.Proto = proto
	return r
}

// refusedElsewhere is for a datagram: an address that a sibling's other socket may not reach
// is refused. A TCP socket takes one only with MSG_FASTOPEN. True: it has been refused.
func (l *loop) refusedElsewhere(s stopped, j *judgement, flags uint64) bool {
	if !j.request.Addr.IP.IsValid() {
		return false
	}
	protos := []rules.Proto{rules.ProtoUDP}
	if flags&unix.MSG_FASTOPEN != 0 {
		protos = append(protos, rules.ProtoTCP)
	}
	for _, proto := range protos {
		r := l.asProtocol(j, proto)
		if d := l.decide(s, &r); d.Refused() {
			j.request = r
			l.refused(s, j, d)
			return true
		}
	}
	return false
}

// onCopy makes a connect(2) or bind(2) on a copy of the socket, if that is still of the
// protocol that was decided on. False: there is no copy, nothing has happened.
func (l *loop) onCopy(s stopped, j *judgement) bool {
	fd, later, err := l.copyFor(s, int(j.object.Dirfd))
	switch {
	case later:
		return true
	case errors.Is(err, unix.EBADF):
		s.refuse(unix.EBADF)
		return true
	case err != nil && (l.listener.fd < 0 || l.ownTable(s)):
		return false // races are accepted, or nobody else is there who could exchange it
	case err != nil:
		l.refuseWindow(s, err.Error())
		return true
	}
	if protocolOf(fd) != j.request.Addr.Proto {
		unix.Close(fd)
		l.lookAgain([]stopped{s}) // it is another socket by now
		return true
	}
	raw := []byte(j.object.Addr.Raw)
	if j.object.Access == decode.Bind {
		defer unix.Close(fd)
		if !l.sameRights(s) { // a low port is a right of the task
			l.refuseWindow(s, "a rule is about one protocol, and ptguard cannot act with this task's rights")
			return true
		}
		l.performed(s, bindRaw(fd, raw))
		return true
	}
	if l.connecting >= maxConnecting {
		unix.Close(fd)
		l.refuseWindow(s, fmt.Sprintf("%d connections already wait for their servers", maxConnecting))
		return true
	}
	l.connectApart(s, func() error {
		defer unix.Close(fd)
		return connectRaw(fd, raw)
	})
	return true
}

// protocolOf is socketProto of a descriptor of our own.
func protocolOf(fd int) rules.Proto {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || family != unix.AF_INET && family != unix.AF_INET6 {
		return rules.ProtoOther
	}
	proto, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PROTOCOL)
	switch {
	case err != nil:
	case proto == unix.IPPROTO_TCP, proto == unix.IPPROTO_MPTCP:
		return rules.ProtoTCP
	case proto == unix.IPPROTO_UDP, proto == unix.IPPROTO_UDPLITE:
		return rules.ProtoUDP
	}
	return rules.ProtoOther
}

// carryListen makes an allowed listen(2) on a copy of an internet socket. On others we must
// not, as the kernel would show our credentials to those who connect.
func (l *loop) carryListen(s stopped) {
	fd, later, err := l.copyFor(s, int(int32(l.call.Args[0])))
	if later {
		return
	}
	if errors.Is(err, unix.EBADF) {
		s.refuse(unix.EBADF)
		return
	}
	if err == nil && protocolOf(fd) == rules.ProtoTCP {
		defer unix.Close(fd)
		if len(l.judged) == 0 && !hasAddress(fd) {
			l.lookAgain([]stopped{s}) // it is another socket by now
			return
		}
		l.performed(s, unix.Listen(fd, int(int32(l.call.Args[1]))))
		return
	}
	if err == nil {
		unix.Close(fd)
	}
	anywhere := rules.Request{Access: decode.Bind, Addr: rules.Addr{Family: unix.AF_INET, Proto: rules.ProtoTCP, IP: netip.IPv4Unspecified()}}
	if !l.decide(s, &anywhere).Refused() || l.ownTable(s) { // nobody else can exchange it
		s.resume(0)
		return
	}
	before, err := listeningEverywhere()
	if err != nil {
		l.unresolvable(s, err)
		return
	}
	s.task.atExit = func(s stopped) {
		stray, err := listeningEverywhere()
		for link := range stray {
			if before[link] || l.facts.bound[socketNumber(link)] {
				delete(stray, link)
			}
		}
		holders, why := map[int]bool{}, "" // of descriptors alone, too, if it shares those
		if err == nil && len(stray) > 0 {
			_, err = l.anyFD(func(pid int, _, target string) bool {
				holders[pid] = holders[pid] || stray[target]
				return false
			})
		}
		if err != nil && alive(s.tid) {
			why = "what it listens on now cannot be seen"
			for _, t := range l.tasks {
				holders[t.proc.pid] = holders[t.proc.pid] || s.proc.sharesFiles && t.proc.sharesFiles
			}
		} else if slices.Contains(slices.Collect(maps.Values(holders)), true) {
			why = "the socket behind a descriptor was exchanged, and one without an address listens on every interface"
		}
		if why != "" {
			l.killBlind(s, "listen", "", why)
			for pid, holds := range holders {
				if holds {
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}
			return
		}
		s.resume(0)
	}
	s.request(unix.PTRACE_SYSCALL, 0)
}

// listeningEverywhere lists, as link texts, the TCP sockets that listen on every interface.
func listeningEverywhere() (links map[string]bool, err error) {
	const listen = "0A" // TCP_LISTEN
	out := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		err := eachLine(file, func(line string) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != listen {
				return
			}
			if ip, _, ok := procAddr(f[1]); ok && ip.IsUnspecified() {
				out["socket:["+f[9]+"]"] = true
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// socketNumber is the inode in a link text.
func socketNumber(link string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]"), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// hasAddress tells whether an internet socket of ours has a port.
func hasAddress(fd int) bool {
	name, err := unix.Getsockname(fd)
	if err != nil {
		return false
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return a.Port != 0
	case *unix.SockaddrInet6:
		return a.Port != 0
	}
	return true // not an internet socket
}

// bindRaw and connectRaw pass on an address as the task wrote it.
func bindRaw(fd int, raw []byte) error    { return socketCall(unix.SYS_BIND, fd, raw) }
func connectRaw(fd int, raw []byte) error { return socketCall(unix.SYS_CONNECT, fd, raw) }
