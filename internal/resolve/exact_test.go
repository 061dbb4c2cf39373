// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A link that takes the place of a directory which is known: a glance is led away by it, the
// kernel says so when it is told to follow none, and Resolve sees it.
func TestGlanceAtLink(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/d/e", 0o755), os.MkdirAll(root+"/other/e", 0o755),
		os.WriteFile(root+"/d/e/file", nil, 0o644), os.WriteFile(root+"/other/e/file", nil, 0o644))
	name := root + "/d/e/file"
	var g Object
	if w.r.Glance(&g, w.task(), unix.AT_FDCWD, name, 0) {
		t.Fatal("a glance at what was never seen")
	}
	first := w.resolve(unix.AT_FDCWD, name, 0)
	first.Close()
	for _, path := range []string{name, "d/e/file"} {
		if !w.r.Glance(&g, w.task(), unix.AT_FDCWD, path, 0) || g.Path != name || g.Stat.Ino != first.Stat.Ino || !g.Exists {
			t.Fatalf("%s: %+v", path, g)
		}
	}
	must(t, os.Rename(root+"/d", root+"/moved"), os.Symlink("other", root+"/d"))
	if w.r.Glance(&g, w.task(), unix.AT_FDCWD, name, 0) && g.Path != name {
		t.Errorf("glance says %q", g.Path)
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if _, err := unix.Openat2(unix.AT_FDCWD, name, &how); !errors.Is(err, unix.ELOOP) {
		t.Errorf("the name without links: %v", err)
	}
	o := w.resolve(unix.AT_FDCWD, name, 0)
	defer o.Close()
	if o.Path != root+"/other/e/file" {
		t.Errorf("resolved to %q", o.Path)
	}
}

// What a glance must not answer: links, absent names, dots, slashes at the end, a directory
// of the task that its name no longer leads to, and where spelling does not count.
func TestNoGlance(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/d/sub", 0o755), os.MkdirAll(root+"/gone", 0o755), os.MkdirAll(root+"/folds", 0o755),
		os.WriteFile(root+"/d/file", nil, 0o644), os.WriteFile(root+"/gone/file", nil, 0o644), os.WriteFile(root+"/folds/file", nil, 0o644),
		os.Link(root+"/folds/file", root+"/folds/FILE"), os.Symlink("file", root+"/d/link"))
	for _, path := range []string{"/d/file", "/gone/file", "/folds/file", "/d"} {
		o := w.resolve(unix.AT_FDCWD, root+path, 0)
		o.Close()
	}
	var g Object
	no := func(path string, f Flags) {
		t.Helper()
		if w.r.Glance(&g, w.task(), unix.AT_FDCWD, path, f) {
			t.Errorf("glance at %q: %+v", path, g)
		}
	}
	yes := func(path string, f Flags) {
		t.Helper()
		if !w.r.Glance(&g, w.task(), unix.AT_FDCWD, path, f) {
			t.Errorf("no glance at %q", path)
		}
	}
	yes(root+"/d/file", 0)
	yes("d/file", MayCreate)
	yes(root+"/d/sub", Directory)
	no(root+"/d/file", Directory)
	no(root+"/d/file", Entry)
	no(root+"/d/file", Beneath)
	for _, path := range []string{
		root + "/d/link", root + "/d/link/", root + "/d/./file", root + "/d//file", root + "/d/file/", root + "/d/none/", root + "/d/sub//", root + "/d/sub/..",
		root + "/d/.", "", "/", "/proc/self/status", "/proc/1/status",
	} {
		no(path, 0)
	}
	for _, path := range []string{root + "/d/none", "d/none", "./d/none", "d/sub/", "./d/sub/", root + "/d/sub/", "./d/file", "././d/file"} {
		yes(path, NoFollow)
		o := w.resolve(unix.AT_FDCWD, path, NoFollow)
		o.Close()
		if g.Path != o.Path || g.Errno != o.Errno || g.Slash != o.Slash || g.Exists != o.Exists || g.Stat != o.Stat && g.Exists {
			t.Errorf("glance at %s: %+v, resolved %+v", path, g, *o)
		}
	}
	for _, path := range []string{root + "/d/none", "d/none"} {
		no(path, MayCreate)
		no(path, Ways)
	}
	no("d/sub/", MayCreate)
	no(".//d/file", 0) // the kernel does not mind, but it is no canonical name

	// Both spellings lead to one inode, as where case is folded.
	no(root+"/folds/file", 0)

	// The task is in a directory whose name has gone to another.
	w.do(request{Op: "chdir", Path: root + "/gone"})
	yes("file", 0)
	must(t, os.Rename(root+"/gone", root+"/elsewhere"), os.Mkdir(root+"/gone", 0o755), os.WriteFile(root+"/gone/file", nil, 0o644))
	no("file", 0) // the new name is not known
	o := w.resolve(unix.AT_FDCWD, "file", 0)
	o.Close()
	yes("file", 0)
	if g.Path != root+"/elsewhere/file" {
		t.Errorf("glance at %q", g.Path)
	}
	must(t, os.RemoveAll(root+"/elsewhere"), os.Mkdir(root+"/elsewhere", 0o755), os.WriteFile(root+"/elsewhere/file", nil, 0o644))
	no("file", 0) // removed
	no("none", 0)
	w.r.Forget()
	no(root+"/d/file", 0)
}

// The program of a task, by its magic link and without the way there.
func TestExe(t *testing.T) {
	w, _ := place(t)
	path := "/proc/" + strconv.Itoa(w.task().TID) + "/exe"
	want := w.resolve(unix.AT_FDCWD, path, 0)
	var got Object
	if err := w.r.Exe(&got, w.task()); err != nil {
		t.Fatal(err)
	}
	want.Close()
	got.Close()
	got.open, got.FD, want.FD = want.open, -1, -1
	if !reflect.DeepEqual(got, *want) {
		t.Errorf("%+v, resolved %+v", got, *want)
	}
	if err := w.r.Exe(&got, Task{TGID: 1 << 30, TID: 1 << 30}); err == nil || got.FD != -1 {
		t.Errorf("of no task: %v, %+v", err, got)
	}
}

// What is learned is bounded.
func TestExactIsBounded(t *testing.T) {
	w, root := place(t)
	must(t, os.WriteFile(root+"/file", nil, 0o644))
	for i := range maxExact + 10 {
		w.r.exact[strings.Repeat("/x", i+1)+"/"] = true
		if len(w.r.exact) >= maxExact {
			break
		}
	}
	o := w.resolve(unix.AT_FDCWD, root+"/file", 0)
	o.Close()
	if n := len(w.r.exact); n != 1 || !w.r.exact[root+"/"] {
		t.Errorf("%d directories", n)
	}
}

// The paths that programs open again and again cost no allocation.
func TestAllocations(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/d/e", 0o755), os.WriteFile(root+"/d/e/file", nil, 0o644), os.WriteFile(root+"/12", nil, 0o644))
	var o Object
	for _, q := range []struct {
		path string
		f    Flags
	}{{root + "/d/e/file", 0}, {"d/e/file", 0}, {root + "/d/e/file", Entry}, {"d/e/file", Entry}, {root + "/d/e/new", Entry}, {"d/e/new", MayCreate}} {
		if n := testing.AllocsPerRun(100, func() {
			if err := w.r.Resolve(&o, w.task(), unix.AT_FDCWD, q.path, q.f); err != nil || o.Errno != 0 {
				t.Fatal(err, o.Errno)
			}
			o.Close()
		}); n != 0 {
			t.Errorf("resolve %s %b: %v allocations", q.path, q.f, n)
		}
	}
	for _, path := range []string{root + "/d/e/file", "d/e/file"} {
		if n := testing.AllocsPerRun(100, func() {
			if !w.r.Glance(&o, w.task(), unix.AT_FDCWD, path, 0) {
				t.Fatal("no glance")
			}
		}); n != 0 {
			t.Errorf("glance at %s: %v allocations", path, n)
		}
	}
}

// Where /usr is merged, most paths of programs begin with a link in "/".
func TestGlanceThroughRoot(t *testing.T) {
	w, _ := place(t)
	links, err := os.ReadDir("/")
	must(t, err)
	seen := 0
	for _, link := range links {
		if link.Type()&os.ModeSymlink == 0 {
			continue
		}
		inside, err := os.ReadDir("/" + link.Name())
		if err != nil {
			continue // to a file, or to nothing
		}
		for _, e := range inside {
			path := "/" + link.Name() + "/" + e.Name()
			if !e.Type().IsRegular() {
				continue
			}
			o := w.resolve(unix.AT_FDCWD, path, 0)
			o.Close()
			var g Object
			if !w.r.Glance(&g, w.task(), unix.AT_FDCWD, path, 0) {
				continue // its directory is not known, as of a name without letters
			}
			seen++
			if g.Path != o.Path || g.Stat.Ino != o.Stat.Ino || !slices.Equal(g.Hops, o.Hops) || len(g.Hops) != 1 {
				t.Errorf("%s: glance %q by %q, resolved %q by %q", path, g.Path, g.Hops, o.Path, o.Hops)
			}
			if w.r.Glance(&g, w.task(), unix.AT_FDCWD, path, NoSymlinks) {
				t.Errorf("%s: a glance through a link where none may be followed", path)
			}
			if n := testing.AllocsPerRun(10, func() { w.r.Glance(&g, w.task(), unix.AT_FDCWD, path, 0) }); n != 0 {
				t.Errorf("%s: %v allocations", path, n)
			}
			break
		}
	}
	t.Logf("%d links", seen)

	// A link that has changed since is not believed.
	w.r.exact["/usr/share/"] = true
	w.r.rootLinks["etc"] = newRootLink("/etc", "usr/share")
	if to, _ := w.r.throughRoot("/etc/passwd"); to != "" {
		t.Errorf("a directory taken for a link to %s", to)
	}
}

// A link in a known directory is followed in fewer steps, and everything that can change under
// that is seen: a resolver that knows it says what one says that knows nothing.
func TestKnownLink(t *testing.T) {
	w, root := place(t)
	glances, through := 0, 0
	must(t, os.MkdirAll(root+"/d/e", 0o755), os.MkdirAll(root+"/other/e", 0o755), os.Mkdir(root+"/all", 0o777), os.Chmod(root+"/all", 0o777|os.ModeSticky))
	for _, dir := range []string{"/d/e/", "/other/e/", "/all/"} {
		must(t, os.WriteFile(root+dir+"file", nil, 0o644), os.WriteFile(root+dir+"file2", nil, 0o644),
			os.Symlink("file", root+dir+"link"), os.Symlink(root+dir+"link", root+dir+"again"), os.Symlink("none", root+dir+"dangling"))
	}
	same := func(path string, f Flags) {
		t.Helper()
		fresh, err := New()
		must(t, err)
		var got, want Object
		must(t, w.r.Resolve(&got, w.task(), unix.AT_FDCWD, path, f), fresh.Resolve(&want, w.task(), unix.AT_FDCWD, path, f))
		got.Close()
		want.Close()
		want.Absent = got.Absent // that is told where the directory is known
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s, flags %b: %+v, without knowledge %+v", path, f, got, want)
		}
		var g Object
		if w.r.Glance(&g, w.task(), unix.AT_FDCWD, path, f) {
			fd, err := unix.Openat2(unix.AT_FDCWD, g.Path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: noLinks})
			if errors.Is(err, unix.ELOOP) {
				return // as its caller finds out
			}
			closeFD(fd)
			glances++
			if g.Path != want.Path || g.Errno != want.Errno || g.Exists != want.Exists || g.Stat.Ino != want.Stat.Ino || !slices.Equal(g.Hops, want.Hops) {
				t.Errorf("%s, flags %b: glance %+v, without knowledge %+v", path, f, g, want)
			}
			if len(g.Hops) > 0 {
				through++
			}
		}
	}
	all := func() {
		t.Helper()
		for _, name := range []string{"/d/e/link", "/d/e/again", "/d/e/dangling", "/d/e/link/", "/d/e/again/x", "/d/e/file", "/all/link", "/all/again"} {
			for _, f := range []Flags{0, NoFollow, MayCreate, Entry, Directory, NoSymlinks, NoMagicLinks, NoXDev, Ways} {
				if f != MayCreate || !strings.HasSuffix(name, "/x") {
					same(root+name, f)
				}
			}
		}
	}
	known := func(name string) bool {
		_, ok := w.r.links[root+name]
		return ok
	}
	for range 3 {
		all()
	}
	for _, name := range []string{"/d/e/link", "/d/e/again", "/d/e/dangling"} {
		if !known(name) {
			t.Fatalf("%s is not known", name)
		}
	}
	if known("/all/link") || known("/all/again") {
		t.Error("a link is known that not everybody may follow")
	}
	for _, change := range []func(){
		func() { must(t, os.Remove(root+"/d/e/link"), os.Symlink("file2", root+"/d/e/link")) },     // other text
		func() { must(t, os.Remove(root+"/d/e/link"), os.Symlink("../e/file", root+"/d/e/link")) }, // with dots
		func() { must(t, os.Remove(root+"/d/e/link"), os.WriteFile(root+"/d/e/link", nil, 0o644)) },
		func() { must(t, os.Remove(root+"/d/e/link"), os.Mkdir(root+"/d/e/link", 0o755)) },
		func() { must(t, os.Remove(root+"/d/e/link")) },
		func() { must(t, os.Symlink("link", root+"/d/e/link")) }, // to itself
		func() { must(t, os.Remove(root+"/d/e/link"), os.Symlink("file", root+"/d/e/link")) },
		func() { must(t, os.Rename(root+"/d", root+"/moved"), os.Symlink("other", root+"/d")) }, // the same texts, elsewhere
		func() { must(t, os.Remove(root+"/d"), os.Rename(root+"/other", root+"/d")) },
		func() { must(t, os.WriteFile(root+"/d/e/none", nil, 0o644)) },
		func() { must(t, os.RemoveAll(root+"/d")) },
	} {
		change()
		all()
		all()
	}
	if glances < 100 || through < 50 {
		t.Errorf("%d glances, %d through links", glances, through)
	}
	w.r.Forget()
	if len(w.r.links) != 0 {
		t.Errorf("%d links after Forget", len(w.r.links))
	}
}

// A name whose directory is not there either is answered by one look: as by one that knows
// nothing, which goes step by step.
func TestNowhere(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/d/e", 0o755), os.WriteFile(root+"/d/file", nil, 0o644), os.Symlink("e", root+"/d/link"), os.Symlink("none", root+"/d/dangling"))
	w.resolve(unix.AT_FDCWD, root+"/d/file", 0).Close()
	if !w.r.isExact(root + "/d") {
		t.Fatal("the directory is not known")
	}
	w.do(request{Op: "chdir", Path: root})
	for _, name := range []string{
		"/d/no/x", "/d/no/no/x", "/none", "/no/x", "/d/file/x", "/d/file/x/y", "/d/link/x", "/d/link/no/x", "/d/dangling/x", "/d/no/../x", "/d/./no/x", "/d//no/x", "/d/no/x/", "/d/no/.",
	} {
		for _, f := range []Flags{0, NoFollow, MayCreate, Entry, Directory, NoSymlinks, NoMagicLinks, NoXDev, Ways} {
			var want Object
			must(t, w.r.Resolve(&want, w.task(), unix.AT_FDCWD, name[1:], f|NoXDev)) // single steps
			want.Close()
			for _, path := range []string{root + name, name[1:]} {
				var got Object
				must(t, w.r.Resolve(&got, w.task(), unix.AT_FDCWD, path, f))
				got.Close()
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s, flags %b: %+v, step by step %+v", path, f, got, want)
				}
			}
		}
	}
	// A directory takes the place: the same words are then asked for anew.
	must(t, os.MkdirAll(root+"/d/no", 0o755), os.WriteFile(root+"/d/no/x", nil, 0o644))
	if o := w.resolve(unix.AT_FDCWD, root+"/d/no/x", 0); !o.Exists || o.Path != root+"/d/no/x" {
		t.Errorf("%+v", o)
	} else {
		o.Close()
	}
}
