// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Most paths are already what they would be resolved to. What spares them the way there is
// a list of exact directories: canonical names of directories in which the kernel tells
// upper from lower case, so that "name, found beneath this one without a link, spelled so"
// is all there is to a canonical path.
//
// No descriptor is kept and nothing of an object: only that a text once was the kernel's own
// name of a directory. What can change under it, and how that is seen:
//
//   - A link may take the place of a directory on the way. Resolve asks the kernel each time
//     (openat2 with RESOLVE_NO_SYMLINKS), so it sees it. Glance does not: its caller must
//     have the kernel walk the name without links, see there.
//   - The object, its type, inode and mount are asked for each time.
//   - Whether a directory folds case is fixed while it has entries (ext4, f2fs, tmpfs:
//     chattr +F wants it empty), or for as long as it is mounted (vfat). One that folds could
//     take the place of one that does not only by a mount or rename from outside the tree:
//     of the tree's own making there is nothing in it that a rule could be about. Then two
//     spellings of a name would be two names until Forget, as they are wherever the kernel
//     names the object by the spelling that came first.
//   - A link in "/" may be changed. Its text is read each time (throughRoot).
//   - So may a link in an exact directory (knownLink), and a directory on the way to it be
//     exchanged. It is opened each time, without following any other, and its text is read.
//   - The root, and so what "/" is, is ours and the task's for ever: chroot(2) and mounts
//     are refused inside.

// maxExact bounds the list. When it is full it starts anew.
const maxExact = 4096

// Forget empties the list of exact directories, when mounts have changed.
func (r *Resolver) Forget() {
	clear(r.exact)
	clear(r.rootLinks)
	clear(r.links)
}

// plainName tells whether a name means the same on every file system that tells upper from
// lower case: no dots to be walked, nothing that Unicode or DOS rules could fold.
func plainName(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || c == '/' {
			return false
		}
	}
	return name[len(name)-1] != '.'
}

// plainNames tells whether plainName holds of every component of rest.
func plainNames(rest string) bool {
	for name := range strings.SplitSeq(rest, "/") {
		if !plainName(name) {
			return false
		}
	}
	return true
}

// isExact tells whether the list has a directory, named without a slash at its end.
func (r *Resolver) isExact(dir string) bool {
	if len(dir) >= pathMax {
		return false
	}
	return r.exact[r.names.Of(append(append(r.room[:0], dir...), '/'))]
}

// canonical gives path, absolute and found without a link, if the list says that it is the
// kernel's name of what was found; else "".
func (r *Resolver) canonical(path string) string {
	dir, name := path[:strings.LastIndexByte(path, '/')+1], baseName(path)
	if !r.exact[dir] || !plainName(name) || len(path) >= pathMax {
		return ""
	}
	return path
}

// learn puts the directory of an object into the list, if the object shows that case counts
// there.
func (r *Resolver) learn(o *Object) {
	if o.Errno != 0 || o.Nameless || !o.Exists || o.ProcPID != 0 || o.LastDot || r.served != nil || o.Stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return
	}
	r.learnBy(o.Path, &o.Stat)
}

// learnBy is learn by the name and status of what was found without a link.
func (r *Resolver) learnBy(path string, found *unix.Stat_t) {
	at := strings.LastIndexByte(path, '/') + 1
	if at == 0 || r.exact[path[:at]] || len(path) >= pathMax || !plainName(path[at:]) || found.Dev == r.view.dev {
		return
	}
	b := r.room[:copy(r.room[:], path)]
	letters := false
	for i := at; i < len(b); i++ {
		if c := b[i] | 0x20; c >= 'a' && c <= 'z' {
			b[i] ^= 0x20
			letters = true
		}
	}
	if !letters {
		return
	}
	same := func(st *unix.Stat_t) bool { return st.Dev == found.Dev && st.Ino == found.Ino }
	var st unix.Stat_t
	if errno := r.fstatat(r.view.root, string(b[1:]), &st); errno != unix.ENOENT && (errno != 0 || same(&st)) {
		return
	}
	if r.fstatat(r.view.root, path[1:], &st) != 0 || !same(&st) {
		return // it may have been gone in between
	}
	if len(r.exact) >= maxExact {
		clear(r.exact)
	}
	r.exact[strings.Clone(path[:at])] = true
}

// glances are the flags of Resolve that Glance can answer.
const glances = NoFollow | MayCreate | Directory | NoSymlinks | NoMagicLinks | Ways

// Glance is Resolve by a few looks, for an object that exists in an exact directory, by its name
// or by links that are known, or a name that is not there (ENOENT); false where that is not so or not known,
// and then o says nothing. It pins nothing: FD and Parent are -1.
//
// A link may have taken the place of a directory since the list was made, and then o is what
// the link leads to, under a name that is not canonical. So it is for calls that the kernel
// is made to walk again by o.Path without following links (RESOLVE_NO_SYMLINKS), which
// fails then, and only what is allowed by it may be believed: a refusal, or another errno, must
// be found again by Resolve. ENOENT is what the kernel itself has just said of the task's words,
// with whatever links there are; only Path is not canonical then.
func (r *Resolver) Glance(o *Object, t Task, dirfd int, path string, f Flags) bool {
	if f&^glances != 0 || r.served != nil || len(r.exact) == 0 || len(path) >= pathMax || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for len(path) > 2 && path[:2] == "./" && path[2] != '/' {
		path = path[2:]
	}
	slash := len(path) > 1 && path[len(path)-1] == '/'
	if slash {
		if f&MayCreate != 0 {
			return false
		}
		path = path[:len(path)-1]
	}
	name := baseName(path)
	if !plainName(name) {
		return false
	}
	full, relative := path, path[0] != '/'
	link, hops := "", []string(nil)
	if !relative && f&NoSymlinks == 0 {
		if to, by := r.throughRoot(path); to != "" {
			full, hops = to, by
		}
	}
	if relative {
		if link = r.taskLink(t.TID, dirfd); link == "" || len(link)+1+len(path) >= pathMax {
			return false
		}
		text, errno := r.readlinkat(r.view.proc, link)
		if errno != 0 || len(text) == 0 || text[0] != '/' || len(text)+1+len(path) >= pathMax {
			return false
		}
		b := append(r.room[:0], text...)
		if len(text) > 1 {
			b = append(b, '/')
		}
		full = r.names.Of(append(b, path...))
	}
	if !r.exact[full[:len(full)-len(name)]] {
		return false
	}
	for n := 0; ; n++ {
		*o = Object{FD: -1, Parent: -1, Path: full, Name: baseName(full), Exists: true, Hops: hops, Slash: slash}
		switch errno := r.fstatat(r.view.root, full[1:], &o.Stat); {
		case errno == unix.ENOENT && !slash && n == 0 && f&(MayCreate|Ways) == 0:
			*o = Object{FD: -1, Parent: -1, Path: full, Hops: hops, Errno: errno}
			return !relative || r.fstatat(r.view.proc, r.beneathLink(link, path), &o.Stat) == errno
		case errno != 0:
			return false
		}
		if o.Stat.Mode&unix.S_IFMT != unix.S_IFLNK {
			break
		}
		if relative || slash || f&(NoFollow|NoSymlinks) != 0 || n == glanceLinks {
			return false
		}
		if full = r.throughLink(full); full == "" {
			return false
		}
		hops = append(slices.Clip(hops), o.Path)
	}
	switch kind := o.Stat.Mode & unix.S_IFMT; {
	case (slash || f&Directory != 0) && kind != unix.S_IFDIR:
		return false
	case o.Stat.Dev == r.view.dev, o.Stat.Blksize == procBlock && unix.Major(o.Stat.Dev) == 0: // see onProc
		return false
	}
	if !relative {
		return true
	}
	// Is that what the task means? Its directory may be deleted, or beneath another mount.
	var st unix.Stat_t
	return r.fstatat(r.view.proc, r.beneathLink(link, path), &st) == 0 && st.Dev == o.Stat.Dev && st.Ino == o.Stat.Ino
}

// glanceLinks is how many links in a row a glance goes along.
const glanceLinks = 4

// throughLink is where a known link leads, as its text still says, if that is in an exact directory;
// "" otherwise. Its own directory is exact.
func (r *Resolver) throughLink(link string) string {
	l, ok := r.links[link]
	if !ok || !r.exact[l.to[:strings.LastIndexByte(l.to, '/')+1]] {
		return ""
	}
	if text, errno := r.readlinkat(r.view.root, link[1:]); errno != 0 || string(text) != l.text {
		return ""
	}
	return l.to
}

// beneathLink is a path below /proc, by the magic link of a directory.
func (r *Resolver) beneathLink(link, path string) string {
	return r.names.Of(append(append(append(r.room[:0], link...), '/'), path...))
}

// rootLink is a link in "/" as it was when it was followed last.
type rootLink struct {
	text string
	to   string   // where it leads, with slashes around; "" if that is not plain to see
	hops []string // its own name
}

func newRootLink(hop, text string) rootLink {
	l := rootLink{text: strings.Clone(text), hops: []string{strings.Clone(hop)}}
	to := strings.Trim(text, "/")
	if !plainNames(to) {
		return l
	}
	l.to = "/" + to + "/"
	return l
}

// throughRoot rewrites a path that begins with a link in "/", as /lib and /bin are where /usr is
// merged. The text of the link is read each time; hops are then the one of its name. "" if the
// path does not begin so.
func (r *Resolver) throughRoot(path string) (full string, hops []string) {
	name, after := cutName(path[1:])
	l, ok := r.rootLinks[name]
	if !ok || l.to == "" || after == "" {
		return "", nil
	}
	text, errno := r.readlinkat(r.view.root, name)
	if errno != 0 || string(text) != l.text || len(l.to)+len(after) > len(r.room) {
		return "", nil
	}
	return r.names.Of(append(append(r.room[:0], l.to...), after[1:]...)), l.hops
}

// knownLink is a link in an exact directory as it was when it was followed last, as /usr/bin/sh
// and the loader of programs are: what is known is that it may be followed, and where it leads.
// Only links in directories that not everybody may write are remembered: in others it depends
// on who asks (fs.protected_symlinks). The tree itself could make one such (chmod(2)), for links
// of its own.
type knownLink struct {
	text string
	to   string   // where it leads
	hops []string // its own name
}

// maxKnownLinks bounds them. When there are more it starts anew.
const maxKnownLinks = 512

// learnLink remembers that hop, in cur, was followed.
func (w *walk) learnLink(hop, text string, dir *unix.Stat_t) {
	at := strings.LastIndexByte(hop, '/') + 1
	if at <= 1 || dir.Mode&unix.S_IWOTH != 0 || w.served != nil || len(hop) >= pathMax || !plainName(hop[at:]) {
		return
	}
	if !w.exact[hop[:at]] { // it may hold nothing but links
		var st unix.Stat_t
		if w.fstatat(w.cur, hop[at:], &st) == 0 && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			w.learnBy(hop, &st)
		}
		if !w.exact[hop[:at]] {
			return
		}
	}
	to := text
	if to == "" || to[len(to)-1] == '/' {
		return
	}
	if to[0] != '/' {
		to = hop[:at] + to
	}
	if !plainNames(to[1:]) {
		return
	}
	if len(w.links) >= maxKnownLinks {
		clear(w.links)
	}
	hop = strings.Clone(hop)
	w.links[hop] = knownLink{strings.Clone(text), strings.Clone(to), []string{hop}}
}

// hinted goes from "/" over the links that are known, each asked for anew, as far as they lead.
// It does what the single steps would, in fewer.
func (w *walk) hinted() {
	if w.cur != w.view.root || len(w.rest) != 1 || w.base >= 0 || w.served != nil || w.mustDir ||
		w.flags&^(MayCreate|Directory|NoMagicLinks|Ways|EmptyPath) != 0 {
		return
	}
	for w.passed < maxLinks {
		rest := w.rest[0]
		if len(rest) >= pathMax-1 || rest[0] == '/' || rest[len(rest)-1] == '/' {
			return
		}
		if to, hops := w.throughRoot(w.join("", rest)); to != "" {
			w.follow(to[1:], hops)
			continue
		}
		l, ok := w.links[w.join("", rest)]
		if !ok {
			return
		}
		fd, errno := w.openat(w.cur, rest, unix.O_NOFOLLOW, noLinks)
		if errno != 0 {
			return
		}
		text, errno := w.readlinkat(fd, "")
		closeFD(fd)
		if errno != 0 || string(text) != l.text {
			delete(w.links, l.hops[0])
			return
		}
		w.follow(l.to[1:], l.hops)
	}
}

// follow notes that a link has been followed, to a name beneath "/".
func (w *walk) follow(to string, hops []string) {
	w.passed++
	if w.o.Hops == nil {
		w.o.Hops = hops[:1:1]
	} else {
		w.o.Hops = append(w.o.Hops, hops[0])
	}
	w.rest[0] = to
}

// taskLink is taskDir without an allocation for a link that was asked for before.
func (r *Resolver) taskLink(tid, dirfd int) string {
	var b [48]byte
	return r.names.Of(appendTaskDir(b[:0], tid, dirfd))
}

func appendTaskDir(s []byte, tid, dirfd int) []byte {
	if dirfd < 0 && dirfd != unix.AT_FDCWD {
		return nil
	}
	s = strconv.AppendInt(s, int64(tid), 10)
	if dirfd == unix.AT_FDCWD {
		return append(s, "/cwd"...)
	}
	return strconv.AppendInt(append(s, "/fd/"...), int64(dirfd), 10)
}
