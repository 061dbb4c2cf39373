// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// place is a tree of one's own and a child with its cwd at the root of it.
func place(t *testing.T) (*world, string) {
	t.Helper()
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{child: startChild(t), root: root, r: r}
	w.do(request{Op: "chdir", Path: root})
	return w, root
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestNames(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/d/e", 0o755), os.WriteFile(root+"/d/f", nil, 0o644),
		os.Symlink("d", root+"/l"), os.Symlink(root+"/l/e", root+"/m"), os.Symlink("../d/none", root+"/d/dangling"),
		os.WriteFile(root+"/x (deleted)", nil, 0o644), unix.Mkfifo(root+"/fifo", 0o600))
	for _, q := range []struct {
		path  string
		f     Flags
		want  string
		errno syscall.Errno
		hops  []string
	}{
		{"d/f", 0, "/d/f", 0, nil},
		{"./d//e/../f", 0, "/d/f", 0, nil},
		{"l", 0, "/d", 0, []string{"/l"}},
		{"l", NoFollow, "/l", 0, nil},
		{"l/", NoFollow, "/d", 0, []string{"/l"}},
		{"m/../f", 0, "/d/f", 0, []string{"/m", "/l"}},
		{"m", Entry, "/m", 0, nil},
		{"m/new/", Entry, "/d/e/new", 0, []string{"/m", "/l"}},
		{"l/dangling", MayCreate, "/d/none", 0, []string{"/l", "/d/dangling"}},
		{"l/dangling", 0, "/d/none", unix.ENOENT, []string{"/l", "/d/dangling"}},
		{"l/dangling", NoFollow, "/d/dangling", 0, []string{"/l"}},
		{"l/dangling", Entry, "/d/dangling", 0, []string{"/l"}},
		{"d/f/", 0, "/d/f", unix.ENOTDIR, nil},
		{"d/f/../../x", 0, "/d/f/../../x", unix.ENOTDIR, nil},
		{"l/none/.//x/", 0, "/d/none/x", unix.ENOENT, []string{"/l"}},
		{"d/new/", MayCreate, "/d/new", unix.EISDIR, nil},
		{"x (deleted)", 0, "/x (deleted)", 0, nil},
		{"x (deleted)/y", 0, "/x (deleted)/y", unix.ENOTDIR, nil},
		{"fifo", 0, "/fifo", 0, nil},
	} {
		o := w.resolve(unix.AT_FDCWD, q.path, q.f)
		var hops []string
		for _, h := range q.hops {
			hops = append(hops, root+h)
		}
		if o.Path != root+q.want || o.Errno != q.errno || !reflect.DeepEqual(o.Hops, hops) || o.Slash != strings.HasSuffix(q.path, "/") {
			t.Errorf("%q %b: %q errno %v hops %q slash %v", q.path, q.f, o.Path, o.Errno, o.Hops, o.Slash)
		}
		o.Close()
	}
}

// The lengths are those of path_resolution(7) and limits.h; the kernel is asked all the same.
func TestLengths(t *testing.T) {
	w, root := place(t)
	must(t, os.Mkdir(root+"/a", 0o755), os.WriteFile(root+"/a/f", nil, 0o644),
		os.Symlink(strings.Repeat("./", 2046)+"a", root+"/far")) // 4093 bytes of text
	for _, f := range []Flags{0, NoFollow, Entry, MayCreate} {
		for n := 4090; n <= 4098; n++ {
			path := strings.Repeat("/", n-3) + "a/f"
			path = "a" + path[1:]
			if len(path) != n {
				t.Fatal(len(path))
			}
			w.check(unix.AT_FDCWD, path, f)
			o := w.resolve(unix.AT_FDCWD, path, f)
			if tooLong := o.Errno == unix.ENAMETOOLONG; tooLong != (n > 4095) {
				t.Errorf("length %d: errno %v", n, o.Errno)
			}
			o.Close()
		}
		for n := 254; n <= 257; n++ {
			for _, format := range []string{"%s", "a/%s", "%s/x", "a/%s/", "none/%s", "far/%s"} {
				path := fmt.Sprintf(format, strings.Repeat("y", n))
				w.check(unix.AT_FDCWD, path, f)
			}
		}
		w.check(unix.AT_FDCWD, "far/"+strings.Repeat("/", 4080)+"f", f) // longer than PATH_MAX together
		w.check(unix.AT_FDCWD, "", f)
	}
}

func TestLinkLimit(t *testing.T) {
	w, root := place(t)
	must(t, os.Mkdir(root+"/k0", 0o755), os.Symlink("loop", root+"/loop"))
	for i := range 41 {
		must(t, os.Symlink(fmt.Sprintf("k%d", i), fmt.Sprintf("%s/k%d", root, i+1)))
	}
	for path, want := range map[string]syscall.Errno{
		"k40": 0, "k41": unix.ELOOP, "k40/.": 0, "k41/": unix.ELOOP, "k20/../k20": 0, "k20/../k21": unix.ELOOP,
		"loop": unix.ELOOP, "/proc/self/cwd/k38": 0, "/proc/self/cwd/k39": unix.ELOOP,
	} {
		o := w.resolve(unix.AT_FDCWD, path, 0)
		if o.Errno != want {
			t.Errorf("%s: errno %v, want %v", path, o.Errno, want)
		}
		o.Close()
		w.check(unix.AT_FDCWD, path, 0)
	}
}

// Objects without a name say of what kind they are, and what the descriptor may do.
func TestMagic(t *testing.T) {
	w, root := place(t)
	must(t, os.WriteFile(root+"/f", nil, 0o644), os.WriteFile(root+"/gone", nil, 0o644), os.Mkdir(root+"/d", 0o755),
		os.WriteFile(root+"/real (deleted)", nil, 0o644), os.WriteFile(root+"/memfd:x (deleted)", nil, 0o644))
	pid := w.main.TGID
	for _, q := range []struct {
		keep  request
		path  string
		kind  string
		flags int
	}{
		{request{Op: "keep", Path: "f", Flags: unix.O_RDONLY}, root + "/f", "", unix.O_RDONLY},
		{request{Op: "keep", Path: "f", Flags: unix.O_WRONLY | unix.O_APPEND}, root + "/f", "", unix.O_WRONLY | unix.O_APPEND},
		{request{Op: "keep", Path: "f", Flags: unix.O_PATH}, root + "/f", "", unix.O_PATH},
		{request{Op: "keep", Path: "d", Flags: unix.O_RDONLY | unix.O_DIRECTORY}, root + "/d", "", unix.O_DIRECTORY},
		{request{Op: "keep", Path: "real (deleted)", Flags: unix.O_RDWR}, root + "/real (deleted)", "", unix.O_RDWR},
		{request{Op: "keep", Path: "memfd:x (deleted)", Flags: unix.O_RDWR}, root + "/memfd:x (deleted)", "", unix.O_RDWR},
		{request{Op: "keep", Path: "gone", Flags: unix.O_RDWR}, "", "deleted", unix.O_RDWR},
		{request{Op: "keep", Path: ".", Flags: unix.O_RDWR | unix.O_TMPFILE}, "", "deleted", unix.O_RDWR | unix.O_DIRECTORY},
		{request{Op: "pipe"}, "", "pipe", unix.O_RDONLY},
		{request{Op: "socket"}, "", "socket", unix.O_RDWR},
		{request{Op: "memfd", Path: "x"}, "", "memfd", unix.O_RDWR},
		{request{Op: "eventfd"}, "", "anon_inode", unix.O_RDWR},
		{request{Op: "keep", Path: "/proc/self/ns/mnt", Flags: unix.O_RDONLY}, "", "ns", unix.O_RDONLY},
	} {
		q.keep.Dirfd = unix.AT_FDCWD
		fd := w.do(q.keep).FD
		if q.keep.Path == "gone" {
			must(t, os.Remove(root+"/gone"))
		}
		for _, link := range []string{"/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d", fmt.Sprintf("/proc/%d/fd/%%d", pid), "/proc/self/cwd/" + strings.Repeat("../", 30) + "proc/self/fd/%d"} {
			path := fmt.Sprintf(link, fd)
			o := w.resolve(unix.AT_FDCWD, path, 0)
			held := o.HeldFlags &^ (unix.O_CLOEXEC | 0o100000) // the kernel adds O_LARGEFILE
			held &^= unix.O_TMPFILE &^ unix.O_DIRECTORY
			if o.Errno != 0 || o.Path != q.path || o.NamelessKind != q.kind || o.Nameless != (q.kind != "") ||
				o.Magic != MagicFD || o.MagicPID != pid || o.MagicFD != fd || held != q.flags {
				t.Errorf("%s %s: %+v", q.keep.Op, path, o)
			}
			if n := len(o.Hops); n == 0 || !strings.HasSuffix(o.Hops[n-1], fmt.Sprintf("/fd/%d", fd)) {
				t.Errorf("%s: hops %q", path, o.Hops)
			}
			w.same(o, w.ask(request{Op: "stat", Dirfd: unix.AT_FDCWD, Path: path}), path)
			o.Close()
			for _, f := range []Flags{NoFollow, Directory, NoMagicLinks, NoXDev, Beneath, MayCreate} {
				w.check(unix.AT_FDCWD, path, f)
			}
		}
		w.check(fd, "", EmptyPath)
		w.check(fd, "x", 0)
	}
	for path, want := range map[string]Magic{
		"/proc/self/cwd": MagicOther, "/proc/self/root": MagicOther, "/proc/self/exe": MagicOther,
		"/proc/self/cwd/f": MagicNone, "/proc/self/cwd/.": MagicNone, "/proc/self/status": MagicNone,
		"/proc/self/ns/net": MagicOther, "/proc/mounts": MagicNone, "/proc/self/cwd/": MagicOther,
	} {
		o := w.resolve(unix.AT_FDCWD, path, 0)
		if o.Errno != 0 || o.Magic != want {
			t.Errorf("%s: %+v", path, o)
		}
		o.Close()
	}
}

func TestProcPID(t *testing.T) {
	w, _ := place(t)
	for _, thread := range []bool{false, true} {
		w.current = thread
		pid, tid := w.task().TGID, w.task().TID
		for path, want := range map[string]struct {
			path string
			pid  int
		}{
			"/proc/self":                      {fmt.Sprintf("/proc/%d", pid), pid},
			"/proc/self/status":               {fmt.Sprintf("/proc/%d/status", pid), pid},
			"/proc/thread-self/comm":          {fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid), pid},
			"/proc/1/status":                  {"/proc/1/status", 1},
			fmt.Sprintf("/proc/%d/comm", tid): {fmt.Sprintf("/proc/%d/comm", tid), tid},
			"/proc/mounts":                    {fmt.Sprintf("/proc/%d/mounts", pid), pid},
			"/proc/net/dev":                   {fmt.Sprintf("/proc/%d/net/dev", pid), pid},
			"/proc/sys/kernel/ostype":         {"/proc/sys/kernel/ostype", 0},
			"/proc/version":                   {"/proc/version", 0},
			"/proc":                           {"/proc", 0},
			"/dev/null":                       {"/dev/null", 0},
		} {
			o := w.resolve(unix.AT_FDCWD, path, 0)
			if o.Errno != 0 || o.Path != want.path || o.ProcPID != want.pid {
				t.Errorf("%s: %q %d errno %v", path, o.Path, o.ProcPID, o.Errno)
			}
			o.Close()
			w.check(unix.AT_FDCWD, path, 0)
		}
	}
}

// proc makes no names: its lookup says ENOENT where others leave it to open or mkdir.
func TestProcAbsent(t *testing.T) {
	w, _ := place(t)
	for _, path := range []string{"/proc/none", "/proc/self/none", "/proc/self/fd/999"} {
		o := w.resolve(unix.AT_FDCWD, path, MayCreate)
		if a := w.ask(request{Op: "open", Dirfd: unix.AT_FDCWD, Path: path, Flags: unix.O_CREAT | unix.O_RDWR}); a.Errno != o.Errno || o.Errno != unix.ENOENT {
			t.Errorf("%s: kernel %v, %+v", path, a.Errno, o)
		}
		o = w.resolve(unix.AT_FDCWD, path, Entry)
		if a := w.ask(request{Op: "mkdir", Dirfd: unix.AT_FDCWD, Path: path}); a.Errno != o.Errno || o.Errno != unix.ENOENT {
			t.Errorf("%s: kernel %v, %+v", path, a.Errno, o)
		}
	}
}

func TestDeletedDirectory(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/d/e", 0o755))
	w.do(request{Op: "chdir", Path: root + "/d/e"})
	must(t, os.Remove(root+"/d/e"))
	for _, path := range []string{".", "..", "x", "./x", "../x", "/proc/self/cwd", "/proc/self/cwd/x", "/proc/self/cwd/..", "x/", "../e"} {
		for _, f := range flagSets {
			w.check(unix.AT_FDCWD, path, f)
		}
	}
	o := w.resolve(unix.AT_FDCWD, ".", 0)
	if !o.Nameless || o.NamelessKind != "deleted" || !o.Exists {
		t.Errorf("%+v", o)
	}
	o.Close()
	o = w.resolve(unix.AT_FDCWD, "x", 0)
	if o.Errno != unix.ENOENT || o.Path != root+"/d/e/x" {
		t.Errorf("%+v", o)
	}
	// Another directory gets the old name: the deleted one must not be taken for it.
	must(t, os.Mkdir(root+"/d/e", 0o755), os.Mkdir(root+"/d/e (deleted)", 0o755))
	o = w.resolve(unix.AT_FDCWD, ".", 0)
	if !o.Nameless || o.NamelessKind != "deleted" || o.Path != "" {
		t.Errorf("%+v", o)
	}
	o.Close()
}

// What lies deeper than PATH_MAX has a name that no call can tell; it is put together.
func TestDeepDirectory(t *testing.T) {
	for _, deep := range []int{17, 20, 33, 70} { // also more than the half of which lies too deep
		t.Run(strconv.Itoa(deep), func(t *testing.T) { deepDirectory(t, deep) })
	}
}

func deepDirectory(t *testing.T, deep int) {
	w, root := place(t)
	for range deep {
		w.do(request{Op: "mkdir", Dirfd: unix.AT_FDCWD, Path: long255})
		w.do(request{Op: "chdir", Path: long255})
	}
	w.do(request{Op: "mkdir", Dirfd: unix.AT_FDCWD, Path: "sub"})
	made := w.ask(request{Op: "open", Dirfd: unix.AT_FDCWD, Path: "file", Flags: unix.O_CREAT | unix.O_WRONLY})
	if made.Errno != 0 {
		t.Fatal(made.Errno)
	}
	here := root + strings.Repeat("/"+long255, deep)
	for path, want := range map[string]string{
		".": here, "x": here + "/x", "..": here[:len(here)-256], "../" + long255: here, "file": here + "/file", "sub/../file": here + "/file",
		"sub": here + "/sub", "sub/new": here + "/sub/new", "../../" + long255 + "/new": here[:len(here)-256] + "/new",
	} {
		for _, f := range []Flags{0, Entry, MayCreate, NoFollow} {
			o := w.resolve(unix.AT_FDCWD, path, f)
			if o.Errno == 0 && (o.Nameless || o.Path != want) {
				t.Errorf("%.20q, flags %b: %+v", path, f, o)
			}
			if o.Errno != 0 && o.Errno != unix.ENOENT {
				t.Errorf("%.20q, flags %b: %v", path, f, o.Errno)
			}
			if path == "file" && f == 0 && o.Stat.Ino != made.Ino {
				t.Errorf("%d, made %d", o.Stat.Ino, made.Ino)
			}
			o.Close()
		}
	}
	w.check(unix.AT_FDCWD, "../../x", 0)
	w.do(request{Op: "unlink", Dirfd: unix.AT_FDCWD, Path: "file"})
	w.do(request{Op: "rmdir", Dirfd: unix.AT_FDCWD, Path: "sub"})
	for range deep { // TempDir could not remove it
		w.do(request{Op: "chdir", Path: ".."})
		w.do(request{Op: "rmdir", Dirfd: unix.AT_FDCWD, Path: long255})
	}
}

// Directories that may not be searched: the same answers, as root and as anyone. The names
// of what lies below stay known to one who stands there.
func TestUnsearchable(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/shut/d/e", 0o755), os.WriteFile(root+"/shut/d/f", nil, 0o644), os.Symlink("shut/d", root+"/l"),
		os.Symlink("../f", root+"/shut/d/e/l"))
	fd := w.do(request{Op: "keep", Dirfd: unix.AT_FDCWD, Path: "shut/d", Flags: unix.O_PATH}).FD
	must(t, os.Chmod(root+"/shut", 0o600))
	t.Cleanup(func() { os.Chmod(root+"/shut", 0o700) })
	for _, path := range []string{"shut", "shut/", "shut/.", "shut/..", "shut/d", "shut/d/f", "l", "l/", "l/f", "shut/none", "shut/none/x", "shut/d/f/x"} {
		for _, f := range []Flags{0, NoFollow, Directory, Beneath, InRoot, NoXDev, NoSymlinks} {
			w.check(unix.AT_FDCWD, path, f)
		}
		what := path + " exchanged"
		if o := w.resolve(unix.AT_FDCWD, path, Entry); o.Errno != 0 {
			w.same(o, w.ask(request{Op: "exchange", Dirfd: unix.AT_FDCWD, Path: path}), what)
		} else {
			o.Close()
		}
	}
	for path, want := range map[string]string{"f": "/shut/d/f", "e/l": "/shut/d/f", "e/../.": "/shut/d"} {
		o := w.resolve(fd, path, 0)
		a := w.ask(request{Op: "stat", Dirfd: fd, Path: path})
		if o.Errno != a.Errno || o.Errno != 0 || o.Stat.Ino != a.Ino || o.Path != root+want {
			t.Errorf("%s: %+v, kernel %+v", path, o, a)
		}
		o.Close()
	}
	w.check(fd, "../x", 0)
	if os.Getuid() != 0 {
		o := w.resolve(unix.AT_FDCWD, "l/none", 0)
		if o.Errno != unix.EACCES || o.Path != root+"/shut/d/none" {
			t.Errorf("%+v", o)
		}
		o = w.resolve(unix.AT_FDCWD, "/proc/1/cwd/x", 0)
		if o.Errno != unix.EACCES || o.Path != "/proc/1/cwd/x" {
			t.Errorf("%+v", o)
		}
	}
	w.check(unix.AT_FDCWD, "/proc/1/cwd", 0)
	w.check(unix.AT_FDCWD, "/proc/1/cwd", NoFollow)
	w.check(unix.AT_FDCWD, "/proc/1/fd/0", 0)
}

// fs.protected_symlinks: root may not follow a link that another user put into a sticky
// directory, and the name we give would let it.
func TestProtectedSymlinks(t *testing.T) {
	const knob = "/proc/sys/fs/protected_symlinks"
	old, err := os.ReadFile(knob)
	must(t, err)
	w, root := place(t)
	must(t, os.Mkdir(root+"/sticky", 0o700), os.Chmod(root+"/sticky", 0o777|os.ModeSticky), os.Mkdir(root+"/d", 0o755))
	must(t, os.Symlink("../d", root+"/sticky/mine"), os.Symlink("../d", root+"/sticky/theirs"), os.Symlink("sticky/theirs", root+"/via"))
	if os.Getuid() == 0 {
		must(t, os.Lchown(root+"/sticky/theirs", 4711, 4711))
	}
	compare := func() {
		t.Helper()
		for _, path := range []string{"sticky/mine", "sticky/theirs", "sticky/theirs/", "sticky/theirs/.", "sticky/theirs/x", "via", "via/x"} {
			for _, f := range []Flags{0, NoFollow, Entry, MayCreate, NoSymlinks} {
				w.check(unix.AT_FDCWD, path, f)
			}
		}
	}
	compare()
	if os.Getuid() != 0 {
		return // neither links of others nor the knob can be had
	}
	t.Cleanup(func() { must(t, os.WriteFile(knob, old, 0)) })
	for value, want := range map[string]syscall.Errno{"0": 0, "1": unix.EACCES} {
		must(t, os.WriteFile(knob, []byte(value), 0))
		compare()
		o := w.resolve(unix.AT_FDCWD, "sticky/theirs", 0)
		if o.Errno != want {
			t.Errorf("protected_symlinks %s: %+v", value, o)
		}
		o.Close()
	}
	// The owner of the link may follow it.
	w.do(request{Op: "setfsuid", Flags: 4711})
	must(t, os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755))
	o := w.resolve(unix.AT_FDCWD, "sticky/theirs", 0)
	a := w.ask(request{Op: "stat", Dirfd: unix.AT_FDCWD, Path: "sticky/theirs"})
	if w.same(o, a, "owner"); a.Errno != 0 {
		t.Errorf("owner: kernel %v", a.Errno)
	}
	o.Close()
}

// What ptguard cannot do is an error, never an answer.
func TestFailClosed(t *testing.T) {
	w, _ := place(t)
	var o Object
	gone := exec.Command("/bin/true")
	must(t, gone.Run())
	for _, dirfd := range []int{unix.AT_FDCWD, 0} {
		task := Task{gone.Process.Pid, gone.Process.Pid}
		if err := w.r.Resolve(&o, task, dirfd, "x", 0); err == nil {
			t.Errorf("task is gone, dirfd %d: %+v", dirfd, o)
		}
	}
	if err := w.r.Resolve(&o, w.main, unix.AT_FDCWD, "a\x00b", 0); err == nil {
		t.Errorf("NUL: %+v", o)
	}
	if o.Close(); o.FD != -1 {
		t.Errorf("%+v", o)
	}
	(&Object{}).Close() // must not close descriptor 0
	if _, err := unix.FcntlInt(0, unix.F_GETFD, 0); err != nil {
		t.Errorf("descriptor 0: %v", err)
	}

	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	low := unix.Rlimit{Cur: 0, Max: old.Max}
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	errAbsolute := w.r.Resolve(&o, w.main, unix.AT_FDCWD, "/etc/passwd", 0)
	errRelative := w.r.Resolve(&o, w.main, unix.AT_FDCWD, "x", 0)
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	if errAbsolute == nil || errRelative == nil {
		t.Errorf("no descriptors left: %v, %v", errAbsolute, errRelative)
	}
}

func TestCanonical(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(root+"/d", 0o755), os.Symlink("d", root+"/l"), os.Symlink("nowhere", root+"/dangling"))
	for path, want := range map[string]string{
		"/l": "/d", "/l/": "/d", "/l/x/y": "/d/x/y", "/dangling/z": "/nowhere/z", "/l/../l//./x": "/d/x", "/none": "/none",
	} {
		o, err := Canonical(root + path)
		if err != nil || o.Path != root+want || o.FD != -1 || o.Exists != (want == "/d") {
			t.Errorf("%s: %+v, %v", path, o, err)
		}
	}
	if o, err := Canonical("l"); err == nil {
		t.Errorf("relative: %+v", o)
	}
	if o, err := Canonical("/"); err != nil || o.Path != "/" || !o.Exists {
		t.Errorf("/: %+v, %v", o, err)
	}
}

func TestResolveConvenience(t *testing.T) {
	w, root := place(t)
	o, err := Resolve(w.main, unix.AT_FDCWD, "new", Entry)
	if err != nil || o.Path != root+"/new" || o.Exists || o.Parent < 0 || o.FD != -1 {
		t.Errorf("%+v, %v", o, err)
	}
	o.Close()
}

// While links and directories change places, an answer is one of those that were true at
// some time, with its name and inode belonging together, and never an error.
func TestSwap(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/a/s", 0o755), os.MkdirAll(root+"/b/s", 0o755), os.Symlink("b", root+"/l"),
		os.WriteFile(root+"/a/s/f", nil, 0o644), os.WriteFile(root+"/b/s/f", nil, 0o644))
	inodes := map[uint64]string{}
	for _, path := range []string{"/a/s/f", "/b/s/f"} {
		var st unix.Stat_t
		must(t, unix.Lstat(root+path, &st))
		inodes[st.Ino] = path
	}
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			if unix.Renameat2(unix.AT_FDCWD, root+"/a", unix.AT_FDCWD, root+"/l", unix.RENAME_EXCHANGE) == nil {
				n++
			}
		}
	}()
	before := countFDs(t)
	seen := map[string]int{}
	for range 20000 {
		var o Object
		if err := w.r.Resolve(&o, w.main, unix.AT_FDCWD, "l/s/f", 0); err != nil {
			t.Fatal(err)
		}
		switch {
		case o.Errno != 0: // every name is there at all times
			t.Fatalf("errno %v at %q", o.Errno, o.Path)
		case o.Nameless:
			seen[o.NamelessKind]++
		default:
			seen[strings.TrimPrefix(o.Path, root)]++
			// a/s/f is also l/s/f by turns, b stays where it is.
			if file := inodes[o.Stat.Ino]; file == "" || (file == "/b/s/f") != (o.Path == root+"/b/s/f") {
				t.Fatalf("%q is inode of %q", o.Path, file)
			}
		}
		o.Close()
	}
	close(stop)
	if n := <-done; n < 1000 || seen["/b/s/f"] == 0 || seen["/l/s/f"]+seen["/a/s/f"] == 0 {
		t.Errorf("%d exchanges, answers %v", n, seen)
	}
	if now := countFDs(t); now != before {
		t.Errorf("%d descriptors, %d before", now, before)
	}
	t.Logf("%v", seen)
}

// TestWays: what the walk left by "..", also inside of a link's text, and where it ended.
func TestWays(t *testing.T) {
	w, root := place(t)
	must(t, os.MkdirAll(root+"/d/e", 0o755), os.WriteFile(root+"/f", nil, 0o644), os.Symlink("d/../f", root+"/l"))
	for _, q := range []struct {
		path  string
		errno syscall.Errno
		left  []string
		stop  string
	}{
		{"f", 0, nil, ""},
		{"d/../f", 0, []string{"/d"}, ""},
		{"d/e/../../f", 0, []string{"/d/e", "/d"}, ""},
		{"l", 0, []string{"/d"}, ""},
		{"f/", unix.ENOTDIR, nil, "/f"},
		{"d/../f/x", unix.ENOTDIR, []string{"/d"}, "/f"},
		{"f/../f", unix.ENOTDIR, nil, "/f"},
	} {
		o := w.resolve(unix.AT_FDCWD, q.path, Ways)
		o.Close()
		var left []string
		for _, dir := range o.Left {
			left = append(left, strings.TrimPrefix(dir, root))
		}
		if o.Errno != q.errno || !reflect.DeepEqual(left, q.left) || strings.TrimPrefix(o.Stop, root) != q.stop {
			t.Errorf("%s: errno %v left %q stop %q, want %v %q %q", q.path, o.Errno, left, o.Stop, q.errno, q.left, q.stop)
		}
	}
}
