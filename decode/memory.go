// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
)

// Memory is all that decoding may ask of the tracee.
type Memory interface {
	// ReadMem reads into buf from the tracee's address addr. It may be short where the
	// mapping ends; n is 0 only with an error, which is ErrUnmapped where the kernel's own
	// copy for the task would fault, too.
	ReadMem(buf []byte, addr uint64) (n int, err error)
}

// ErrUnmapped says that nothing can be read at an address, by nobody.
var ErrUnmapped = errors.New("nothing is mapped there")

// Fault says that an argument does not decode. The caller refuses the call with Errno,
// which is what the kernel itself would answer if it met the same words.
type Fault struct {
	Errno syscall.Errno
	// Plain: the kernel is certain to answer the same, so this is no refusal of ours (a
	// pointer to nothing, a path without end). Else ptguard alone may be blind here.
	Plain bool
	What  string
}

func (f *Fault) Error() string { return fmt.Sprintf("%s: %v", f.What, f.Errno) }

// Unwrap gives the errno.
func (f *Fault) Unwrap() error { return f.Errno }

const (
	pageSize = 4096 // the smallest page of both architectures: reads never cross one more than needed
	pathMax  = 4096 // PATH_MAX, with the NUL
)

func unreadable(what string, err error) error {
	return &Fault{Errno: syscall.EFAULT, Plain: errors.Is(err, ErrUnmapped), What: "read " + what}
}

// readString reads a NUL-terminated string of at most limit bytes with the NUL. It reads
// to the end of a page first, for the string may end just before a hole (techniques B12).
func readString(m Memory, buf []byte, addr uint64, limit int, what string) (string, error) {
	text, err := readText(m, buf[:min(len(buf), limit)], addr, what)
	return string(text), err
}

// readString is readString for a path of the call, without an allocation for one that was
// read before.
func (c *Call) readString(m Memory, addr uint64, what string) (string, error) {
	text, err := readText(m, c.buf[:], addr, what)
	return c.kept.Of(text), err
}

// readText reads a string into buf.
func readText(m Memory, buf []byte, addr uint64, what string) ([]byte, error) {
	n := 0
	for n < len(buf) {
		want := min(len(buf)-n, pageSize-int((addr+uint64(n))%pageSize))
		got, err := m.ReadMem(buf[n:n+want], addr+uint64(n))
		if err != nil || got == 0 {
			return nil, unreadable(what, err)
		}
		if end := bytes.IndexByte(buf[n:n+got], 0); end >= 0 {
			return buf[:n+end], nil
		}
		n += got
	}
	return nil, &Fault{Errno: syscall.ENAMETOOLONG, Plain: true, What: "read " + what}
}

// readFull reads exactly len(buf) bytes.
func readFull(m Memory, buf []byte, addr uint64, what string) error {
	for n := 0; n < len(buf); {
		got, err := m.ReadMem(buf[n:], addr+uint64(n))
		if err != nil || got == 0 {
			return unreadable(what, err)
		}
		n += got
	}
	return nil
}

// The limits of an argument vector that is read: far above what a rule can match, far
// below what would let a tree fill our memory (MAX_ARG_STRLEN is 128 KiB, execve(2)).
const (
	maxArgs     = 8192
	maxArgBytes = 1 << 20
)

var errArgs = errors.New("argument vector too long to judge")

// readArgv reads argv[]; a NULL pointer is an empty vector, as for the kernel.
func readArgv(m Memory, addr uint64) ([]string, error) {
	if addr == 0 {
		return nil, nil
	}
	var out []string
	var word [8]byte
	buf := make([]byte, 128<<10)
	for total := 0; ; addr += 8 {
		if err := readFull(m, word[:], addr, "argv"); err != nil {
			return nil, err
		}
		p := binary.LittleEndian.Uint64(word[:])
		if p == 0 {
			return out, nil
		}
		s, err := readString(m, buf, p, len(buf), "argument")
		if err != nil {
			return nil, err
		}
		if total += len(s) + 1; len(out) == maxArgs || total > maxArgBytes {
			return nil, &Fault{Errno: syscall.E2BIG, What: errArgs.Error()}
		}
		out = append(out, s)
	}
}

// ReadPath copies a pathname that names nothing to be judged (the text of a symbolic link).
func ReadPath(m Memory, addr uint64) (string, error) {
	var buf [pathMax]byte
	return readString(m, buf[:], addr, pathMax, "path")
}

// ReadXattrName copies the name of an extended attribute.
func ReadXattrName(m Memory, addr uint64) (string, error) {
	var buf [256]byte // XATTR_NAME_MAX, with the NUL
	name, err := readString(m, buf[:], addr, len(buf), "attribute name")
	var fault *Fault
	if errors.As(err, &fault) && fault.Errno == syscall.ENAMETOOLONG {
		fault.Errno = syscall.ERANGE // xattr(7)
	}
	return name, err
}
