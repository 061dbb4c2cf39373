// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	maxLinks       = 40     // MAXSYMLINKS, path_resolution(7)
	maxSwaps       = 64     // times that we ask again when names change under us
	stNoSymFollow  = 0x2000 // ST_NOSYMFOLLOW, statvfs(3), Linux 5.10
	noLinks        = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	stickyAndWorld = unix.S_ISVTX | unix.S_IWOTH
)

// walk is one resolution under way. cur is the place that has been reached, rest what is
// still to be walked from there: the path itself at the bottom, the unread part of a link
// met on the way above it. A link that is the last component replaces the bottom, as the
// kernel does; that is how "last" is known inside of it. There is no joined string, for it
// could be longer than PATH_MAX where the kernel has no trouble.
type walk struct {
	*Resolver
	o      *Object
	task   Task
	flags  Flags
	cur    int
	base   int // the root of Beneath and InRoot, -1 without them
	rest   []string
	passed int  // links
	atLink bool // the last component, next in turn, is very likely a link
	fresh  bool // rest is new: worth one openat2 over all of it
	// unsure: the walk began at, or jumped to, a descriptor of the tracee. The kernel's
	// name of what it finds may then not lead back there.
	unsure  bool
	mustDir bool // a trailing slash was met: follow, and want a directory
	rooted  bool // the kernel has looked up "/" by now, see rootJump
	// known is the kernel's name of cur, found that of what a leap has found, where the list of
	// exact directories tells them; absent is the name of what a leap has found not to be there,
	// and nowhere, with missed, that of what it has missed in a directory that the list has not, or
	// that is not there either.
	known, found, absent, nowhere string
	// single: no leaps; name is then that of the last component, found in cur, see deepName.
	single bool
	name   string
	missed bool
	st     unix.Stat_t
}

// setCur moves on to fd.
func (w *walk) setCur(fd int) {
	w.known = ""
	if w.cur != w.view.root {
		closeFD(w.cur)
	}
	w.cur = fd
}

func (w *walk) follows() bool {
	return w.mustDir || w.flags&(NoFollow|Entry) == 0
}

// step opens one component of cur that is no link, or a link as such.
func (w *walk) step(name string, flags uint64) (int, syscall.Errno) {
	var resolve uint64
	if w.flags&NoXDev != 0 {
		resolve = unix.RESOLVE_NO_XDEV
	}
	return w.openat(w.cur, name, flags|unix.O_NOFOLLOW, resolve)
}

// cutName splits rest, which has no leading slash, into its first component and what follows.
func cutName(rest string) (name, after string) {
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i:]
	}
	return rest, ""
}

func firstName(rest string) string {
	name, _ := cutName(rest)
	return name
}

// cutLast splits off the last component with the slashes behind it.
func cutLast(rest string) (dir, last string) {
	i := strings.LastIndexByte(strings.TrimRight(rest, "/"), '/')
	return rest[:i+1], rest[i+1:]
}

// steps walks rest to its end.
func (w *walk) steps() error {
	for {
		top := len(w.rest) - 1
		rest := strings.TrimLeft(w.rest[top], "/")
		w.rest[top] = rest
		if rest == "" {
			if top > 0 {
				w.rest = w.rest[:top]
				w.fresh = true
				continue
			}
			if w.flags&Entry != 0 {
				w.o.LastDot, w.o.Name = true, "/"
			}
			fd, errno := w.step(".", unix.O_DIRECTORY)
			if errno != 0 {
				return w.fail(errno)
			}
			return w.ordinary(fd)
		}
		if w.fresh {
			w.fresh = false
			w.hinted()
			rest = w.rest[top]
			if fd := w.leap(rest); fd >= 0 {
				return w.ordinary(fd)
			}
			if w.absent != "" {
				err := w.refuse(unix.ENOENT, w.absent)
				w.o.Absent = err == nil
				return err
			}
			if w.missed {
				return w.refuse(unix.ENOENT, w.nowhere)
			}
			if w.fresh {
				continue
			}
			rest = w.rest[top]
		}
		name, after := cutName(rest)
		last := top == 0 && strings.Trim(after, "/") == ""
		done, err := w.component(name, after, last)
		if done || err != nil {
			return err
		}
	}
}

// leap tries all of rest in one openat2 that stops at the first link. It gives the object,
// or -1 after it has gone as far as is known to be good. Where it says nothing, the single
// steps find out why.
func (w *walk) leap(rest string) int {
	if w.single || w.base >= 0 || w.flags&NoXDev != 0 || w.flags&Ways != 0 && strings.Contains(rest, "..") {
		return -1 // ".." has to be looked at
	}
	if w.cur == w.view.root {
		if _, ok := w.rootLinks[firstName(rest)]; ok {
			return -1
		}
	}
	const resolve = noLinks
	if len(w.rest) > 1 {
		if strings.IndexByte(rest, '/') < 0 {
			return -1
		}
		if fd, errno := w.openat(w.cur, rest, unix.O_DIRECTORY, resolve); errno == 0 {
			full := w.beneath(rest)
			w.enter(fd, "")
			w.knows(full)
			w.fresh = true
		}
		return -1
	}
	slash := rest[len(rest)-1] == '/'
	linked := false
	if w.flags&Entry == 0 && (w.flags&MayCreate == 0 || !slash) {
		var flags uint64
		if !w.follows() {
			flags = unix.O_NOFOLLOW
		}
		fd, errno := w.openat(w.cur, rest, flags, resolve)
		if errno == 0 {
			w.mustDir = w.mustDir || slash
			if !slash {
				w.found = w.canonical(w.beneath(rest))
			}
			return fd
		}
		if errno != unix.ENOENT && errno != unix.ELOOP {
			return -1
		}
		if errno == unix.ENOENT && !slash && w.flags&(Entry|MayCreate|Ways) == 0 {
			// A link on the way would have been ELOOP, so that is the answer, whichever name
			// it is about.
			full := w.beneath(rest)
			if w.absent = w.canonical(full); w.absent != "" {
				return -1
			}
			if plainNames(rest) { // the single steps would end with the same
				if full == "" {
					full = w.sofar()
				}
				w.nowhere, w.missed = full, true
				return -1
			}
		}
		linked = errno == unix.ELOOP && w.follows()
	}
	// Most often it is the last component that is absent, or a link.
	dir, last := cutLast(rest)
	if dir != "" {
		fd, errno := w.openat(w.cur, dir, unix.O_DIRECTORY, resolve)
		if errno != 0 {
			return -1
		}
		full := w.beneath(dir)
		w.enter(fd, last)
		w.knows(full)
	}
	w.atLink = linked
	return -1
}

// beneath is the name of what rest leads to from cur, if there is no link and no dot in it; ""
// if the name of cur is not known.
func (w *walk) beneath(rest string) string {
	if w.cur != w.view.root && w.known == "" || len(w.exact) == 0 {
		return ""
	}
	return w.join(w.known, rest)
}

// knows notes the name of cur, a directory that was found without a link, if it is one that the
// list has: then it is spelled as the kernel does.
func (w *walk) knows(name string) {
	if name = strings.TrimSuffix(name, "/"); name != "" && w.isExact(name) {
		w.known = name
	}
}

// enter makes fd, found by name, the place reached, with rest to be walked from there.
func (w *walk) enter(fd int, rest string) {
	w.o.Magic, w.o.MagicPID, w.o.MagicFD, w.o.HeldFlags = MagicNone, 0, 0, 0
	w.setCur(fd)
	w.rest[len(w.rest)-1] = rest
}

// component walks one component; done means that the object is complete.
func (w *walk) component(name, after string, last bool) (done bool, err error) {
	if name == "." || name == ".." {
		return w.dots(name, after, last)
	}
	if !last {
		return w.through(name, after)
	}
	if after != "" && w.flags&Entry == 0 {
		if w.flags&MayCreate != 0 {
			return true, w.createSlash()
		}
		w.mustDir = true
	}
	if w.atLink {
		w.atLink = false
		if text, errno := w.readlinkat(w.cur, name); errno == 0 {
			return w.link(name, after, string(text), true)
		}
	}
	fd, errno := w.step(name, 0)
	if errno == unix.ENOENT && w.flags&(Entry|MayCreate) != 0 {
		return true, w.inParent(name)
	}
	if errno != 0 {
		return true, w.fail(errno)
	}
	if w.flags&Entry != 0 {
		return true, w.entry(fd, name)
	}
	if w.follows() {
		if errno := fstat(fd, &w.st); errno != 0 {
			closeFD(fd)
			return true, w.fail(errno)
		}
		if w.st.Mode&unix.S_IFMT == unix.S_IFLNK {
			text, errno := w.readlinkat(fd, "")
			closeFD(fd)
			if errno != 0 {
				return true, w.fail(errno)
			}
			return w.link(name, after, string(text), true)
		}
	}
	w.name = name
	return true, w.ordinary(fd)
}

// through walks the component name, which others follow.
func (w *walk) through(name, after string) (done bool, err error) {
	for range maxSwaps {
		fd, errno := w.step(name, unix.O_DIRECTORY)
		if errno == 0 {
			full := w.beneath(name)
			w.enter(fd, after)
			w.knows(full)
			return false, nil
		}
		if errno != unix.ENOTDIR {
			return true, w.fail(errno)
		}
		// A link, a file, or cur is no directory itself (what a magic link stood for).
		text, errno := w.readlinkat(w.cur, name)
		if errno == 0 {
			return w.link(name, after, string(text), false)
		}
		if errno != unix.EINVAL {
			return true, w.fail(errno)
		}
		// A file, unless a directory has just taken the place of a link.
		if errno := w.fstatat(w.cur, name, &w.st); errno != 0 {
			return true, w.fail(errno)
		}
		if kind := w.st.Mode & unix.S_IFMT; kind != unix.S_IFDIR && kind != unix.S_IFLNK {
			return true, w.fail(unix.ENOTDIR)
		}
	}
	return true, errors.New("walk: a component keeps changing its kind")
}

// createSlash answers O_CREAT of "name/": EISDIR whatever is there, but only if the
// directory can be searched.
func (w *walk) createSlash() error {
	fd, errno := w.step(".", unix.O_DIRECTORY)
	if errno != 0 {
		return w.fail(errno)
	}
	closeFD(fd)
	return w.fail(unix.EISDIR)
}

func (w *walk) dots(name, after string, last bool) (done bool, err error) {
	w.rooted = w.rooted || name == ".."
	if name == ".." && w.base >= 0 {
		at, err := sameDir(w.cur, w.base)
		if err != nil {
			return true, err
		}
		if at && w.flags&Beneath != 0 {
			return true, w.fail(unix.EXDEV)
		}
		if at {
			name = "."
		}
	}
	fd, errno := w.step(name, unix.O_DIRECTORY)
	if errno != 0 {
		return true, w.fail(errno)
	}
	if name == ".." && w.flags&Ways != 0 {
		w.o.Left = append(w.o.Left, w.place())
	}
	if !last {
		w.enter(fd, after)
		return false, nil
	}
	if w.flags&Entry != 0 {
		w.o.LastDot, w.o.Name = true, name
	}
	return true, w.ordinary(fd)
}

// link follows the link name in cur, whose text has been read. The order of the refusals
// is that of the kernel's pick_link.
func (w *walk) link(name, after, text string, last bool) (done bool, err error) {
	if w.passed++; w.passed > maxLinks {
		return true, w.fail(unix.ELOOP)
	}
	if last {
		refused, err := w.protected(name)
		if err != nil {
			return true, err
		}
		if refused {
			return true, w.fail(unix.EACCES)
		}
	}
	var sfs unix.Statfs_t
	if errno := fstatfs(w.cur, &sfs); errno != 0 {
		return true, w.fail(errno)
	}
	if w.flags&NoSymlinks != 0 || sfs.Flags&stNoSymFollow != 0 {
		return true, w.fail(unix.ELOOP)
	}
	magic := false
	if sfs.Type == unix.PROC_SUPER_MAGIC {
		var errno syscall.Errno
		text, magic, errno, err = w.procLink(name, text)
		if err != nil {
			return true, err
		}
		if errno != 0 {
			return true, w.fail(errno)
		}
	}
	hop := join(w.place(), name)
	if _, ok := w.rootLinks[name]; !ok && w.cur == w.view.root && len(w.rootLinks) < 64 && sfs.Type != unix.PROC_SUPER_MAGIC {
		w.rootLinks[strings.Clone(name)] = newRootLink(hop, text)
	}
	if last && !magic && sfs.Type != unix.PROC_SUPER_MAGIC {
		w.learnLink(hop, text, &w.st) // of protected
	}
	if magic {
		return w.jump(hop, name, after, last)
	}
	if text == "" {
		return true, errors.New("read link: empty text")
	}
	if text[0] == '/' {
		errno, err := w.rootJump()
		if err != nil {
			return true, err
		}
		if errno != 0 {
			return true, w.fail(errno)
		}
	}
	w.o.Hops = append(w.o.Hops, hop)
	if last {
		w.rest[0] = text
	} else {
		w.rest[len(w.rest)-1] = after
		w.rest = append(w.rest, text)
	}
	w.fresh = true
	return false, nil
}

// rootJump goes to the root, where the text of a link begins with "/".
func (w *walk) rootJump() (syscall.Errno, error) {
	if w.flags&Beneath != 0 {
		return unix.EXDEV, nil
	}
	to := w.view.root
	if w.flags&InRoot != 0 {
		to = w.base
	}
	if w.flags&NoXDev != 0 {
		// nd_jump_root compares the mounts before it looks up the root: a walk that has
		// not needed the root yet (relative, without "..") never gets there.
		if !w.rooted {
			return unix.EXDEV, nil
		}
		same, err := sameMount(w.cur, to)
		if err != nil {
			return 0, err
		}
		if !same {
			return unix.EXDEV, nil
		}
	}
	if to != w.view.root {
		var errno syscall.Errno
		if to, errno = w.openat(to, ".", unix.O_DIRECTORY, 0); errno != 0 {
			return errno, nil
		}
	}
	w.setCur(to)
	return 0, nil
}

// jump lets the kernel follow the magic link name in cur.
func (w *walk) jump(hop, name, after string, last bool) (done bool, err error) {
	if w.flags&NoMagicLinks != 0 {
		return true, w.fail(unix.ELOOP)
	}
	var resolve uint64
	if w.flags&NoXDev != 0 {
		resolve = unix.RESOLVE_NO_XDEV
	}
	fd, errno := w.openat(w.cur, name, 0, resolve)
	if errno != 0 {
		return true, w.fail(errno)
	}
	if w.base >= 0 {
		closeFD(fd)
		return true, w.fail(unix.EXDEV)
	}
	errno, err = w.heldFlags(fd, hop, name)
	if err != nil || errno != 0 {
		closeFD(fd)
		if err != nil {
			return true, err
		}
		return true, w.fail(errno)
	}
	w.o.Hops = append(w.o.Hops, hop)
	w.o.Jumped = true
	w.unsure = true
	if last {
		return true, w.reached(fd)
	}
	w.setCur(fd)
	w.rest[len(w.rest)-1] = after
	w.fresh = true
	return false, nil
}

// protected is sysctl fs.protected_symlinks (proc_sys_fs(5)): a last link in a sticky
// directory that all may write is followed only by its owner or if the directory's owner
// made it. st is then the status of cur. We must ask, for the call is reissued with a name that has no link in it.
func (w *walk) protected(name string) (bool, error) {
	dir, link := &w.st, unix.Stat_t{}
	if errno := fstat(w.cur, dir); errno != 0 {
		return false, fmt.Errorf("stat directory of link: %w", errno)
	}
	if dir.Mode&stickyAndWorld != stickyAndWorld {
		return false, nil
	}
	if errno := w.fstatat(w.cur, name, &link); errno != 0 || link.Uid == dir.Uid {
		return false, nil // gone: the next open says so
	}
	return w.view.strangersLink(w.task.TID, link.Uid)
}

// sameDir says whether two descriptors are the same directory on the same mount.
func sameDir(a, b int) (bool, error) {
	var x, y unix.Statx_t
	if err := mountStat(a, &x); err != nil {
		return false, err
	}
	if err := mountStat(b, &y); err != nil {
		return false, err
	}
	return x.Ino == y.Ino && x.Mnt_id == y.Mnt_id, nil
}

func sameMount(a, b int) (bool, error) {
	var x, y unix.Statx_t
	if err := mountStat(a, &x); err != nil {
		return false, err
	}
	if err := mountStat(b, &y); err != nil {
		return false, err
	}
	return x.Mnt_id == y.Mnt_id, nil
}

// mountStat is statx(2) with the mount id (Linux 5.8), which it insists on.
func mountStat(fd int, st *unix.Statx_t) error {
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, st); err != nil {
		return fmt.Errorf("statx: %w", err)
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return errors.New("statx: no mount id")
	}
	return nil
}
