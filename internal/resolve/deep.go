// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// The kernel does not tell a name that is longer than PATH_MAX. Such are found by going up, from
// directory to directory, to one that it can tell, looking in each for the name of the one below;
// then they are walked down again, for a directory may have been moved meanwhile. It costs a few
// system calls a directory, and needs read permission in each.

const (
	maxDeep    = 128     // directories that are gone up, a power of two
	maxEntries = 1 << 13 // names that are looked at on the way, in all
)

// errSingle asks for the walk to be made anew in single steps: a file has no way up but by the
// directory in which it was found.
var errSingle = errors.New("walk: the name of a file is too long to be told")

// deepName finds the name of fd where the kernel finds it too long. "" if that is not possible.
func (w *walk) deepName(fd int, st *unix.Stat_t) (string, error) {
	if w.served != nil {
		return "", nil // reading a directory would ask its file system
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return w.deepDir(fd, st), nil
	}
	switch {
	case w.o.Jumped && w.name == "":
		return "", nil
	case !w.single:
		return "", errSingle
	case w.name == "" || w.cur < 0:
		return "", nil
	}
	var dir, found unix.Stat_t
	if fstat(w.cur, &dir) != 0 || w.fstatat(w.cur, w.name, &found) != 0 || !sameObject(&found, st) {
		return "", nil
	}
	text, errno := w.text(w.cur)
	path := string(text)
	if errno == unix.ENAMETOOLONG {
		path = w.deepDir(w.cur, &dir)
	}
	if (errno != 0 && errno != unix.ENAMETOOLONG) || path == "" || path[0] != '/' {
		return "", nil
	}
	return path + "/" + w.name, nil
}

func sameObject(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// deepDir is deepName of a directory.
func (w *walk) deepDir(fd int, st *unix.Stat_t) string {
	want, below := *st, *st
	var names []string // from the last upwards
	entries := maxEntries
	at := fd
	defer func() {
		if at != fd {
			closeFD(at)
		}
	}()
	for n := 1; n <= maxDeep; n++ {
		up, errno := w.openat(at, "..", unix.O_DIRECTORY, 0)
		if errno != 0 {
			return ""
		}
		if at != fd {
			closeFD(at)
		}
		at = up
		var above unix.Stat_t
		if fstat(at, &above) != 0 {
			return ""
		}
		if sameObject(&above, &below) { // "/" is above itself
			return w.downFrom("/", names, &want)
		}
		name := w.nameIn(at, &below, &entries)
		if name == "" {
			return ""
		}
		names, below = append(names, name), above
		if n&(n-1) != 0 {
			continue // to be told no takes the kernel as long as all the rest
		}
		text, errno := w.text(at)
		if errno == 0 {
			return w.downFrom(string(text), names, &want)
		}
		if errno != unix.ENAMETOOLONG {
			return ""
		}
	}
	return ""
}

// nameIn looks in the directory dir for the name of the one that st is of. left bounds the names
// that are looked at.
func (w *walk) nameIn(dir int, st *unix.Stat_t, left *int) string {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) { // O_NOATIME is for the owner
		fd, err = unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return ""
	}
	defer closeFD(fd)
	var buf [8192]byte
	for {
		n, err := unix.Getdents(fd, buf[:])
		if err != nil || n <= 0 {
			return ""
		}
		for b := buf[:n]; len(b) >= 19; { // struct linux_dirent64 (getdents(2))
			size := int(binary.NativeEndian.Uint16(b[16:]))
			if size < 19 || size > len(b) {
				return ""
			}
			ino, text := binary.NativeEndian.Uint64(b), b[19:size]
			b = b[size:]
			if *left--; *left < 0 {
				return ""
			}
			if end := bytes.IndexByte(text, 0); end >= 0 {
				text = text[:end]
			}
			name := string(text)
			if ino != st.Ino || name == "." || name == ".." || name == "" {
				continue
			}
			var found unix.Stat_t
			if w.fstatat(dir, name, &found) == 0 && sameObject(&found, st) {
				return name
			}
		}
	}
}

// downFrom walks from dir, which the kernel has told, along names, given from the last upwards, and
// gives the whole name if it leads to want.
func (w *walk) downFrom(dir string, names []string, want *unix.Stat_t) string {
	if len(dir) == 0 || dir[0] != '/' || strings.HasSuffix(dir, deletedSuffix) {
		return ""
	}
	at, errno := w.openat(w.view.root, "."+dir, unix.O_DIRECTORY, noLinks)
	if errno != 0 {
		return ""
	}
	defer func() { closeFD(at) }()
	b := append([]byte(nil), strings.TrimSuffix(dir, "/")...)
	for i := len(names) - 1; i >= 0; i-- {
		next, errno := w.openat(at, names[i], unix.O_DIRECTORY|unix.O_NOFOLLOW, noLinks)
		if errno != 0 {
			return ""
		}
		closeFD(at)
		at = next
		b = append(append(b, '/'), names[i]...)
	}
	var st unix.Stat_t
	if fstat(at, &st) != 0 || !sameObject(&st, want) {
		return ""
	}
	return string(b)
}
