// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// The filter is run in the BPF machine over every number, so no kernel is needed and the
// other architecture is tested too.

type data struct {
	nr, arch uint32
	args     [6]uint64
}

// bytes is struct seccomp_data. The BPF machine of x/net loads big-endian words as packet
// filters do, the kernel's seccomp loads native ones, so each word is laid out reversed.
func (d data) bytes() []byte {
	out := make([]byte, 64)
	word := func(off int, v uint32) { binary.BigEndian.PutUint32(out[off:], v) }
	word(0, d.nr)
	word(4, d.arch)
	for i, a := range d.args {
		word(16+8*i, uint32(a))
		word(20+8*i, uint32(a>>32))
	}
	return out
}

func machine(t *testing.T, a *decode.Arch, p decode.Policy) func(data) uint32 {
	t.Helper()
	program, err := compileFilter(a, p, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := assemble(program); err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return func(d data) uint32 {
		out, err := vm.Run(d.bytes())
		if err != nil {
			t.Fatal(err)
		}
		return uint32(out)
	}
}

var policies = []decode.Policy{{}, {Reads: true}, {ExecMap: true}, {Blind: true}, {Reads: true, ExecMap: true, Blind: true}, {Guard: true}, {Looks: true, Lists: true, Rules: true}, {Reads: true, ExecMap: true, Guard: true, Rules: true}, {Hardened: true, Forks: true, Rules: true, Scopes: true, Near: true}, {NoUnix: true, NoInet: true, NoInet6: true, NoNetlink: true}}

func TestFilterAnswersEveryNumber(t *testing.T) {
	for _, a := range []*decode.Arch{decode.AMD64, decode.ARM64} {
		for _, p := range policies {
			run := machine(t, a, p)
			pass := map[string]bool{}
			for _, name := range decode.PassthroughNames() {
				pass[name] = true
			}
			for nr := range uint32(2048) {
				// All argument bits set, so that every "any bit" test holds.
				all := ^uint64(0)
				got := run(data{nr: nr, arch: a.Audit, args: [6]uint64{all, all, all, all, all, all}})
				name := a.CallName(nr)
				switch {
				case name == "" && got != retTrace:
					t.Errorf("%s %+v: unknown number %d gives %#x", a.Name, p, nr, got)
				case pass[name] && got != retAllow:
					t.Errorf("%s %+v: %s gives %#x", a.Name, p, name, got)
				case name == "clone3" && got != retENOSYS:
					t.Errorf("%s %+v: clone3 gives %#x", a.Name, p, got)
				}
			}
			for _, nr := range []uint32{0x40000000, 0x40000000 | 257, 0xffffffff, 0x7fffffff, 4096, 1 << 20} {
				if got := run(data{nr: nr, arch: a.Audit}); got != retTrace {
					t.Errorf("%s: number %#x gives %#x", a.Name, nr, got)
				}
			}
		}
	}
}

// A foreign audit arch is never allowed, whatever its number means elsewhere.
func TestFilterTracesForeignArch(t *testing.T) {
	const i386, arm = 0x40000003, 0x40000028
	for _, a := range []*decode.Arch{decode.AMD64, decode.ARM64} {
		other := decode.AMD64
		if a == decode.AMD64 {
			other = decode.ARM64
		}
		run := machine(t, a, decode.Policy{})
		for _, foreign := range []uint32{i386, arm, other.Audit, 0} {
			for nr := range uint32(600) {
				if got := run(data{nr: nr, arch: foreign}); got != retTrace {
					t.Fatalf("%s: arch %#x number %d gives %#x", a.Name, foreign, nr, got)
				}
			}
		}
	}
}

func TestFilterArguments(t *testing.T) {
	const junk = 0xdeadbeef00000000 // the kernel drops the high half of an int argument
	cases := []struct {
		name string
		args [6]uint64
		p    decode.Policy
		want uint32
	}{
		{"openat", [6]uint64{0, 0, unix.O_RDONLY}, decode.Policy{}, retAllow},
		{"openat", [6]uint64{0, 0, unix.O_RDONLY | unix.O_CLOEXEC | unix.O_DIRECTORY}, decode.Policy{}, retAllow},
		{"openat", [6]uint64{0, 0, unix.O_RDONLY | junk}, decode.Policy{}, retAllow},
		{"openat", [6]uint64{0, 0, unix.O_RDONLY}, decode.Policy{Reads: true}, retTrace},
		{"openat", [6]uint64{0, 0, unix.O_WRONLY}, decode.Policy{}, retTrace},
		{"openat", [6]uint64{0, 0, unix.O_WRONLY | junk}, decode.Policy{}, retTrace},
		{"openat", [6]uint64{0, 0, unix.O_RDWR}, decode.Policy{}, retTrace},
		{"openat", [6]uint64{0, 0, 3}, decode.Policy{}, retTrace},
		{"openat", [6]uint64{0, 0, unix.O_CREAT}, decode.Policy{}, retTrace},
		{"openat", [6]uint64{0, 0, unix.O_TRUNC}, decode.Policy{}, retTrace},
		{"openat", [6]uint64{0, 0, unix.O_TMPFILE}, decode.Policy{}, retTrace},
		{"openat2", [6]uint64{}, decode.Policy{}, retTrace},
		{"clone", [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD}, decode.Policy{}, retAllow},
		{"clone", [6]uint64{unix.CLONE_NEWUSER}, decode.Policy{}, retTrace},
		{"clone", [6]uint64{unix.CLONE_UNTRACED | junk}, decode.Policy{}, retTrace},
		{"madvise", [6]uint64{0, 0, unix.MADV_HWPOISON | junk}, decode.Policy{}, retTrace},
		{"madvise", [6]uint64{0, 0, 101}, decode.Policy{}, retTrace},
		{"madvise", [6]uint64{0, 0, unix.MADV_DONTNEED}, decode.Policy{}, retAllow},
		{"unshare", [6]uint64{unix.CLONE_FILES}, decode.Policy{}, retAllow},
		{"unshare", [6]uint64{unix.CLONE_NEWNS | junk}, decode.Policy{}, retTrace},
		{"unshare", [6]uint64{unix.CLONE_NEWTIME}, decode.Policy{}, retTrace},
		{"sendto", [6]uint64{3, 1, 2, 0, 0, 0}, decode.Policy{}, retAllow},
		{"sendto", [6]uint64{3, 1, 2, 0, 0, 16}, decode.Policy{}, retAllow},
		{"sendto", [6]uint64{3, 1, 2, 0, 1, 0}, decode.Policy{}, retTrace},
		{"sendto", [6]uint64{3, 1, 2, 0, 0x7f00_0000_0000, 0}, decode.Policy{}, retTrace}, // low word zero
		{"mmap", [6]uint64{0, 1, unix.PROT_EXEC, unix.MAP_PRIVATE, 3}, decode.Policy{}, retAllow},
		{"mmap", [6]uint64{0, 1, unix.PROT_EXEC, unix.MAP_PRIVATE, 3}, decode.Policy{ExecMap: true}, retTrace},
		{"mmap", [6]uint64{0, 1, unix.PROT_EXEC | junk, unix.MAP_PRIVATE | junk, 3}, decode.Policy{ExecMap: true}, retTrace},
		{"mmap", [6]uint64{0, 1, unix.PROT_EXEC, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS, 3}, decode.Policy{ExecMap: true}, retAllow},
		{"mmap", [6]uint64{0, 1, unix.PROT_READ, unix.MAP_PRIVATE, 3}, decode.Policy{ExecMap: true}, retAllow},
		{"mprotect", [6]uint64{0, 1, unix.PROT_EXEC}, decode.Policy{ExecMap: true}, retTrace},
		{"mprotect", [6]uint64{0, 1, unix.PROT_READ}, decode.Policy{ExecMap: true}, retAllow},
		{"prlimit64", [6]uint64{0, 7}, decode.Policy{}, retAllow},
		{"prlimit64", [6]uint64{junk, 7}, decode.Policy{}, retAllow},
		{"prlimit64", [6]uint64{1, 7}, decode.Policy{}, retTrace},
		{"seccomp", [6]uint64{1, 0}, decode.Policy{}, retTrace}, // noted
		{"seccomp", [6]uint64{2, 0}, decode.Policy{}, retAllow},
		{"seccomp", [6]uint64{1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | junk}, decode.Policy{}, retTrace},
		{"ioctl", [6]uint64{0, 0x5413}, decode.Policy{}, retAllow},
		{"ioctl", [6]uint64{0, 0x5412}, decode.Policy{}, retTrace},
		{"ioctl", [6]uint64{0, 0x5412 | junk}, decode.Policy{}, retTrace},
		{"ioctl", [6]uint64{0, 0x40086602}, decode.Policy{}, retTrace},
		{"ioctl", [6]uint64{0, 0x40087602 | junk}, decode.Policy{}, retTrace}, // FS_IOC_SETVERSION
		{"ioctl", [6]uint64{0, 0x40806685}, decode.Policy{}, retTrace},        // FS_IOC_ENABLE_VERITY
		{"ioctl", [6]uint64{0, 0x5000940e}, decode.Policy{}, retTrace},        // BTRFS_IOC_SUBVOL_CREATE
		{"ioctl", [6]uint64{0, 0xaa00}, decode.Policy{}, retTrace},            // USERFAULTFD_IOC_NEW
		{"ioctl", [6]uint64{0, 0x40049409}, decode.Policy{}, retAllow},        // FICLONE
		{"ioctl", [6]uint64{0, 0x8915}, decode.Policy{}, retAllow},            // SIOCGIFADDR
		{"ioctl", [6]uint64{0, 0x8916}, decode.Policy{}, retTrace},            // SIOCSIFADDR
		{"prctl", [6]uint64{unix.PR_SCHED_CORE, 1, 0}, decode.Policy{}, retAllow},
		{"prctl", [6]uint64{unix.PR_SCHED_CORE, 1, 7}, decode.Policy{}, retTrace},
		{"prctl", [6]uint64{unix.PR_SET_NAME, 0}, decode.Policy{Blind: true}, retAllow},
		{"prctl", [6]uint64{unix.PR_SET_DUMPABLE, 0}, decode.Policy{Blind: true}, retTrace},
		{"prctl", [6]uint64{unix.PR_SET_DUMPABLE, 1}, decode.Policy{Blind: true}, retAllow},
		{"prctl", [6]uint64{unix.PR_SET_DUMPABLE, 0}, decode.Policy{}, retAllow},
		{"prctl", [6]uint64{unix.PR_SET_MM, 0}, decode.Policy{}, retTrace},
	}
	for _, a := range []*decode.Arch{decode.AMD64, decode.ARM64} {
		numbers := map[string]uint32{}
		for nr, name := range a.Names() {
			numbers[name] = nr
		}
		for _, c := range cases {
			nr, ok := numbers[c.name]
			if !ok {
				t.Fatalf("%s has no %s", a.Name, c.name)
			}
			run := machine(t, a, c.p)
			if got := run(data{nr: nr, arch: a.Audit, args: c.args}); got != c.want {
				t.Errorf("%s: %s%#x %+v gives %#x, want %#x", a.Name, c.name, c.args, c.p, got, c.want)
			}
		}
	}
}

// What the filter sends to the tracer, the tracer finds a row for, and what it finds a
// row for, the filter sends: both read the same conditions, here checked on random words.
func TestFilterAgreesWithRows(t *testing.T) {
	words := []uint64{
		0, 1, 2, 3, 4, 8, 16, 0x20, 0x40, 0x200, 0x5412, 0x541c, 0x5423, 0x10000, 0x400000, 0x800000, 0x10000000, 0x20000000,
		0x40086602, 0x401c5820, 1 << 32, 1<<63 | 1, ^uint64(0),
	}
	for _, a := range []*decode.Arch{decode.AMD64, decode.ARM64} {
		classes := a.Classes()
		for _, p := range policies {
			run := machine(t, a, p)
			for n, class := range classes {
				nr := uint32(n)
				if class.Pass || len(class.Rows) == 0 || a.CallName(nr) == "clone3" {
					continue
				}
				l := loop{policy: p}
				l.classes[nr] = class
				for i, w := range words {
					for j, v := range words {
						args := [6]uint64{w, v, words[(i+j)%len(words)], words[(i*3+j)%len(words)], v ^ w, w}
						traced := run(data{nr: nr, arch: a.Audit, args: args}) == retTrace
						if found := l.rowFor(nr, &args) != nil; found != traced {
							t.Fatalf("%s %s%#x %+v: filter traces %v, a row holds %v", a.Name, a.CallName(nr), args, p, traced, found)
						}
					}
				}
			}
		}
	}
}

// TestShareReturns: a program that shares its returns answers as it did, and is shorter by more
// than a third of what a policy's filter was. Every one of its instructions can be come to.
func TestShareReturns(t *testing.T) {
	t.Parallel()
	p := decode.Policy{Rules: true, Reads: true, Strict: true, Looks: true, Near: true}
	spans := numberSpans(native, p, true)
	before := searchTree([]bpf.Instruction{bpf.LoadAbsolute{Off: offNr, Size: 4}}, spans)
	after := shareReturns(before)
	if len(after) > len(before)*2/3 {
		t.Errorf("%d instructions of %d are left", len(after), len(before))
	}
	first, err := bpf.NewVM(before)
	if err != nil {
		t.Fatal(err)
	}
	second, err := bpf.NewVM(after)
	if err != nil {
		t.Fatal(err)
	}
	ran := map[int]bool{}
	for nr := range uint32(600) {
		for _, word := range []uint64{0, 1, 2, 3, 0x100, 0x10000, 1 << 32, ^uint64(0)} {
			call := data{nr: nr, args: [6]uint64{word, word, word, word, word, word}}.bytes()
			want, err := first.Run(call)
			if err != nil {
				t.Fatal(err)
			}
			got, err := second.Run(call)
			if err != nil || got != want {
				t.Fatalf("number %d with %#x: %#x (%v), want %#x", nr, word, got, err, want)
			}
			ran[want] = true
		}
	}
	if len(ran) < 3 {
		t.Errorf("only %d answers: this compares nothing", len(ran))
	}
	reached := make([]bool, len(after))
	reached[0] = true
	for i, in := range after {
		if !reached[i] {
			t.Errorf("nothing leads to %d: %v", i, in)
			continue
		}
		switch in := in.(type) {
		case bpf.RetConstant:
		case bpf.Jump:
			reached[i+1+int(in.Skip)] = true
		case bpf.JumpIf:
			reached[i+1+int(in.SkipTrue)], reached[i+1+int(in.SkipFalse)] = true, true
		default:
			reached[i+1] = true
		}
	}
}
