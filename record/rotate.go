// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxKeep bounds how many rotated parts of a trace are kept.
const maxKeep = 1000

// rotation keeps a trace from growing without end: a file that would exceed its size becomes
// FILE.1, what was that FILE.2, and so on; the oldest part is gone. The names are changed in
// the directory that was there at the start, wherever its own name leads by then.
type rotation struct {
	max  int64 // bytes
	keep int
	dir  int // O_PATH
	base string
	size int64
	// held keeps the files that had these names at the start: an inode number that the guard
	// knows must not become that of another file.
	held []int
}

// newRotation prepares the rotation of t, which must be a file opened by name.
func newRotation(t *target, limit int64, keep int) (*rotation, error) {
	switch {
	case t.path == "" || t.stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errors.New("only a file has a size to keep to")
	case keep < 1 || keep > maxKeep:
		return nil, fmt.Errorf("%d rotated files: 1 to %d are kept", keep, maxKeep)
	}
	folder, base := filepath.Split(t.path) // filepath.Dir would take link/.. for nothing
	r := &rotation{max: limit, keep: keep, dir: -1, base: base, size: t.stat.Size}
	var err error
	if r.dir, err = unix.Open(folder+".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open %s: %w", Escape(folder), err)
	}
	for i := range keep + 1 {
		if fd, err := unix.Openat(r.dir, r.part(i), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			r.held = append(r.held, fd)
		}
	}
	return r, nil
}

func (r *rotation) part(n int) string {
	if n == 0 {
		return r.base
	}
	return PartName(r.base, n)
}

// full tells whether a line must go into a new file.
func (r *rotation) full(line int) bool { return r.size > 0 && r.size+int64(line) > r.max }

// turn changes the names and opens the new file in t. After an error t is as before.
func (r *rotation) turn(t *target) error {
	var named unix.Stat_t
	if err := unix.Fstatat(r.dir, r.base, &named, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		if named.Dev != t.stat.Dev || named.Ino != t.stat.Ino {
			return fmt.Errorf("rotate: %s is another file by now", Escape(t.path))
		}
		for i := r.keep - 1; i >= 0; i-- {
			err := unix.Renameat(r.dir, r.part(i), r.dir, r.part(i+1))
			if err != nil && (i == 0 || !errors.Is(err, unix.ENOENT)) {
				return fmt.Errorf("rotate to %s: %w", Escape(r.part(i+1)), err)
			}
		}
	}
	fd, err := unix.Openat(r.dir, r.base, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NOFOLLOW, 0o600)
	if err == nil {
		if err = unix.Fstat(fd, &t.stat); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		_ = unix.Renameat(r.dir, r.part(1), r.dir, r.base) // best effort: go on where we were
		return fmt.Errorf("rotate: open %s: %w", Escape(t.path), err)
	}
	_ = unix.Close(t.fd)
	t.fd, r.size = fd, 0
	return nil
}

func (r *rotation) close() {
	for _, fd := range append(r.held, r.dir) {
		_ = unix.Close(fd)
	}
}
