// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const deletedSuffix = " (deleted)"

// ordinary completes the object with fd, which was found by its name.
func (w *walk) ordinary(fd int) error {
	w.o.Magic, w.o.MagicPID, w.o.MagicFD, w.o.HeldFlags = MagicNone, 0, 0, 0
	return w.reached(fd)
}

// reached completes the object with fd.
func (w *walk) reached(fd int) error {
	o := w.o
	o.FD = fd
	if errno := fstat(fd, &o.Stat); errno != 0 {
		return fmt.Errorf("stat object: %w", errno)
	}
	o.Exists = true
	if err := w.identify(fd, &o.Stat, w.found); err != nil {
		return err
	}
	if (w.mustDir || w.flags&Directory != 0) && o.Stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		o.Stop = o.Path
		return w.refuse(unix.ENOTDIR, o.Path)
	}
	if !o.LastDot {
		o.Name = baseName(o.Path)
	}
	return w.ofProcess(fd, &o.Stat)
}

// entry completes the object with fd, the entry name of cur.
func (w *walk) entry(fd int, name string) error {
	o := w.o
	o.FD = fd
	if errno := fstat(fd, &o.Stat); errno != 0 {
		return fmt.Errorf("stat object: %w", errno)
	}
	o.Exists = true
	if err := w.inParent(name); err != nil {
		return err
	}
	return w.ofProcess(fd, &o.Stat)
}

// inParent makes cur the object's parent and name its name, present or absent.
func (w *walk) inParent(name string) error {
	o := w.o
	if errno := fstat(w.cur, &w.st); errno != 0 {
		return fmt.Errorf("stat parent: %w", errno)
	}
	if err := w.identify(w.cur, &w.st, w.known); err != nil {
		return err
	}
	// No name can be made in a removed directory or in proc.
	if !o.Exists && (o.NamelessKind == "deleted" || w.onProc(w.cur, &w.st)) {
		return w.fail(unix.ENOENT)
	}
	if w.cur == w.view.root {
		var errno syscall.Errno
		if o.Parent, errno = w.openat(w.cur, ".", unix.O_DIRECTORY, 0); errno != 0 {
			return w.fail(errno)
		}
	} else {
		o.Parent, w.cur = w.cur, -1
	}
	o.Magic, o.MagicPID, o.MagicFD, o.HeldFlags = MagicNone, 0, 0, 0
	o.Name = name
	if !o.Nameless {
		o.Path = w.join(o.Path, name)
	}
	return nil
}

// identify sets Path, or Nameless and its kind, to what the kernel calls fd; known is that, if
// it need not be asked.
func (w *walk) identify(fd int, st *unix.Stat_t, known string) error {
	o := w.o
	if known != "" {
		o.Path = known
		return nil
	}
	// A name can change between the question for it and its proof: ask again then.
	for range maxSwaps {
		text, errno := w.text(fd)
		switch {
		case errno == unix.ENAMETOOLONG:
			path, err := w.deepName(fd, st)
			if o.Path = path; path == "" && err == nil {
				o.Nameless, o.NamelessKind = true, "unreachable"
			}
			return err
		case errno != 0:
			return fmt.Errorf("read name of object: %w", errno)
		case len(text) == 0 || text[0] != '/':
			o.Nameless, o.NamelessKind = true, kindOf(text)
			return nil
		}
		gone := bytes.HasSuffix(text, []byte(deletedSuffix))
		path := w.names.Of(text)
		if !gone && !w.unsure {
			o.Path = path
			return nil
		}
		proof, err := w.leadsTo(path, fd, st)
		switch {
		case err != nil:
			return err
		case proof:
			o.Path = path
			return nil
		case gone:
			o.Nameless, o.NamelessKind = true, "deleted"
			if strings.HasPrefix(path, "/memfd:") && w.isMemfd(fd, st) {
				o.NamelessKind = "memfd"
			}
			return nil
		}
	}
	o.Nameless, o.NamelessKind = true, "unreachable"
	return nil
}

// leadsTo says whether path names the object fd. A path longer than PATH_MAX names nothing.
func (w *walk) leadsTo(path string, fd int, st *unix.Stat_t) (bool, error) {
	if len(path) >= pathMax {
		return false, nil
	}
	var there unix.Stat_t
	switch errno := w.fstatat(unix.AT_FDCWD, path, &there); errno {
	case 0:
		return there.Dev == st.Dev && there.Ino == st.Ino, nil
	case unix.EACCES:
		// We stand where we may not walk to. A mount that is in our name space has the
		// names that the kernel gives; a deleted file has none.
		if strings.HasSuffix(path, deletedSuffix) {
			return false, nil
		}
		m, err := w.view.mountOf(fd)
		return m.id != "", err
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG:
		return false, nil
	default:
		return false, fmt.Errorf("prove the name of an object: %w", errno)
	}
}

func (w *walk) isMemfd(fd int, st *unix.Stat_t) bool {
	if st.Dev == w.view.memfdDev {
		return true
	}
	var sfs unix.Statfs_t
	return fstatfs(fd, &sfs) == 0 && sfs.Type == unix.HUGETLBFS_MAGIC
}

// text reads the kernel's name of our descriptor fd into the buffer of calls.
func (r *Resolver) text(fd int) ([]byte, syscall.Errno) {
	var b [20]byte
	return r.readlinkat(r.view.self, r.names.Of(strconv.AppendInt(b[:0], int64(fd), 10)))
}

// kindOf gives the word before ":" of a name like "pipe:[4711]"; name spaces are "ns".
func kindOf(text []byte) string {
	kind, _, _ := bytes.Cut(text, []byte(":"))
	switch string(kind) {
	case "cgroup", "ipc", "mnt", "net", "pid", "pid_for_children", "time", "time_for_children", "user", "uts":
		return "ns"
	case "":
		return "anon_inode"
	}
	return string(kind)
}

// place is the name of cur for hops and refused paths: with its old name if it has been
// removed, "" if it never had one.
func (w *walk) place() string {
	if w.cur == w.view.root {
		return "/"
	}
	text, errno := w.text(w.cur)
	if errno != 0 || len(text) == 0 || text[0] != '/' {
		return ""
	}
	path := string(text)
	if old, gone := strings.CutSuffix(path, deletedSuffix); gone {
		var st unix.Stat_t
		if errno := fstat(w.cur, &st); errno != 0 {
			return ""
		}
		if proof, err := w.leadsTo(path, w.cur, &st); err != nil || !proof {
			return old
		}
	}
	return path
}

// next is the name of the component that the walk stands before, "" if cur has none.
func (w *walk) next() string {
	path := w.place()
	name := firstName(strings.TrimLeft(w.rest[len(w.rest)-1], "/"))
	if path == "" || name == "" || name == "." || name == ".." {
		return path
	}
	return join(path, name)
}

// sofar is the name of cur with the rest of the walk behind it. "//" and "." vanish; ".."
// stays, for the kernel did not get there. It is "" if cur has no name.
func (w *walk) sofar() string {
	path := w.place()
	if path == "" {
		return ""
	}
	if path == "/" {
		path = ""
	}
	b := make([]byte, 0, len(path)+64)
	b = append(b, path...)
	for i := len(w.rest) - 1; i >= 0; i-- {
		for rest := w.rest[i]; rest != ""; {
			var name string
			name, rest, _ = strings.Cut(rest, "/")
			if name != "" && name != "." {
				b = append(b, '/')
				b = append(b, name...)
			}
		}
	}
	if len(b) == 0 {
		return "/"
	}
	return string(b)
}

// join is join without an allocation for a name that was met before.
func (r *Resolver) join(dir, name string) string {
	if dir == "/" {
		dir = ""
	}
	if len(dir)+1+len(name) > len(r.room) {
		return dir + "/" + name
	}
	return r.names.Of(append(append(append(r.room[:0], dir...), '/'), name...))
}

func join(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

func baseName(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}
