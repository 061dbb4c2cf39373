// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/rules"
)

// What is remembered must be what the resolver says of each path alone, in any order; a
// look at a change says that it is no longer remembered.
func TestLookups(t *testing.T) {
	runtime.LockOSThread() // /proc/thread-self is another link on another thread
	defer runtime.UnlockOSThread()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "shut/in"} {
		if err := os.MkdirAll(root+"/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(root+"/a/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"link": "a", "a/up": "../a/b", "dangling": "a/none/x", "absolute": root + "/a/b", "loop": "loop",
		"tofile": "a/file", "far": "/nowhere/at/all", "a/b/back": "../../link",
	} {
		if err := os.Symlink(to, root+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root+"/shut", 0); err != nil { // EACCES unless root
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(root+"/shut", 0o755) }()
	var paths []string
	for _, p := range []string{
		"", "/", "/a", "/a/", "/a/b", "/a/none", "/a/none/deep/er", "/a/file", "/a/file/", "/a/file/x", "/link", "/link/b", "/link/b/",
		"/link/none", "/a/up", "/a/up/x", "/a/up/..", "/dangling", "/dangling/y", "/absolute", "/absolute/z", "/loop", "/loop/x",
		"/tofile", "/tofile/x", "/far", "/far/x", "/a/b/back/b/back/file", "/shut", "/shut/in", "/shut/none", "/a/./b", "/a//b", "/a/../a",
		"/" + strings.Repeat("n", 300), "/a/none/" + strings.Repeat("n", 300), strings.Repeat("/a/../", 800),
	} {
		paths = append(paths, root+p)
	}
	paths = append(paths, "/", "/proc", "/proc/self", "/proc/self/exe", "/proc/self/fd/0", "/proc/thread-self/cwd/x", "/proc/meminfo", "/dev/fd",
		"/dev/stdin", "/dev/null", "relative", "", "/bin", "/bin/sh", "/lib64", "/etc/localtime", "/var/run/none", "//", "/..")
	forward, backward := newLookups(), newLookups()
	for i := range paths {
		for l, p := range map[*lookups]string{forward: paths[i], backward: paths[len(paths)-1-i]} {
			if got, want := l.lookup(p), lookup(p); !reflect.DeepEqual(got, want) {
				t.Errorf("%.200q: remembered %+v, resolved %+v", p, got, want)
			}
		}
	}

	// The same of what was looked at ahead, for some or all of them.
	binding.Store(false)
	defer foreseen.Store(nil)
	for _, some := range [][]string{{root + "/a", root + "/link/b", root + "/none/x", "/"}, paths} {
		lookAhead(some)
		l := newLookups()
		for _, p := range paths {
			if got, want := l.lookup(p), lookup(p); !reflect.DeepEqual(got, want) {
				t.Errorf("%.200q: foreseen %+v, resolved %+v", p, got, want)
			}
		}
	}
	foresaw := newLookups()

	absent := root + "/a/later"
	lookAhead([]string{absent})
	if forward.lookup(absent).Exists {
		t.Fatal("the name is there before it is made")
	}
	if err := os.Mkdir(absent, 0o755); err != nil {
		t.Fatal(err)
	}
	if forward.lookup(absent).Exists {
		t.Fatal("what was looked up is not remembered") // the test proves nothing then
	}
	if foresaw.lookup(absent).Exists {
		t.Fatal("what was looked at ahead is not remembered")
	}
	for _, l := range []*lookups{forward, foresaw} {
		l.forget()
		if !l.lookup(absent).Exists {
			t.Error("still remembered after the start")
		}
	}
}

// What is looked at ahead of a run is what its policy asks about.
func TestForesee(t *testing.T) {
	binding.Store(false)
	defer foreseen.Store(nil)
	foresee()
	layers, err := rules.Layers(nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMachine(layers, t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	ahead := 0
	for v := foreseen.Load(); v != nil; v = v.older {
		ahead += len(v.known)
	}
	if _, _, err := rules.CompileScopes(layers, m.bound(), ""); err != nil {
		t.Fatal(err)
	}
	if itself := len(*m.lookups.known.Load()); itself > ahead/3 || ahead < 200 {
		t.Errorf("%d paths were looked at ahead, and %d more were asked for", ahead, itself)
	}
}

// A path that could not be looked at is not one that leads nowhere.
func TestBoundBlindly(t *testing.T) {
	defer unseen.Store(nil)
	unseen.Store(nil)
	dir := t.TempDir()
	if err := os.Symlink("/etc", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir + "/link/passwd", dir + "/absent", "relative", ""} {
		if lookup(path); boundBlindly() != nil {
			t.Errorf("%q: %v", path, boundBlindly())
		}
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	got := lookup(dir + "/link/passwd")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := boundBlindly(); !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), dir+"/link/passwd") {
		t.Errorf("%+v: %v", got, err)
	}
}
