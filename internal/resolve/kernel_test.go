// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var long255 = strings.Repeat("n", 255)

// world is a random tree with a child that has a cwd and directories open in it.
type world struct {
	*child
	root   string
	rnd    *rand.Rand
	r      *Resolver
	dirfds []int
	dirs   []string
	// glances counts the answers of Glance.
	glances  int
	absences int // of these, of names that are not there
}

var alphabet = []string{"a", "b", "c", "a", "b", "c", "\xff\xfe", "x (deleted)", long255}

func newWorld(t testing.TB, seed int64) *world {
	t.Helper()
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{child: startChild(t), root: root, rnd: rand.New(rand.NewSource(seed)), r: r}
	w.dirs = []string{root}
	for len(w.dirs) < 20 {
		dir := w.pick(w.dirs) + "/" + w.pick(alphabet)
		if len(dir) < 3000 && os.Mkdir(dir, 0o700) == nil {
			w.dirs = append(w.dirs, dir)
		}
	}
	for range 60 {
		name := w.pick(w.dirs) + "/" + w.pick(alphabet)
		switch w.rnd.Intn(6) {
		case 0:
			if f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
			}
		case 1:
			_ = unix.Mkfifo(name, 0o600)
		default:
			_ = os.Symlink(w.target(), name)
		}
	}
	// A chain that is exactly long enough and one link more: c40 is 40 links.
	os.Symlink("a", root+"/k1")
	for i := 2; i <= 42; i++ {
		os.Symlink(fmt.Sprintf("k%d", i-1), fmt.Sprintf("%s/k%d", root, i))
	}
	for _, thread := range []bool{false, true} {
		w.current = thread
		w.do(request{Op: "chdir", Path: w.pick(w.dirs)})
	}
	w.current = false
	for range 4 {
		w.dirfds = append(w.dirfds, w.do(request{Op: "keep", Dirfd: unix.AT_FDCWD, Path: w.pick(w.dirs), Flags: unix.O_RDONLY}).FD)
	}
	os.WriteFile(root+"/file", nil, 0o600)
	os.Symlink("file", root+"/tofile")
	for _, k := range []request{
		{Op: "keep", Path: root + "/file", Flags: unix.O_RDWR},
		{Op: "keep", Path: root + "/tofile", Flags: unix.O_PATH | unix.O_NOFOLLOW},
		{Op: "pipe"},
		{Op: "eventfd"},
	} {
		k.Dirfd = unix.AT_FDCWD
		w.dirfds = append(w.dirfds, w.do(k).FD)
	}
	gone := root + "/gone"
	os.Mkdir(gone, 0o700)
	w.dirfds = append(w.dirfds, w.do(request{Op: "keep", Dirfd: unix.AT_FDCWD, Path: gone, Flags: unix.O_PATH}).FD)
	os.Remove(gone)
	return w
}

func (w *world) pick(from []string) string { return from[w.rnd.Intn(len(from))] }

// target is the text of a random link.
func (w *world) target() string {
	switch w.rnd.Intn(10) {
	case 0:
		return w.pick(w.dirs) + w.pick([]string{"", "/", "//..", "/new"})
	case 1:
		return w.pick([]string{"/proc/self/cwd", "/proc/thread-self/cwd/", "/proc/self/fd/5", "/proc/self/root", "/proc/self", "/proc/thread-self/fd/6", "/dev/stdin", "/"})
	}
	return w.path(1 + w.rnd.Intn(2))
}

// path is n random components with what may stand between them.
func (w *world) path(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(w.pick([]string{"/", "/", "/", "/", "//", "/./", "/../"}))
		}
		switch w.rnd.Intn(24) {
		case 0, 1, 2:
			b.WriteString("..")
		case 3:
			b.WriteString(".")
		case 4:
			b.WriteString("new")
		default:
			b.WriteString(w.pick(alphabet))
		}
	}
	b.WriteString(w.pick([]string{"", "", "", "", "/", "//", "/.", "/.."}))
	return b.String()
}

// question is a random path with a dirfd.
func (w *world) question() (int, string) {
	dirfd := unix.AT_FDCWD
	if w.rnd.Intn(2) == 0 {
		dirfd = w.dirfds[w.rnd.Intn(len(w.dirfds))]
	}
	path := w.path(1 + w.rnd.Intn(3))
	switch w.rnd.Intn(16) {
	case 0, 1, 2:
		path = w.pick(w.dirs) + "/" + path
	case 3:
		path = w.root + fmt.Sprintf("/k%d", 37+w.rnd.Intn(6)) + w.pick([]string{"", "/", "/" + path})
	case 4:
		path = w.pick([]string{"/proc/self/", "/proc/thread-self/", "/proc//self/task/../"}) +
			fmt.Sprintf("fd/%d", w.dirfds[w.rnd.Intn(len(w.dirfds))]) + w.pick([]string{"", "/", "/" + path})
	case 5:
		path = w.pick([]string{"/proc/self/", "/proc/thread-self/"}) +
			w.pick([]string{"cwd", "root", "exe", "ns/net", "status", "maps", "mounts"}) + w.pick([]string{"", "/", "/" + path})
	case 6:
		path = w.pick([]string{"/proc/mounts", "/proc/net/dev", "/dev/fd/3", "/dev/stdin", "/dev/stdout", "/", "//", "/..", "/proc/self/..", "/proc/self", "/proc/self/", "/proc/thread-self/comm"})
	case 7:
		if w.rnd.Intn(4) == 0 {
			dirfd = []int{-1, -5, 999, unix.AT_FDCWD}[w.rnd.Intn(4)]
		}
	}
	return dirfd, path
}

func (w *world) resolve(dirfd int, path string, f Flags) *Object {
	w.t.Helper()
	o := new(Object)
	if err := w.r.Resolve(o, w.task(), dirfd, path, f); err != nil {
		w.t.Fatalf("Resolve(%d, %q, %b): %v", dirfd, path, f, err)
	}
	w.unlearned(o, dirfd, path, f)
	w.glance(o, dirfd, path, f)
	return o
}

// unlearned compares with the answer of a Resolver that knows nothing from before.
func (w *world) unlearned(o *Object, dirfd int, path string, f Flags) {
	w.t.Helper()
	r, err := New()
	if err != nil {
		w.t.Fatal(err)
	}
	var plain Object
	if err := r.Resolve(&plain, w.task(), dirfd, path, f); err != nil {
		w.t.Fatalf("Resolve(%d, %q, %b): %v", dirfd, path, f, err)
	}
	plain.Close()
	if plain.Path != o.Path || plain.Errno != o.Errno || plain.Name != o.Name || plain.Exists != o.Exists || plain.Nameless != o.Nameless ||
		plain.Stat.Ino != o.Stat.Ino || plain.ProcPID != o.ProcPID || !slices.Equal(plain.Hops, o.Hops) {
		w.t.Errorf("dirfd %d %q flags %b: %+v, without what was learned %+v", dirfd, path, f, *o, plain)
	}
}

// glance: a glance that is not led away by a link, as the kernel finds when it is told to
// follow none, is what Resolve finds.
func (w *world) glance(o *Object, dirfd int, path string, f Flags) {
	w.t.Helper()
	var g Object
	if !w.r.Glance(&g, w.task(), dirfd, path, f) {
		return
	}
	w.glances++
	if g.Errno != 0 && (g.Errno != unix.ENOENT || o.Errno != g.Errno || g.Exists) { // and the kernel says so, too: see same
		w.t.Errorf("dirfd %d %q flags %b: glance %+v, object %+v", dirfd, path, f, g, *o)
		return
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, g.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: noLinks})
	if errors.Is(err, unix.ELOOP) {
		return
	}
	if g.Errno != 0 {
		if !errors.Is(err, g.Errno) || g.Path != o.Path || !slices.Equal(g.Hops, o.Hops) {
			w.t.Errorf("dirfd %d %q flags %b: glance %+v, object %+v, kernel %v", dirfd, path, f, g, *o, err)
		}
		w.absences++
		return
	}
	if err != nil {
		w.t.Errorf("dirfd %d %q flags %b: glance at %q: %v", dirfd, path, f, g.Path, err)
		return
	}
	unix.Close(fd)
	if g.Path != o.Path || g.Name != o.Name || g.Stat.Ino != o.Stat.Ino || !o.Exists || o.Errno != 0 || g.FD != -1 || g.Parent != -1 {
		w.t.Errorf("dirfd %d %q flags %b: glance %+v, object %+v", dirfd, path, f, g, *o)
	}
}

// same compares an object with what the kernel said to the child.
func (w *world) same(o *Object, a answer, what string) {
	w.t.Helper()
	switch {
	case o.Errno != a.Errno:
		w.t.Errorf("%s: errno %v, kernel %v (%s)", what, o.Errno, a.Errno, o.Path)
	case a.Errno == 0 && !o.Exists:
		w.t.Errorf("%s: absent, kernel found %d", what, a.Ino)
	case a.Errno == 0 && (o.Stat.Ino != a.Ino || o.Stat.Dev != a.Dev):
		w.t.Errorf("%s: object %x:%d %q, kernel %x:%d", what, o.Stat.Dev, o.Stat.Ino, o.Path, a.Dev, a.Ino)
	}
	w.named(o, what)
}

// named checks the canonical name: absolute, clean, free of links, and leading to the
// object.
func (w *world) named(o *Object, what string) {
	w.t.Helper()
	for _, hop := range o.Hops {
		if hop == "" || hop[0] != '/' || (filepath.Clean(hop) != hop) {
			w.t.Errorf("%s: hop %q", what, hop)
		}
	}
	if o.Errno != 0 {
		if o.FD != -1 || o.Parent != -1 {
			w.t.Errorf("%s: errno %v with descriptors", what, o.Errno)
		}
		return
	}
	if o.Nameless {
		if o.Path != "" || o.NamelessKind == "" {
			w.t.Errorf("%s: nameless object %q has the name %q", what, o.NamelessKind, o.Path)
		}
		return
	}
	if o.Path == "" || o.Path[0] != '/' || filepath.Clean(o.Path) != o.Path {
		w.t.Errorf("%s: path %q", what, o.Path)
	}
	if !o.LastDot && o.Name != filepath.Base(o.Path) && o.Path != "/" {
		w.t.Errorf("%s: path %q has name %q", what, o.Path, o.Name)
	}
	var st unix.Stat_t
	fd, err := unix.Openat2(unix.AT_FDCWD, o.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: noLinks})
	if o.Exists {
		if err != nil {
			w.t.Errorf("%s: path %q: %v", what, o.Path, err)
			return
		}
		unix.Fstat(fd, &st)
		if st.Ino != o.Stat.Ino || st.Dev != o.Stat.Dev {
			w.t.Errorf("%s: path %q is %d, object is %d", what, o.Path, st.Ino, o.Stat.Ino)
		}
		unix.Close(fd)
	} else if err != unix.ENOENT {
		w.t.Errorf("%s: absent %q: %v", what, o.Path, err)
	}
}

// check puts one question to both sides in every way that changes nothing for good.
func (w *world) check(dirfd int, path string, f Flags) {
	w.t.Helper()
	what := fmt.Sprintf("dirfd %d %q flags %b thread %v", dirfd, path, f, w.current)
	if f&(Beneath|InRoot|NoSymlinks|NoMagicLinks|NoXDev) != 0 {
		how := unix.OpenHow{Flags: unix.O_PATH}
		for flag, bit := range map[Flags]uint64{
			Beneath: unix.RESOLVE_BENEATH, InRoot: unix.RESOLVE_IN_ROOT, NoSymlinks: unix.RESOLVE_NO_SYMLINKS,
			NoMagicLinks: unix.RESOLVE_NO_MAGICLINKS, NoXDev: unix.RESOLVE_NO_XDEV,
		} {
			if f&flag != 0 {
				how.Resolve |= bit
			}
		}
		if f&NoFollow != 0 {
			how.Flags |= unix.O_NOFOLLOW
		}
		if f&Directory != 0 {
			how.Flags |= unix.O_DIRECTORY
		}
		o := w.resolve(dirfd, path, f)
		w.same(o, w.ask(request{Op: "openat2", Dirfd: dirfd, Path: path, How: how}), what)
		o.Close()
		return
	}
	switch {
	case f&Entry != 0:
		w.checkEntry(dirfd, path, what)
	case f&MayCreate != 0:
		w.checkCreate(dirfd, path, what)
	case f&EmptyPath != 0:
		flags := unix.AT_EMPTY_PATH
		if f&NoFollow != 0 {
			flags |= unix.AT_SYMLINK_NOFOLLOW
		}
		o := w.resolve(dirfd, path, f&^Directory)
		w.same(o, w.ask(request{Op: "stat", Dirfd: dirfd, Path: path, Flags: flags}), what)
		o.Close()
	default:
		flags := unix.O_PATH
		if f&NoFollow != 0 {
			flags |= unix.O_NOFOLLOW
		}
		if f&Directory != 0 {
			flags |= unix.O_DIRECTORY
		}
		o := w.resolve(dirfd, path, f)
		w.same(o, w.ask(request{Op: "open", Dirfd: dirfd, Path: path, Flags: flags}), what)
		o.Close()
	}
}

// checkEntry compares with renameat2 of a name with itself, and with mkdirat.
func (w *world) checkEntry(dirfd int, path string, what string) {
	w.t.Helper()
	o := w.resolve(dirfd, path, Entry)
	defer o.Close()
	w.named(o, what)
	if o.Errno == 0 && (o.Parent < 0) != o.LastDot {
		w.t.Errorf("%s: parent %d, last dot %v", what, o.Parent, o.LastDot)
	}

	// vfs: last dot EBUSY, absent ENOENT, slash behind a file ENOTDIR. Ancestors of
	// anything cannot be in question, for both names are the same.
	want := o.Errno
	switch {
	case want != 0:
	case o.LastDot:
		want = unix.EBUSY
	case !o.Exists:
		want = unix.ENOENT
	case o.Slash && o.Stat.Mode&unix.S_IFMT != unix.S_IFDIR:
		want = unix.ENOTDIR
	}
	got := w.ask(request{Op: "exchange", Dirfd: dirfd, Path: path}).Errno
	if !o.Exists && o.Errno == 0 && !w.within(o) {
		return // make nothing outside of the tree
	}
	onProc := strings.HasPrefix(o.Path, "/proc/") || strings.HasPrefix(o.Path, "/dev/")
	if got != want && !(onProc && want == 0) {
		w.t.Errorf("%s: exchange: want %v, kernel %v (%s)", what, want, got, o.Path)
	}
	if onProc {
		return
	}

	want = o.Errno
	switch {
	case want != 0:
	case o.LastDot || o.Exists:
		want = unix.EEXIST
	}
	got = w.ask(request{Op: "mkdir", Dirfd: dirfd, Path: path}).Errno
	if got != want {
		w.t.Errorf("%s: mkdir: want %v, kernel %v (%s)", what, want, got, o.Path)
	}
	if got == 0 {
		w.made(o, what, unix.S_IFDIR)
	}
}

func (w *world) within(o *Object) bool {
	return strings.HasPrefix(o.Path, w.root+"/") || o.Nameless
}

// made checks that a new object has the resolved name, and removes it by that.
func (w *world) made(o *Object, what string, kind uint32) {
	w.t.Helper()
	var a, b unix.Stat_t
	if err := unix.Fstatat(o.Parent, o.Name, &a, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		w.t.Fatalf("%s: made, but not as %q in its parent: %v", what, o.Name, err)
	}
	if err := unix.Lstat(o.Path, &b); err != nil || a.Ino != b.Ino || a.Mode&unix.S_IFMT != kind {
		w.t.Fatalf("%s: made, but not as %q: %v", what, o.Path, err)
	}
	flags := 0
	if kind == unix.S_IFDIR {
		flags = unix.AT_REMOVEDIR
	}
	if err := unix.Unlinkat(o.Parent, o.Name, flags); err != nil {
		w.t.Fatal(err)
	}
}

// checkCreate compares with O_CREAT.
func (w *world) checkCreate(dirfd int, path string, what string) {
	w.t.Helper()
	o := w.resolve(dirfd, path, MayCreate)
	defer o.Close()
	w.named(o, what)
	if !o.Exists && o.Errno == 0 && !w.within(o) {
		return
	}
	// O_RDWR does not block on a FIFO.
	got := w.ask(request{Op: "open", Dirfd: dirfd, Path: path, Flags: unix.O_CREAT | unix.O_RDWR | unix.O_NONBLOCK})
	want := o.Errno
	if want == 0 && o.Exists {
		switch o.Stat.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			want = unix.EISDIR
		case unix.S_IFLNK: // an O_PATH descriptor of a link
			want = unix.ELOOP
		}
	}
	if want == 0 && o.Exists && got.Errno != 0 && (strings.HasPrefix(o.Path, "/proc/") || o.Nameless || got.Errno == unix.EACCES || got.Errno == unix.ETXTBSY) {
		return // the file itself refuses
	}
	if got.Errno != want {
		w.t.Errorf("%s: create: want %v, kernel %v (%s)", what, want, got.Errno, o.Path)
		return
	}
	if got.Errno != 0 {
		return
	}
	if !o.Exists {
		w.made(o, what, unix.S_IFREG)
	} else if o.Stat.Ino != got.Ino {
		w.t.Errorf("%s: create: object %d %q, kernel %d", what, o.Stat.Ino, o.Path, got.Ino)
	}
}

var flagSets = []Flags{
	0, 0, NoFollow, Entry, MayCreate, Directory, NoFollow | Directory, EmptyPath, EmptyPath | NoFollow,
	Beneath, InRoot, NoSymlinks, NoMagicLinks, NoXDev, Beneath | NoFollow, InRoot | Directory,
	NoXDev | NoFollow, Beneath | NoXDev, InRoot | NoMagicLinks,
}

func TestKernel(t *testing.T) {
	const worlds, questions = 40, 1500
	var objects, refused, glances, absences int
	errnos := map[syscall.Errno]int{}
	for seed := range int64(worlds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			before := countFDs(t)
			w := newWorld(t, seed)
			held := countFDs(t)
			for range questions {
				w.current = w.rnd.Intn(4) == 0
				dirfd, path := w.question()
				if w.current && dirfd != unix.AT_FDCWD && dirfd < 100 && dirfd > 0 {
					dirfd = unix.AT_FDCWD // the thread has not got the later ones
				}
				f := flagSets[w.rnd.Intn(len(flagSets))]
				w.check(dirfd, path, f)
				o := w.resolve(dirfd, path, f)
				if o.Errno == 0 {
					objects++
				} else {
					refused++
				}
				errnos[o.Errno]++
				o.Close()
				if t.Failed() {
					t.FailNow()
				}
			}
			glances += w.glances
			absences += w.absences
			if now := countFDs(t); now != held {
				t.Errorf("%d descriptors, %d before the questions (%d at first)", now, held, before)
			}
		})
	}
	// The comparison says little unless both kinds of answer are common.
	if objects < refused/4 || refused < objects/4 || errnos[unix.ELOOP] < 50 || errnos[unix.ENOTDIR] < 50 || errnos[unix.EXDEV] < 50 {
		t.Errorf("%d objects, %d refusals: %v", objects, refused, errnos)
	}
	if glances < objects/20 || absences < 100 {
		t.Errorf("%d glances at %d objects, %d at names that are not there", glances, objects, absences)
	}
	t.Logf("%d objects, %d glances, %d at what is not there, %d refusals: %v", objects, glances, absences, refused, errnos)
}

func countFDs(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func FuzzResolve(f *testing.F) {
	w := newWorld(f, 4711)
	for i, path := range []string{
		"a", "a/../b/", "k40", "k41/", "l/./m//", "/proc/self/cwd/..", "/proc/thread-self/fd/7/x",
		"\xff\xfe/new", "x (deleted)", "/dev/fd/8", long255 + "/..", long255 + "n",
		strings.Repeat("./", 2047) + "a", strings.Repeat("./", 2047) + "ab", "",
	} {
		f.Add(path, uint8(i), uint8(i))
	}
	f.Fuzz(func(t *testing.T, path string, flags, dir uint8) {
		if strings.IndexByte(path, 0) >= 0 {
			return // no C string, so no path; nothing to compare
		}
		if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/proc/self/") && !strings.HasPrefix(path, "/proc/thread-self/") {
			path = strings.TrimLeft(path, "/") // stay in the tree, for names are made
		}
		w.t = t
		dirfd := unix.AT_FDCWD
		if n := int(dir) % (len(w.dirfds) + 1); n > 0 {
			dirfd = w.dirfds[n-1]
		}
		fl := flagSets[int(flags)%len(flagSets)]
		if fl&(Entry|MayCreate) != 0 && strings.Contains(path, "..") {
			fl = NoFollow
		}
		w.check(dirfd, path, fl)
	})
}
