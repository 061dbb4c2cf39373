// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/internal/intern"
)

// Resolver resolves paths, one at a time: it owns the buffers that spare the hot path its
// allocations. Every goroutine needs its own; they share one view of /proc.
type Resolver struct {
	calls
	view *procView
	walk walk
	// rootLinks are links that were met in "/" (lib, bin). It is a hint where a leap would
	// fail, and costs a few steps if it is out of date.
	rootLinks map[string]rootLink
	links     map[string]knownLink // by name, see exact.go
	exact     map[string]bool      // by name with a slash at its end, see exact.go
	names     intern.Strings
	room      [pathMax]byte
}

// New gives a Resolver. It fails where paths cannot be resolved at all: no /proc of our
// pid name space, or a kernel without openat2 (before 5.6).
func New() (*Resolver, error) {
	view, err := openView()
	if err != nil {
		return nil, err
	}
	return &Resolver{view: view, rootLinks: map[string]rootLink{}, links: map[string]knownLink{}, exact: map[string]bool{}}, nil
}

// ErrServed says that a path leads to a file system that the Resolver was told not to ask.
var ErrServed = errors.New("on a file system that is served by another program or machine")

// Avoid makes Resolve fail with ErrServed at the first object on a file system for whose
// device served is true, before anything is asked of it: its server may not answer, and no
// signal ends the waiting (FUSE, NFS). nil: everything is asked, and may wait for ever.
func (r *Resolver) Avoid(served func(dev uint64) bool) { r.served = served }

var pool sync.Pool

// Resolve is Resolver.Resolve for callers that do not keep a Resolver and an Object.
func Resolve(t Task, dirfd int, path string, f Flags) (*Object, error) {
	r, ok := pool.Get().(*Resolver)
	if !ok {
		var err error
		if r, err = New(); err != nil {
			return nil, err
		}
	}
	defer pool.Put(r)
	o := new(Object)
	if err := r.Resolve(o, t, dirfd, path, f); err != nil {
		return nil, err
	}
	return o, nil
}

// Resolve finds what path means to task t and fills o, which must be new or closed; Close
// it afterwards. dirfd is AT_FDCWD or a descriptor of the task. The kernel's refusals are
// o.Errno. An error means that ptguard itself failed (no descriptors left, the task is
// gone, its directory cannot be opened): nothing is known about the path, o is empty, and
// the call has to be refused.
func (r *Resolver) Resolve(o *Object, t Task, dirfd int, path string, f Flags) error {
	err := r.attempt(o, t, dirfd, path, f, false)
	if errors.Is(err, errSingle) {
		o.Close()
		err = r.attempt(o, t, dirfd, path, f, true)
	}
	if err != nil {
		o.Close()
		*o = Object{FD: -1, Parent: -1}
		return fmt.Errorf("resolve path of tid %d: %w", t.TID, err)
	}
	r.learn(o)
	return nil
}

// attempt is one walk; single: in single steps.
func (r *Resolver) attempt(o *Object, t Task, dirfd int, path string, f Flags, single bool) error {
	*o = Object{FD: -1, Parent: -1, open: true, Slash: strings.HasSuffix(path, "/")}
	w := &r.walk
	*w = walk{Resolver: r, o: o, task: t, flags: f, cur: -1, base: -1, rest: w.rest[:0], single: single}
	err := w.run(dirfd, path)
	w.setCur(-1)
	if w.base != w.view.root {
		closeFD(w.base)
	}
	clear(w.rest[:cap(w.rest)])
	w.o = nil
	return err
}

// Exe finds the program file that a task runs and fills o, as Resolve of /proc/TID/exe does in
// fewer steps. It is not for a Resolver that avoids served file systems. An error means that
// nothing is known, be it that the task is gone.
func (r *Resolver) Exe(o *Object, t Task) error {
	*o = Object{FD: -1, Parent: -1, open: true, Magic: MagicOther, Jumped: true}
	w := &r.walk
	*w = walk{Resolver: r, o: o, task: t, cur: -1, base: -1, rest: w.rest[:0], unsure: true}
	var b [32]byte
	link := r.names.Of(append(strconv.AppendInt(b[:0], int64(t.TID), 10), "/exe"...))
	fd, errno := r.openat(r.view.proc, link, 0, 0)
	err := error(errno)
	if errno == 0 {
		o.Hops = []string{"/proc/" + link}
		err = w.reached(fd)
	}
	w.o = nil
	if err != nil {
		o.Close()
		*o = Object{FD: -1, Parent: -1}
		return fmt.Errorf("find the program of tid %d: %w", t.TID, err)
	}
	r.learn(o)
	return nil
}

// ExeID tells device and inode of the program file that a task runs, which is all that counts if
// they are known. It is not for a Resolver that avoids served file systems.
func (r *Resolver) ExeID(t Task) (dev, ino uint64, ok bool) {
	var b [32]byte
	var st unix.Stat_t
	link := r.names.Of(append(strconv.AppendInt(b[:0], int64(t.TID), 10), "/exe"...))
	errno := r.statat(r.view.proc, link, &st, 0)
	return st.Dev, st.Ino, errno == 0
}

func (w *walk) run(dirfd int, path string) error {
	// The order is getname's, then path_init's.
	switch {
	case strings.IndexByte(path, 0) >= 0:
		return errors.New("path holds a NUL byte")
	case len(path) >= pathMax:
		return w.refuse(unix.ENAMETOOLONG, path)
	case path == "" && w.flags&EmptyPath == 0:
		return w.refuse(unix.ENOENT, path)
	}
	if done, err := w.start(dirfd, path); done || err != nil {
		return err
	}
	if path == "" {
		fd := w.cur
		w.cur = -1
		return w.reached(fd)
	}
	w.rest = append(w.rest, path)
	w.fresh = true
	return w.steps()
}

// start opens the directory where the walk begins; done means that the answer is already
// in the object.
func (w *walk) start(dirfd int, path string) (done bool, err error) {
	scoped := w.flags & (Beneath | InRoot)
	if strings.HasPrefix(path, "/") && w.flags&InRoot == 0 {
		if scoped != 0 {
			return true, w.refuse(unix.EXDEV, path)
		}
		w.cur, w.rooted = w.view.root, true
		return false, nil
	}
	var flags uint64 = unix.O_DIRECTORY
	if path == "" {
		flags = 0
	}
	link := w.taskLink(w.task.TID, dirfd) // below /proc
	if link == "" {                       // no descriptor number
		return true, w.refuse(unix.EBADF, path)
	}
	fd, errno := w.openat(w.view.proc, link, flags, 0)
	switch {
	case errno == 0:
	case errno == unix.ENOTDIR:
		return true, w.refuse(unix.ENOTDIR, path)
	case errno == unix.ENOENT && dirfd != unix.AT_FDCWD && w.alive():
		return true, w.refuse(unix.EBADF, path)
	case errno == errServed:
		return false, ErrServed
	default:
		return false, fmt.Errorf("open /proc/%s: %w", link, errno)
	}
	w.cur = fd
	w.unsure = true
	if scoped != 0 {
		w.rooted = true
		if w.base, errno = w.openat(fd, ".", unix.O_DIRECTORY, 0); errno != 0 {
			return true, w.fail(errno)
		}
	}
	return false, nil
}

// alive says whether the task still has a descriptor table.
func (w *walk) alive() bool {
	var st unix.Stat_t
	return w.fstatat(w.view.proc, strconv.Itoa(w.task.TID)+"/fd", &st) == 0
}

// refuse makes errno the kernel's answer for path.
func (w *walk) refuse(errno syscall.Errno, path string) error {
	o := w.o
	o.Close()
	*o = Object{FD: -1, Parent: -1, Errno: errno, Path: path, Hops: o.Hops, Left: o.Left, Stop: o.Stop, Slash: o.Slash}
	return nil
}

// fail makes errno the answer at the component that the walk stands before, unless it is
// no answer about the path but a want of our own.
func (w *walk) fail(errno syscall.Errno) error {
	switch errno {
	case errServed:
		return ErrServed
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOSYS, unix.EFAULT, unix.EBADF:
		return fmt.Errorf("open component: %w", errno)
	}
	if w.flags&Ways != 0 {
		w.o.Stop = w.next()
	}
	return w.refuse(errno, w.sofar())
}
