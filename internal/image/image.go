// SPDX-License-Identifier: Apache-2.0

// Package image tells what the kernel starts for a program file: its #! interpreter or its
// ELF loader (execve(2)). The tracer judges each of them, and cmd names them to the policy.
package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"math"
	"strconv"

	"golang.org/x/sys/unix"
)

// MaxScripts is how many #! interpreters the kernel follows (execve(2), "Interpreter
// scripts": more than four levels give ELOOP; one more is read here).
const MaxScripts = 5

// Follower is what follows from a program file.
type Follower struct {
	Path   string // as the file names it; "" if nothing follows
	Loader bool   // the ELF loader (PT_INTERP), else a #! interpreter
}

// headSize is BINPRM_BUF_SIZE of linux/binfmts.h: the part of a script that the kernel reads.
const headSize = 256

// Next reads the start of the regular file behind fd, which may be an O_PATH descriptor.
// What is neither a script nor ELF has no follower: execve gives ENOEXEC, or binfmt_misc
// chooses a handler. The error is an errno of open(2) or read(2).
func Next(fd int) (Follower, error) {
	// A regular file cannot block on a reader, and execve itself opens it too.
	n, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return Follower{}, err
	}
	defer unix.Close(n)
	var room [usual]byte // mostly all that is needed
	got, err := unix.Pread(n, room[:], 0)
	if err != nil {
		return Follower{}, err
	}
	start := room[:got]
	head := start[:min(got, headSize)]
	if name, ok := interpreter(head); ok {
		return Follower{Path: name}, nil
	}
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		return Follower{}, nil
	}
	// The kernel's buffer is longer than a short file, and zero there.
	var whole [headSize]byte
	copy(whole[:], head)
	return loader(whole[:], func(buf []byte, at uint64) error {
		if at <= uint64(len(start)) && uint64(len(buf)) <= uint64(len(start))-at {
			copy(buf, start[at:])
			return nil
		}
		return readFull(n, buf, at)
	}), nil
}

// usual is as much as holds the program headers and the name of the loader in any file that a
// linker has made.
const usual = 4096

// readFull is the kernel's elf_read: all of it, or nothing.
func readFull(fd int, buf []byte, at uint64) error {
	for len(buf) > 0 {
		if at > math.MaxInt64 {
			return unix.EINVAL
		}
		n, err := unix.Pread(fd, buf, int64(at))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return unix.EIO
		default:
			buf, at = buf[n:], at+uint64(n)
		}
	}
	return nil
}

// interpreter is the kernel's reading of a #! line (fs/binfmt_script.c): blanks before the
// name are skipped, it ends at a blank, NUL or newline.
func interpreter(head []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(head, []byte("#!"))
	if !ok {
		return "", false
	}
	if end := bytes.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end]
	}
	rest = bytes.TrimLeft(rest, " \t")
	if end := bytes.IndexAny(rest, " \t\x00"); end >= 0 {
		rest = rest[:end]
	}
	return string(rest), len(rest) > 0
}

// layout is where the fields of an ELF header and of a program header lie.
type layout struct {
	phoff, phentsize     int
	size                 int // of a program header
	offset, filesz, wide int // in one; wide: of an offset or size
}

var (
	layout64 = layout{phoff: 32, phentsize: 54, size: 56, offset: 8, filesz: 32, wide: 8}
	layout32 = layout{phoff: 28, phentsize: 42, size: 32, offset: 4, filesz: 16, wide: 4}
)

// loader finds the PT_INTERP that the kernel finds (fs/binfmt_elf.c: load_elf_phdrs,
// load_elf_binary): of the header it looks at the machine, not at the class, and it reads no
// section, so what is wrong with those does not keep a file from being run. A file that it
// would not run has no loader.
func loader(head []byte, read func(buf []byte, at uint64) error) Follower {
	layouts := []layout{layout64, layout32}
	switch elf.Machine(binary.LittleEndian.Uint16(head[18:])) {
	case elf.EM_X86_64: // the second is x32, which the kernel tries last
	case elf.EM_AARCH64:
		layouts = layouts[:1]
	case elf.EM_386, elf.EM_486, elf.EM_ARM:
		layouts = layouts[1:]
	default: // for binfmt_misc, whose handler is judged when it has been started
	}
	for _, l := range layouts {
		if int(binary.LittleEndian.Uint16(head[l.phentsize:])) != l.size {
			continue // no file of this layout
		}
		return l.loader(head, read)
	}
	return Follower{}
}

func (l *layout) loader(head []byte, read func(buf []byte, at uint64) error) Follower {
	word := func(b []byte) uint64 {
		if l.wide == 4 {
			return uint64(binary.LittleEndian.Uint32(b))
		}
		return binary.LittleEndian.Uint64(b)
	}
	count := int(binary.LittleEndian.Uint16(head[l.phentsize+2:]))
	if count == 0 || count*l.size > 65536 {
		return Follower{}
	}
	headers := make([]byte, count*l.size)
	if read(headers, word(head[l.phoff:])) != nil {
		return Follower{} // the kernel cannot read them either
	}
	for ; len(headers) > 0; headers = headers[l.size:] {
		if elf.ProgType(binary.LittleEndian.Uint32(headers)) != elf.PT_INTERP {
			continue
		}
		size := word(headers[l.filesz:])
		if size < 2 || size > unix.PathMax {
			return Follower{}
		}
		name := make([]byte, size)
		if read(name, word(headers[l.offset:])) != nil {
			return Follower{}
		}
		if path, _, ended := bytes.Cut(name, []byte{0}); ended {
			return Follower{Path: string(path), Loader: true}
		}
		return Follower{}
	}
	return Follower{}
}
