// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/internal/intern"
)

// SockAddr is a decoded socket address, by the kernel's own rules of length and family.
type SockAddr struct {
	Family   uint16
	IP       netip.Addr // AF_INET, AF_INET6; v4-mapped addresses unmapped, zone dropped
	Port     uint16
	Path     string // AF_UNIX with a path
	Abstract string // AF_UNIX abstract, without the leading NUL
	NoPath   bool   // AF_UNIX abstract, where the name may be of no bytes
	// Unnamed: AF_UNIX with the family alone (bind: the kernel picks an abstract name), or
	// AF_UNSPEC where that means "no address".
	Unnamed bool
	// Raw is the whole address as it was read, in the length the call gave.
	Raw string
}

// The lengths of address structures (ip(7), ipv6(7), unix(7)). RFC 2133's sockaddr_in6
// had no scope id, and the kernel still takes it.
const (
	lenInet      = 16
	lenInet6     = 24
	lenUnix      = 110 // the longest; a longer length is no address
	maxSockaddr  = 128
	offsetOfPath = 2
)

// parseSockaddr decodes raw, which is as long as the call's length says. access tells
// connect (AF_UNSPEC dissolves), bind and send (AF_UNSPEC is read as AF_INET) apart.
func parseSockaddr(raw []byte, access Access, send bool, kept *intern.Strings) (SockAddr, error) {
	if len(raw) < 2 {
		return SockAddr{}, &Fault{Errno: syscall.EINVAL, Plain: true, What: "socket address without a family"}
	}
	a := SockAddr{Family: binary.NativeEndian.Uint16(raw)}
	family := a.Family
	if family == unix.AF_UNSPEC {
		if access == Connect && !send || len(raw) < lenInet {
			a.Unnamed = true
			return a, nil
		}
		family = unix.AF_INET // bind(2) and UDP's send take it so (techniques F5)
		a.Family = unix.AF_INET
	}
	switch family {
	case unix.AF_INET:
		if len(raw) < lenInet {
			return a, &Fault{Errno: syscall.EINVAL, Plain: true, What: "short sockaddr_in"}
		}
		a.Port = binary.BigEndian.Uint16(raw[2:])
		a.IP = netip.AddrFrom4([4]byte(raw[4:8]))
	case unix.AF_INET6:
		if len(raw) < lenInet6 {
			return a, &Fault{Errno: syscall.EINVAL, Plain: true, What: "short sockaddr_in6"}
		}
		a.Port = binary.BigEndian.Uint16(raw[2:])
		a.IP = netip.AddrFrom16([16]byte(raw[8:24])).Unmap()
	case unix.AF_UNIX:
		if len(raw) > lenUnix {
			return a, &Fault{Errno: syscall.EINVAL, Plain: true, What: "long sockaddr_un"}
		}
		name := raw[offsetOfPath:]
		switch {
		case len(name) == 0:
			a.Unnamed = true
		case name[0] == 0:
			a.Abstract, a.NoPath = kept.Of(name[1:]), true
		default:
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			a.Path = kept.Of(name)
		}
	}
	return a, nil
}

// readSockaddr reads and decodes the address at addr with the given length word. ok is
// false if there is none (a length of zero, as send(2) on a connected socket).
func (c *Call) readSockaddr(m Memory, addr uint64, length uint64, access Access, send bool) (a SockAddr, ok bool, err error) {
	n := int32(length)
	if n < 0 || n > maxSockaddr {
		return a, false, &Fault{Errno: syscall.EINVAL, Plain: true, What: "socket address length"}
	}
	if n == 0 {
		if send {
			return a, false, nil
		}
		return a, false, &Fault{Errno: syscall.EINVAL, Plain: true, What: "empty socket address"}
	}
	raw := c.buf[:n]
	if err := readFull(m, raw, addr, "socket address"); err != nil {
		return a, false, err
	}
	a, err = parseSockaddr(raw, access, send, &c.kept)
	a.Raw = c.kept.Of(raw)
	return a, err == nil, err
}
