// SPDX-License-Identifier: Apache-2.0

// Package image tells what the kernel starts for a program file: its #! interpreter or its
// ELF loader (execve(2)). The tracer judges each of them, and cmd names them to the policy.
package image

import (
	"bytes"
	"debug/elf"
	"os"
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
	f := os.NewFile(uintptr(n), "program")
	defer f.Close()
	var head [headSize]byte
	got, err := unix.Pread(n, head[:], 0)
	if err != nil {
		return Follower{}, err
	}
	if name, ok := interpreter(head[:got]); ok {
		return Follower{Path: name}, nil
	}
	if !bytes.HasPrefix(head[:got], []byte(elf.ELFMAG)) {
		return Follower{}, nil
	}
	return loader(f), nil
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

// loader finds PT_INTERP. A broken ELF file has none: the kernel will not run it.
func loader(f *os.File) Follower {
	image, err := elf.NewFile(f)
	if err != nil {
		return Follower{}
	}
	for _, p := range image.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz > 1 && p.Filesz <= unix.PathMax {
			name := make([]byte, p.Filesz)
			if _, err := p.ReadAt(name, 0); err != nil {
				return Follower{}
			}
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			return Follower{Path: string(name), Loader: true}
		}
	}
	return Follower{}
}
