// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pages is a tracee's memory for tests: mapped pages by number.
type pages map[uint64][]byte

func (p pages) ReadMem(buf []byte, addr uint64) (int, error) {
	page, off := addr/pageSize, addr%pageSize
	mem := p[page]
	if mem == nil {
		return 0, ErrUnmapped
	}
	return copy(buf, mem[off:]), nil
}

// put lays bytes out from addr on, mapping what is needed.
func (p pages) put(addr uint64, b []byte) {
	for i, c := range b {
		a := addr + uint64(i)
		if p[a/pageSize] == nil {
			p[a/pageSize] = make([]byte, pageSize)
		}
		p[a/pageSize][a%pageSize] = c
	}
}

const base = 0x10000

func rowNamed(t testing.TB, name string) *Row {
	t.Helper()
	for i := range Rows {
		if Rows[i].Name == name {
			return &Rows[i]
		}
	}
	t.Fatalf("no row %s", name)
	return nil
}

func decodeCall(t testing.TB, mem pages, name string, args ...uint64) (*Call, error) {
	t.Helper()
	var c Call
	var words [6]uint64
	copy(words[:], args)
	err := Decode(&c, rowNamed(t, name), words, mem, true)
	return &c, err
}

func text(s string) pages {
	p := pages{}
	p.put(base, append([]byte(s), 0))
	return p
}

func TestOpenFlagsGiveTheAccess(t *testing.T) {
	cases := []struct {
		flags uint64
		want  Access
	}{
		{unix.O_RDONLY, Read},
		{unix.O_WRONLY, Write},
		{unix.O_RDWR, Read | Write},
		{3, Read | Write},
		{unix.O_RDONLY | unix.O_TRUNC, Read | Write},
		{unix.O_PATH, Look},
		{unix.O_PATH | unix.O_RDWR | unix.O_TRUNC, Look},
		{unix.O_TMPFILE | unix.O_RDWR, Read | Write | Create},
		{0xdeadbeef_00000000 | unix.O_WRONLY, Write},
	}
	for _, c := range cases {
		call, err := decodeCall(t, text("f"), "openat", 0xffffff9c, base, c.flags)
		if err != nil {
			t.Fatal(err)
		}
		if o := call.Objects[0]; o.Access != c.want || o.Dirfd != unix.AT_FDCWD || o.Path != "f" {
			t.Errorf("flags %#x: %v of %q at %d, want %v", c.flags, o.Access, o.Path, o.Dirfd, c.want)
		}
	}
}

// A string may end on the last byte before a hole; the kernel reads it, so we must.
func TestPathAtPageEnd(t *testing.T) {
	p := pages{}
	p.put(base+pageSize-3, []byte("ab\x00"))
	call, err := decodeCall(t, p, "unlink", base+pageSize-3)
	if err != nil || call.Objects[0].Path != "ab" {
		t.Fatalf("%v %v", call.Objects, err)
	}
	p.put(base+pageSize-3, []byte("abc")) // no NUL before the hole
	_, err = decodeCall(t, p, "unlink", base+pageSize-3)
	wantFault(t, err, syscall.EFAULT, true)
}

// PATH_MAX is 4096 bytes with the NUL (limits.h, path_resolution(7)).
func TestPathLength(t *testing.T) {
	for n, errno := range map[int]syscall.Errno{4094: 0, 4095: 0, 4096: syscall.ENAMETOOLONG, 5000: syscall.ENAMETOOLONG} {
		_, err := decodeCall(t, text(strings.Repeat("a", n)), "unlink", base)
		if errno == 0 {
			if err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		wantFault(t, err, errno, true)
	}
}

func TestNullPathIsPlainFault(t *testing.T) {
	_, err := decodeCall(t, pages{}, "openat", 0, 0, 0)
	wantFault(t, err, syscall.EFAULT, true)
}

// closedMemory is memory that is there, but not for ptguard.
type closedMemory struct{}

func (closedMemory) ReadMem([]byte, uint64) (int, error) { return 0, syscall.EPERM }

// Where nothing is mapped the kernel is certain to fault, too; where ptguard may be the only
// one that cannot read, its refusal has to be told.
func TestOnlyUnmappedIsPlain(t *testing.T) {
	_, err := decodeCall(t, pages{}, "unlink", base)
	wantFault(t, err, syscall.EFAULT, true)
	var c Call
	err = Decode(&c, rowNamed(t, "unlink"), [6]uint64{base}, closedMemory{}, true)
	wantFault(t, err, syscall.EFAULT, false)
}

func wantFault(t *testing.T, err error, errno syscall.Errno, plain bool) {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) || f.Errno != errno || f.Plain != plain {
		t.Errorf("got %v, want a fault of %v, plain %v", err, errno, plain)
	}
}

// copy_struct_from_user's rules for struct open_how (openat2(2)).
func TestOpenHow(t *testing.T) {
	how := func(flags uint64, extra ...byte) []byte {
		b := make([]byte, 24)
		binary.NativeEndian.PutUint64(b, flags)
		return append(b, extra...)
	}
	cases := []struct {
		raw   []byte
		size  uint64
		errno syscall.Errno
	}{
		{how(unix.O_WRONLY), 24, 0},
		{how(unix.O_WRONLY), 23, syscall.EINVAL},
		{how(unix.O_WRONLY, 0, 0, 0, 0), 28, 0},
		{how(unix.O_WRONLY, 0, 1), 26, syscall.E2BIG},
		{how(unix.O_WRONLY), 4097, syscall.E2BIG},
	}
	for _, c := range cases {
		p := text("f")
		p.put(base+pageSize, c.raw)
		call, err := decodeCall(t, p, "openat2", 5, base, base+pageSize, c.size)
		if c.errno != 0 {
			wantFault(t, err, c.errno, true)
			continue
		}
		if err != nil || call.Objects[0].Access != Write || call.Objects[0].Dirfd != 5 {
			t.Errorf("size %d: %v %v", c.size, call.Objects, err)
		}
	}
}

func TestSockaddr(t *testing.T) {
	in := func(family uint16, port uint16, ip ...byte) []byte {
		b := binary.NativeEndian.AppendUint16(nil, family)
		b = binary.BigEndian.AppendUint16(b, port)
		return append(append(b, ip...), make([]byte, 8)...)
	}
	in6 := func(port uint16, ip string) []byte {
		b := binary.NativeEndian.AppendUint16(nil, unix.AF_INET6)
		b = binary.BigEndian.AppendUint16(b, port)
		a := netip.MustParseAddr(ip).As16()
		return append(append(append(b, 0, 0, 0, 0), a[:]...), 0, 0, 0, 0)
	}
	un := func(path string) []byte { return append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), path...) }
	cases := []struct {
		name  string
		raw   []byte
		call  string
		want  SockAddr
		errno syscall.Errno
	}{
		{"inet", in(unix.AF_INET, 80, 127, 0, 0, 1), "connect", SockAddr{Family: unix.AF_INET, Port: 80, IP: netip.MustParseAddr("127.0.0.1")}, 0},
		{"inet short", in(unix.AF_INET, 80, 127, 0, 0, 1)[:15], "connect", SockAddr{}, syscall.EINVAL},
		{"v4-mapped", in6(80, "::ffff:127.0.0.1"), "connect", SockAddr{Family: unix.AF_INET6, Port: 80, IP: netip.MustParseAddr("127.0.0.1")}, 0},
		{"inet6 without scope id", in6(80, "::1")[:24], "connect", SockAddr{Family: unix.AF_INET6, Port: 80, IP: netip.MustParseAddr("::1")}, 0},
		{"inet6 short", in6(80, "::1")[:23], "connect", SockAddr{}, syscall.EINVAL},
		{"unspec connect dissolves", in(unix.AF_UNSPEC, 80, 1, 2, 3, 4), "connect", SockAddr{Unnamed: true}, 0},
		{"unspec bind is inet", in(unix.AF_UNSPEC, 80, 0, 0, 0, 0), "bind", SockAddr{Family: unix.AF_INET, Port: 80, IP: netip.MustParseAddr("0.0.0.0")}, 0},
		{"unix path", un("/run/x.sock\x00junk"), "connect", SockAddr{Family: unix.AF_UNIX, Path: "/run/x.sock"}, 0},
		{"unix path without NUL", un("/run/x"), "connect", SockAddr{Family: unix.AF_UNIX, Path: "/run/x"}, 0},
		{"abstract", un("\x00a\x00b"), "connect", SockAddr{Family: unix.AF_UNIX, Abstract: "a\x00b", NoPath: true}, 0},
		{"autobind", un(""), "bind", SockAddr{Family: unix.AF_UNIX, Unnamed: true}, 0},
		{"one byte", []byte{1}, "connect", SockAddr{}, syscall.EINVAL},
	}
	for _, c := range cases {
		p := pages{}
		p.put(base, c.raw)
		call, err := decodeCall(t, p, c.call, 3, base, uint64(len(c.raw)))
		switch {
		case c.errno != 0:
			wantFault(t, err, c.errno, true)
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case unraw(call.Objects[0].Addr) != c.want:
			t.Errorf("%s: %+v, want %+v", c.name, call.Objects[0].Addr, c.want)
		}
	}
	if _, err := decodeCall(t, pages{}, "connect", 3, base, 200); err == nil {
		t.Error("a length above sizeof(struct sockaddr_storage) must be EINVAL")
	}
	// UDP's sendto takes AF_UNSPEC as AF_INET (net/ipv4/udp.c).
	p := pages{}
	p.put(base, in(unix.AF_UNSPEC, 53, 10, 0, 0, 1))
	call, err := decodeCall(t, p, "sendto", 3, 0, 0, 0, base, 16)
	if err != nil || call.Objects[0].Addr.IP != netip.MustParseAddr("10.0.0.1") {
		t.Errorf("sendto unspec: %v %v", call.Objects, err)
	}
}

// Every element of a message vector is looked at, not the first alone.
func TestSendmmsgEveryElement(t *testing.T) {
	p := pages{}
	addr := func(at uint64, last byte) {
		b := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
		p.put(at, append(b, 0, 53, 10, 0, 0, last, 0, 0, 0, 0, 0, 0, 0, 0))
	}
	addr(base+0x800, 1)
	addr(base+0x900, 2)
	for i, name := range []uint64{base + 0x800, 0, base + 0x900} { // msg_name
		hdr := binary.NativeEndian.AppendUint64(nil, name)
		hdr = binary.NativeEndian.AppendUint32(hdr, 16)
		p.put(base+uint64(i)*64, append(hdr, make([]byte, 52)...))
	}
	call, err := decodeCall(t, p, "sendmmsg", 3, base, 3, 0)
	if err != nil || len(call.Objects) != 2 || call.Objects[1].Index != 2 || call.Objects[1].Addr.IP.String() != "10.0.0.2" {
		t.Fatalf("%+v %v", call.Objects, err)
	}
}

func TestFlagsOfNames(t *testing.T) {
	p := text("a")
	p.put(base+0x100, []byte("b\x00"))
	call, _ := decodeCall(t, p, "renameat2", 3, base, 4, base+0x100, unix.RENAME_EXCHANGE)
	if call.Objects[0].Act != ActExchange || call.Objects[1].Access != Remove|Create || call.Objects[1].Dirfd != 4 {
		t.Errorf("exchange: %+v", call.Objects)
	}
	if call, _ := decodeCall(t, p, "renameat2", 3, base, 4, base+0x100, unix.RENAME_WHITEOUT); call.Refuse == nil {
		t.Error("a whiteout is a device node")
	}
	if call, _ := decodeCall(t, p, "unlinkat", 3, base, unix.AT_REMOVEDIR); call.Objects[0].Act != ActRmdir || call.Event != "os.rmdir" {
		t.Errorf("AT_REMOVEDIR: %+v %s", call.Objects, call.Event)
	}
	if call, _ := decodeCall(t, p, "linkat", 3, base, 4, base+0x100, unix.AT_SYMLINK_FOLLOW); call.Objects[0].NoFollow || call.Objects[1].Kind != Entry {
		t.Errorf("AT_SYMLINK_FOLLOW: %+v", call.Objects)
	}
	if call, _ := decodeCall(t, p, "linkat", 3, base, 4, base+0x100, 0); !call.Objects[0].NoFollow {
		t.Error("linkat does not follow its source by default")
	}
	if call, _ := decodeCall(t, p, "mknod", base, unix.S_IFBLK|0o600, 0); call.Refuse == nil {
		t.Error("block devices are refused")
	}
	if call, _ := decodeCall(t, p, "mknod", base, unix.S_IFIFO|0o600, 0); call.Refuse != nil {
		t.Error("FIFOs are not")
	}
	if call, _ := decodeCall(t, pages{}, "utimensat", 7, 0, 0, 0); call.Objects[0].Kind != FD || call.Objects[0].Dirfd != 7 {
		t.Errorf("utimensat of a descriptor: %+v", call.Objects)
	}
}

func TestArgv(t *testing.T) {
	p := text("/bin/git")
	p.put(base+0x100, []byte("git\x00push\x00"))
	vector := binary.NativeEndian.AppendUint64(nil, base+0x100)
	vector = binary.NativeEndian.AppendUint64(vector, base+0x104)
	p.put(base+0x200, append(vector, make([]byte, 8)...))
	call, err := decodeCall(t, p, "execve", base, base+0x200, 0)
	if err != nil || !slices.Equal(call.Argv, []string{"git", "push"}) {
		t.Errorf("%q %v", call.Argv, err)
	}
	if call, err := decodeCall(t, p, "execve", base, 0, 0); err != nil || call.Argv != nil {
		t.Errorf("NULL argv: %q %v", call.Argv, err)
	}
}

// Any words and any memory: no panic, bounded reads, and an error or objects.
func FuzzDecode(f *testing.F) {
	f.Add(uint16(1), uint64(0), uint64(base), uint64(2), uint64(24), uint64(base+8), uint64(16), []byte("/etc/passwd\x00"))
	f.Add(uint16(3), uint64(base), uint64(base), uint64(base), uint64(24), uint64(base), uint64(128), []byte{1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, row uint16, a, b, c, d, e, g uint64, mem []byte) {
		p := pages{}
		p.put(base, mem)
		var call Call
		r := &Rows[int(row)%len(Rows)]
		m := &counting{pages: p}
		if err := Decode(&call, r, [6]uint64{a, b, c, d, e, g}, m, true); err != nil {
			var fault *Fault
			if !errors.As(err, &fault) || fault.Errno == 0 {
				t.Fatalf("%s: %v is no fault", r.Name, err)
			}
		}
		if m.bytes > 64<<20 {
			t.Fatalf("%s read %d bytes", r.Name, m.bytes)
		}
	})
}

type counting struct {
	pages
	bytes int
}

func (c *counting) ReadMem(buf []byte, addr uint64) (int, error) {
	n, err := c.pages.ReadMem(buf, addr)
	c.bytes += n
	return n, err
}

// unraw drops the bytes that an address was read from.
func unraw(a SockAddr) SockAddr {
	a.Raw = ""
	return a
}
