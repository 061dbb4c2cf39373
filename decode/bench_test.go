// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"testing"

	"golang.org/x/sys/unix"
)

// page is the memory of a tracee: text at the beginning of one page.
type page []byte

func (p page) ReadMem(buf []byte, addr uint64) (int, error) {
	if addr < 0x1000 || addr >= 0x1000+uint64(len(p)) {
		return 0, ErrUnmapped
	}
	return copy(buf, p[addr-0x1000:]), nil
}

// calls that programs make all the time, with their paths at 0x1000 and 0x1100.
var everyday = []struct {
	name string
	args [6]uint64
}{
	{"openat", [6]uint64{^uint64(99), 0x1000, unix.O_RDONLY | unix.O_CLOEXEC}},
	{"openat", [6]uint64{^uint64(99), 0x1000, unix.O_WRONLY | unix.O_CREAT, 0o644}},
	{"newfstatat", [6]uint64{^uint64(99), 0x1000, 0, unix.AT_SYMLINK_NOFOLLOW}},
	{"unlinkat", [6]uint64{^uint64(99), 0x1000, 0}},
	{"renameat2", [6]uint64{^uint64(99), 0x1000, ^uint64(99), 0x1100, 0}},
	{"faccessat", [6]uint64{^uint64(99), 0x1000, unix.R_OK}},
	{"mkdirat", [6]uint64{^uint64(99), 0x1000, 0o755}},
	{"connect", [6]uint64{3, 0x1200, 30}},
	{"openat2", [6]uint64{^uint64(99), 0x1000, 0x1300, 24}},
}

func everydayMemory() page {
	p := make(page, 4096)
	copy(p, "/usr/lib/x86_64-linux-gnu/libc.so.6\x00")
	copy(p[0x100:], "/home/me/project/out.txt\x00")
	copy(p[0x200:], "\x01\x00/run/socket\x00")
	return p
}

func everydayRow(t testing.TB, name string, args *[6]uint64) *Row {
	t.Helper()
	for i := range Rows {
		row := &Rows[i]
		tests, traced := row.Conditions(Policy{Reads: true, Looks: true, Lists: true, Rules: true})
		if row.Name != name || !traced || row.Const != nil {
			continue
		}
		for _, test := range tests {
			if test.Holds(args) {
				return row
			}
		}
		if len(tests) == 0 {
			return row
		}
	}
	t.Fatalf("no row for %s", name)
	return nil
}

// Decoding what was decoded before costs no allocation.
func TestDecodeAllocatesNothing(t *testing.T) {
	m := everydayMemory()
	var c Call
	for _, x := range everyday {
		row := everydayRow(t, x.name, &x.args)
		if n := testing.AllocsPerRun(100, func() {
			if err := Decode(&c, row, x.args, &m, false); err != nil {
				t.Fatalf("%s: %v", x.name, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", x.name, n)
		}
		if len(c.Objects) == 0 || c.Objects[0].Path == "" {
			t.Errorf("%s: objects %+v", x.name, c.Objects)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	m := everydayMemory()
	var c Call
	for _, x := range everyday {
		row := everydayRow(b, x.name, &x.args)
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Decode(&c, row, x.args, &m, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
