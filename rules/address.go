// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// address is one address of a net rule, parsed but not bound to a machine.
type address struct {
	kind     addressKind
	proto    Proto // ProtoOther: any
	prefix   netip.Prefix
	lo, hi   uint16    // ports, both inclusive
	patterns []pattern // unix path
	abstract string    // glob over an abstract name, without its leading NUL
	word     string    // @dns, @tree, @preset, @names, @ssh-agent
}

type addressKind uint8

const (
	addressIP addressKind = iota
	addressAny
	addressUnixPath
	addressUnixAbstract
	addressWord
)

// addressWords are the words that stand for addresses. @ssh-agent is for presets.
var addressWords = []string{"@dns", "@tree", "@preset", "@names", "@ssh-agent"}

const addressForms = "expected [tcp|udp] HOST:PORT with HOST an IP, a CIDR or *, [IPv6]:PORT, unix PATH, unix @NAME, @dns or @tree"

// parseAddress reads an address of a policy file or flag.
func parseAddress(text string, flag bool) (address, error) {
	if strings.Contains(text, "$") {
		return address{}, &wordError{Msg: "`$` in an address is not expanded", Suggestion: "write the address itself"}
	}
	if strings.HasPrefix(text, "@") {
		if i := indexOf(addressWords, text); i < 0 {
			return address{}, &wordError{Msg: fmt.Sprintf("unknown address word %s", text), Suggestion: likely(text, addressWords[:4], "@dns, @tree, @preset or @names; an abstract socket is written: unix "+text)}
		}
		return address{kind: addressWord, word: text}, nil
	}
	if tail, ok := strings.CutPrefix(text, "unix "); ok {
		return parseUnixAddress(strings.TrimLeft(tail, " "), flag)
	}
	a := address{}
	if tail, ok := strings.CutPrefix(text, "tcp "); ok {
		a.proto, text = ProtoTCP, strings.TrimLeft(tail, " ")
	} else if tail, ok := strings.CutPrefix(text, "udp "); ok {
		a.proto, text = ProtoUDP, strings.TrimLeft(tail, " ")
	}
	return parseIPAddress(a, text)
}

func parseUnixAddress(text string, flag bool) (address, error) {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		if name == "" {
			return address{}, &wordError{Msg: "an empty abstract socket name", Suggestion: addressForms}
		}
		if _, _, err := parseComponent(name); err != nil {
			return address{}, err
		}
		return address{kind: addressUnixAbstract, abstract: name}, nil
	}
	patterns, err := parsePattern(text, flag)
	if err != nil {
		return address{}, err
	}
	return address{kind: addressUnixPath, patterns: patterns}, nil
}

func parseIPAddress(a address, text string) (address, error) {
	bad := func(format string, args ...any) (address, error) {
		return address{}, &wordError{Msg: "bad address: " + fmt.Sprintf(format, args...), Suggestion: addressForms}
	}
	host, port := "", ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return bad("the `[` in %q has no end", text)
		}
		// Both [2001:db8::]/32:443 and [2001:db8::/32]:443 are in use.
		i := strings.LastIndexByte(text, ':')
		if i < end {
			return bad("%q has no port", text)
		}
		host, port = text[1:end]+text[end+1:i], text[i+1:]
	} else {
		i := strings.LastIndexByte(text, ':')
		if i < 0 {
			return bad("%q has no port", text)
		}
		host, port = text[:i], text[i+1:]
		if strings.Contains(host, ":") {
			return bad("an IPv6 address is written in brackets, as [%s]:%s", host, port)
		}
	}
	var err error
	if a.lo, a.hi, err = parsePorts(port); err != nil {
		return bad("%v", err)
	}
	if host == "*" {
		a.kind = addressAny
		return a, nil
	}
	a.kind = addressIP
	if strings.Contains(host, "/") {
		prefix, err := netip.ParsePrefix(host)
		if err != nil {
			return bad("%q is no CIDR", host)
		}
		a.prefix = unmapPrefix(prefix)
		return a, nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		if host == "localhost" {
			return address{}, &wordError{Msg: "bad address: rules are by address, not by name", Suggestion: fmt.Sprintf("did you mean %q?", "127.0.0.1:"+port)}
		}
		return bad("%q is no IP address: rules are by address, not by name", host)
	}
	ip = ip.WithZone("").Unmap()
	a.prefix = netip.PrefixFrom(ip, ip.BitLen())
	return a, nil
}

// unmapPrefix turns ::ffff:10.0.0.0/104 into 10.0.0.0/8.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

func parsePorts(text string) (lo, hi uint16, err error) {
	if text == "*" {
		return 0, 65535, nil
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	l, errLo := strconv.ParseUint(first, 10, 16)
	h, errHi := strconv.ParseUint(last, 10, 16)
	if errLo != nil || errHi != nil {
		return 0, 0, fmt.Errorf("%q is no port, range of ports or *", text)
	}
	if l > h {
		return 0, 0, fmt.Errorf("the range of ports %q ends before it begins", text)
	}
	return uint16(l), uint16(h), nil
}

// matchIP tells whether the address covers a socket address of the IP families.
func (a *address) matchIP(s *Addr, ip netip.Addr) bool {
	if a.proto != ProtoOther && a.proto != s.Proto || s.Port < a.lo || s.Port > a.hi {
		return false
	}
	return a.kind == addressAny || a.kind == addressIP && a.prefix.Contains(ip)
}

// plainIP drops what a socket address may carry besides the address proper: a zone, and
// the v4-mapped form (a v4 rule covers it).
func plainIP(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// connectIP is where the kernel really connects to: the unspecified address means the
// loopback address of its family (ip(7)).
func connectIP(ip netip.Addr) netip.Addr {
	if !ip.IsUnspecified() {
		return ip
	}
	if ip.Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}

// The loopback addresses of IPv4.
var (
	loopback4   = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	loopbackNet = netip.PrefixFrom(loopback4, 8).Masked()
)

// embedded lists the IPv4 addresses that an IPv6 address of a transition form leads to,
// where the network knows the form: NAT64 (RFC 6052, and the local prefix of RFC 8215 with
// either place of the address), 6to4, Teredo (server and client), ISATAP, the translated
// and the compatible form. Only denies look at them: no allow of a v4 address means these.
func embedded(ip netip.Addr) (out [3]netip.Addr) {
	if !ip.Is6() || ip == netip.IPv6Loopback() {
		return out
	}
	b := ip.As16()
	n := 0
	add := func(v4 ...byte) {
		out[n] = netip.AddrFrom4([4]byte(v4))
		n++
	}
	begins := func(prefix ...byte) bool { return bytes.HasPrefix(b[:], prefix) }
	switch {
	case begins(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0), begins(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0), begins(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0):
		add(b[12:]...)
	case begins(0, 0x64, 0xff, 0x9b, 0, 1):
		add(b[12:]...)
		add(b[6], b[7], b[9], b[10])
	case begins(0x20, 0x02):
		add(b[2:6]...)
	case begins(0x20, 0x01, 0, 0):
		add(b[4:8]...)
		add(^b[12], ^b[13], ^b[14], ^b[15])
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		add(b[12:]...)
	}
	return out
}

// AF_NETLINK and the others that are named in refusals; address families of
// linux/socket.h that package syscall does not list on every port.
var familyNames = map[uint16]string{
	syscall.AF_UNSPEC: "unspec", syscall.AF_UNIX: "unix", syscall.AF_INET: "inet",
	syscall.AF_INET6: "inet6", syscall.AF_NETLINK: "netlink", syscall.AF_PACKET: "packet",
	3: "ax25", 4: "ipx", 5: "appletalk", 9: "x25", 15: "key", 19: "econet", 20: "atmsvc",
	21: "rds", 23: "irda", 24: "pppox", 26: "llc", 27: "ib", 28: "mpls", 29: "can",
	30: "tipc", 31: "bluetooth", 33: "rxrpc", 35: "phonet", 37: "caif", 38: "alg",
	39: "nfc", 40: "vsock", 41: "kcm", 42: "qipcrtr", 43: "smc", 44: "xdp", 45: "mctp",
}

// FamilyName gives the word for an address family, as in "inet6", or "family 99".
func FamilyName(family uint16) string {
	if name, ok := familyNames[family]; ok {
		return name
	}
	return fmt.Sprintf("family %d", family)
}
