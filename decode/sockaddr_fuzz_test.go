// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bareKernel asks the kernel what a socket address means: sockets are bound or connected
// to the raw bytes, and getsockname(2) or getpeername(2) tells what became of them. Nothing
// is sent: the sockets are datagram sockets. It has a thread with a working folder of
// its own, for socket files get names relative to it.
type bareKernel struct {
	ask    chan func()
	answer chan struct{}
}

func newBareKernel(t testing.TB) *bareKernel {
	t.Helper()
	dir := t.TempDir()
	k := &bareKernel{ask: make(chan func()), answer: make(chan struct{})}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Chdir(dir)
		}
		ready <- err
		for f := range k.ask {
			f()
			k.answer <- struct{}{}
		}
	}()
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(k.ask) })
	return k
}

// use puts raw to a fresh socket of the family with bind(2) or connect(2) and gives the
// errno, and the name of the socket or its peer if there is none. For unix sockets connect
// means: to one that is bound to the same bytes.
func (k *bareKernel) use(t testing.TB, family uint16, access Access, raw []byte) (name []byte, errno syscall.Errno) {
	t.Helper()
	k.ask <- func() { name, errno = k.here(t, family, access, raw) }
	<-k.answer
	return name, errno
}

func (k *bareKernel) here(t testing.TB, family uint16, access Access, raw []byte) ([]byte, syscall.Errno) {
	socket := func() int {
		fd, err := unix.Socket(int(family), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Errorf("socket of family %d: %v", family, err)
		}
		return fd
	}
	fd := socket()
	defer unix.Close(fd)
	if access == Bind || family == unix.AF_UNIX {
		if errno := addressCall(unix.SYS_BIND, fd, raw); errno != 0 {
			return nil, errno
		}
		if len(raw) > offsetOfPath && raw[offsetOfPath] != 0 && family == unix.AF_UNIX {
			path, _, _ := bytes.Cut(raw[offsetOfPath:], []byte{0})
			defer os.Remove(string(path))
		}
	}
	if access == Bind {
		return nameOf(t, unix.SYS_GETSOCKNAME, fd)
	}
	if family == unix.AF_UNIX {
		fd = socket()
		defer unix.Close(fd)
	}
	if errno := addressCall(unix.SYS_CONNECT, fd, raw); errno != 0 {
		return nil, errno
	}
	return nameOf(t, unix.SYS_GETPEERNAME, fd)
}

func addressCall(nr uintptr, fd int, raw []byte) syscall.Errno {
	var buf [2 * maxSockaddr]byte
	copy(buf[:], raw)
	_, _, errno := unix.Syscall(nr, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(raw)))
	return errno
}

func nameOf(t testing.TB, nr uintptr, fd int) ([]byte, syscall.Errno) {
	var buf [2 * maxSockaddr]byte
	size := uint32(len(buf))
	_, _, errno := unix.Syscall(nr, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)))
	if errno != 0 && (nr != unix.SYS_GETPEERNAME || errno != unix.ENOTCONN) {
		t.Errorf("name of a socket: %v", errno)
	}
	return buf[:size], errno
}

// agree compares what was decoded with what the kernel says of a bound or connected socket.
func agree(t testing.TB, a SockAddr, access Access, raw, name []byte) {
	t.Helper()
	bad := func(what string) {
		t.Errorf("%s of %q: decoded %+v, the kernel has %q", what, raw, a, name)
	}
	if family := binary.NativeEndian.Uint16(name); family != a.Family {
		bad("family")
		return
	}
	switch a.Family {
	case unix.AF_INET, unix.AF_INET6:
		var ip netip.Addr
		if a.Family == unix.AF_INET {
			ip = netip.AddrFrom4([4]byte(name[4:8]))
		} else {
			ip = netip.AddrFrom16([16]byte(name[8:24])).Unmap()
		}
		if access == Connect && a.IP.IsUnspecified() && ip.IsLoopback() {
			ip = a.IP // connect(2) takes "any" for this machine; rules know (POLICY 1)
		}
		if ip != a.IP {
			bad("address")
		}
		if port := binary.BigEndian.Uint16(name[2:]); port != a.Port && (access != Bind || a.Port != 0) {
			bad("port")
		}
	case unix.AF_UNIX:
		text := name[offsetOfPath:]
		switch {
		case a.Unnamed: // autobind: a name of the kernel's choice
			if access != Bind || len(text) == 0 || text[0] != 0 {
				bad("unnamed")
			}
		case len(text) > 0 && text[0] == 0:
			if a.Path != "" || a.Abstract != string(text[1:]) {
				bad("abstract name")
			}
		default:
			path, _, _ := bytes.Cut(text, []byte{0})
			if a.Abstract != "" || a.Path != string(path) {
				bad("path")
			}
		}
	}
}

// Any bytes as a socket address, for connect, bind and send, against the kernel: what we
// call malformed it refuses, and what it takes means to it what it means to us.
func FuzzSockaddr(f *testing.F) {
	kernel := newBareKernel(f)
	native := func(family uint16, rest string) []byte {
		return append(binary.NativeEndian.AppendUint16(nil, family), rest...)
	}
	loop6 := "\x00\x50\x00\x00\x00\x00" + string(netip.IPv6Loopback().AsSlice())
	mapped := "\x00\x50\x00\x00\x00\x00" + string(netip.MustParseAddr("::ffff:127.0.0.1").AsSlice())
	for _, raw := range [][]byte{
		nil,
		{1},
		native(unix.AF_INET, "\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"),
		native(unix.AF_INET, "\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"),
		native(unix.AF_INET, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		native(unix.AF_UNSPEC, "\x00\x50\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		native(unix.AF_UNSPEC, "\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"),
		native(unix.AF_UNSPEC, ""),
		native(unix.AF_INET6, loop6), native(unix.AF_INET6, loop6+"\x01\x00\x00\x00"), native(unix.AF_INET6, loop6[:21]),
		native(unix.AF_INET6, mapped), native(unix.AF_INET6, mapped+"\x00\x00\x00\x00"),
		native(unix.AF_INET6, "\x00\x00\x00\x00\x00\x00"+string(netip.IPv6Unspecified().AsSlice())),
		native(unix.AF_UNIX, ""), native(unix.AF_UNIX, "\x00"), native(unix.AF_UNIX, "\x00ptguard\x00fuzz"),
		native(unix.AF_UNIX, "sock"), native(unix.AF_UNIX, "sock\x00junk"),
		native(unix.AF_UNIX, string(bytes.Repeat([]byte{'n'}, 107))), native(unix.AF_UNIX, string(bytes.Repeat([]byte{'n'}, 108))),
		native(unix.AF_UNIX, string(bytes.Repeat([]byte{'n'}, 109))), native(unix.AF_UNIX, string(bytes.Repeat([]byte{'n'}, 126))),
		native(unix.AF_PACKET, "\x08\x00\x01\x00\x00\x00"), native(unix.AF_NETLINK, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
	} {
		for how := range uint8(3) {
			f.Add(raw, how)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, how uint8) {
		access, send := Connect, how%3 == 2
		if how%3 == 1 {
			access = Bind
		}
		p := pages{}
		p.put(base, raw)
		a, ok, err := new(Call).readSockaddr(p, base, uint64(len(raw)), access, send)
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) || !fault.Plain || fault.Errno != unix.EINVAL || ok {
				t.Fatalf("%q: %v, ok %v", raw, err, ok)
			}
		} else if !ok && !(send && len(raw) == 0) {
			t.Fatalf("%q is no address, without an error", raw)
		}
		family := uint16(unix.AF_UNSPEC)
		if len(raw) >= 2 {
			family = binary.NativeEndian.Uint16(raw)
		}
		if ok && a.Family != family && !(family == unix.AF_UNSPEC && a.Family == unix.AF_INET && (send || access == Bind)) {
			t.Fatalf("%q: family %d", raw, a.Family)
		}
		if n := len(a.Path) + len(a.Abstract); n > maxSockaddr-offsetOfPath || a.IP.Zone() != "" || a.IP.Is4In6() {
			t.Fatalf("%q: %+v", raw, a)
		}
		if send || len(raw) > 2*maxSockaddr {
			return // an address is all that may leave this machine's tests
		}
		// The kernel, with a socket of the address's family; AF_UNSPEC is put to an inet socket.
		domain := family
		switch family {
		case unix.AF_INET, unix.AF_INET6:
		case unix.AF_UNSPEC:
			domain = unix.AF_INET
		case unix.AF_UNIX:
			if len(raw) > offsetOfPath && raw[offsetOfPath] != 0 && bytes.IndexByte(raw[offsetOfPath:], '/') >= 0 {
				return // stay in the folder
			}
		default:
			return
		}
		name, errno := kernel.use(t, domain, access, raw)
		switch {
		case err != nil && errno == 0:
			t.Fatalf("%q: %v, and the kernel takes it", raw, err)
		case family == unix.AF_UNSPEC && access == Connect:
			if err == nil && !a.Unnamed {
				t.Fatalf("%q: connect to AF_UNSPEC dissolves: %+v", raw, a)
			}
		case errno == 0:
			agree(t, a, access, raw, name)
		}
	})
}
