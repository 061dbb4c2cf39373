// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptguard/internal/ktest"
)

// hiddenNames are one name of each kind of object.
var hiddenNames = []string{"file", "dir", "link", "dirlink", "dangling", "fifo", "sock", "d/file", "alias/file"}

// fillBeside makes what is there in any case; fillHidden the hidden objects as well.
func fillBeside(t testing.TB, b *ktest.Box) {
	b.Write(t, "work/f", "mine\n")
	b.Write(t, "work/d/g", "mine\n")
	if err := os.Symlink("d", b.Path("work/alias")); err != nil {
		t.Fatal(err)
	}
}

func fillHidden(t testing.TB, b *ktest.Box) {
	fillBeside(t, b)
	b.Script(t, "work/file", "#!/bin/sh\necho ran\n")
	b.Script(t, "work/d/file", "#!/bin/sh\necho ran\n")
	b.Write(t, "work/dir/x", "hidden\n")
	b.Write(t, "work/target", "hidden\n")
	b.Write(t, "work/targets/x", "hidden\n")
	for name, to := range map[string]string{"link": "target", "dirlink": "targets", "dangling": "nowhere"} {
		if err := os.Symlink(to, b.Path("work/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(b.Path("work/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.Path("work/sock")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
}

func hideFlags() []string {
	var flags []string
	for _, name := range hiddenNames {
		flags = append(flags, "--hide", "./"+name)
	}
	return flags
}

func hiddenScript(part string, names ...string) []string {
	return append([]string{"python3", filepath.Join(ktest.ModuleRoot(), "testdata", "tracees", "hidden.py"), part}, names...)
}

// differing are the lines in which two outputs differ.
func differing(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	for i := range max(len(x), len(y)) {
		var l, r string
		if i < len(x) {
			l = x[i]
		}
		if i < len(y) {
			r = y[i]
		}
		if l != r && len(out) < 40 {
			out = append(out, fmt.Sprintf("want %q, got %q", l, r))
		}
	}
	return strings.Join(out, "\n")
}

// TestHideLooks: every look-up of a hidden name, below it or through it, answers as the
// kernel does where the name is absent; so do acts on an object that has to be there.
func TestHideLooks(t *testing.T) {
	t.Parallel()
	argv := hiddenScript("looks", hiddenNames...)
	b := ktest.NewBox(t, fillBeside)
	absent := b.Bare(t, argv...)
	if absent.Status != 0 || strings.Count(absent.Stdout, " ENOENT\n") < 1000 {
		t.Fatalf("bare, names absent: %v", absent)
	}
	b.Fill = fillHidden
	b.Reset(t)
	if r := b.Bare(t, hiddenScript("looks", "file", "dir", "link", "sock")...); strings.Count(r.Stdout, " ok\n") < 50 {
		t.Fatalf("bare, names there: %v", r)
	}
	b.Reset(t)
	before := b.Snapshot(t)
	hidden := b.Guard(t, hideFlags(), argv...)
	if hidden.Status != 0 || hidden.Stdout != absent.Stdout {
		t.Errorf("a hidden name shows: status %d\n%s", hidden.Status, differing(absent.Stdout, hidden.Stdout))
	}
	if after := b.Snapshot(t); after != before {
		t.Errorf("the box changed\n=== before\n%s\n=== after\n%s", before, after)
	}
	b.Find(t, ktest.Want{Syscall: "openat", Resolved: b.Path("work/file"), Errno: "ENOENT", Rule: "--hide"})
}

// TestHideThreads: a relative name that is not there is not there for a process with threads
// either, although one of them could change what the name is relative to.
func TestHideThreads(t *testing.T) {
	t.Parallel()
	const script = `
import os, threading
done = threading.Event()
threading.Thread(target=done.wait).start()
fd = os.open(".", os.O_RDONLY)
for name, look in {
    "stat": lambda: os.stat("absent"),
    "statat": lambda: os.stat("absent", dir_fd=fd),
    "readlink": lambda: os.readlink("absent"),
    "chdir": lambda: os.chdir("absent"),
    "getxattr": lambda: os.getxattr("absent", "user.x"),
}.items():
    try:
        look()
        print(name, "ok")
    except OSError as e:
        print(name, e.strerror)
print("access", os.access("absent", os.F_OK))
done.set()
`
	b := ktest.NewBox(t, fillHidden)
	const none = " No such file or directory\n"
	want := "stat" + none + "statat" + none + "readlink" + none + "chdir" + none + "getxattr" + none + "access False\n"
	if bare := b.Bare(t, "python3", "-c", script); bare.Stdout != want {
		t.Fatalf("bare: %v", bare)
	}
	if guarded := b.Guard(t, hideFlags(), "python3", "-c", script); guarded.Stdout != want {
		t.Errorf("guarded: %v", guarded)
	}
}

// TestHideActs: what would make a hidden name is refused, and what would make one below
// it finds nothing there; either way the answer does not tell whether the name is there.
func TestHideActs(t *testing.T) {
	t.Parallel()
	argv := hiddenScript("acts", hiddenNames...)
	b := ktest.NewBox(t, fillBeside)
	absent := b.Guard(t, hideFlags(), argv...)
	if absent.Status != 0 || !strings.Contains(absent.Stdout, "mkdir file EPERM\n") || !strings.Contains(absent.Stdout, "mkdir dir/x ENOENT\n") {
		t.Fatalf("names absent: %v", absent)
	}
	b.Fill = fillHidden
	b.Reset(t)
	if r := b.Bare(t, hiddenScript("acts", "dir/new", "file")...); !strings.Contains(r.Stdout, "open-creat dir/new ok\n") || !strings.Contains(r.Stdout, "open-excl file EEXIST\n") {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	before := b.Snapshot(t)
	hidden := b.Guard(t, hideFlags(), argv...)
	if hidden.Status != 0 || hidden.Stdout != absent.Stdout {
		t.Errorf("a hidden name shows: status %d\n%s", hidden.Status, differing(absent.Stdout, hidden.Stdout))
	}
	if after := b.Snapshot(t); after != before {
		t.Errorf("the box changed\n=== before\n%s\n=== after\n%s", before, after)
	}
}

// TestHideBeside: what lies beside a hidden name is as if it were absent.
func TestHideBeside(t *testing.T) {
	t.Parallel()
	const script = `set -e; cat f d/g alias/g; echo new > n; mv n d/n; ln f d/f; rm d/n d/f; mkdir -p e/e; cd e; cat ../f; cd ..; rmdir -p e/e; ls d`
	b := ktest.NewBox(t, fillBeside)
	bare := b.Bare(t, "sh", "-c", script)
	if bare.Status != 0 {
		t.Fatal(bare)
	}
	b.Fill = fillHidden
	b.Reset(t)
	if r := b.Guard(t, hideFlags(), "sh", "-c", script); r.Stdout != bare.Stdout || r.Status != 0 || r.Stderr != "" {
		t.Errorf("want %v, got %v", bare, r)
	}
	if d := b.Denials(t); len(d) > 0 {
		t.Errorf("denials: %+v", d)
	}
}

// TestHideListings: a listing leaves hidden names out, whatever the buffer, and nothing of
// them stays in it; among others, between thousands, alone, and as a glob.
func TestHideListings(t *testing.T) {
	t.Parallel()
	dirs := []string{"some", "many", "alone", "all", "none"}
	fill := func(secrets bool) func(t testing.TB, b *ktest.Box) {
		return func(t testing.TB, b *ktest.Box) {
			for dir, n := range map[string][2]int{"some": {3, 3}, "many": {600, 5000}, "alone": {0, 1}, "all": {0, 800}, "none": {2, 0}} {
				if err := os.Mkdir(b.Path("work/"+dir), 0o755); err != nil {
					t.Fatal(err)
				}
				for i := range n[0] {
					b.Write(t, fmt.Sprintf("work/%s/public-%d", dir, i), "")
				}
				for i := range n[1] {
					if secrets {
						b.Write(t, fmt.Sprintf("work/%s/secret-%d", dir, i), "")
					}
				}
			}
		}
	}
	argv := hiddenScript("lists", dirs...)
	b := ktest.NewBox(t, fill(false))
	absent := b.Bare(t, argv...)
	if absent.Status != 0 || strings.Contains(absent.Stdout, "True") || !strings.Contains(absent.Stdout, "alone []\n") {
		t.Fatalf("bare, names absent: %v", absent)
	}
	b.Fill = fill(true)
	b.Reset(t)
	if r := b.Bare(t, argv...); !strings.Contains(r.Stdout, "secret-4999") || !strings.Contains(r.Stdout, "True") {
		t.Fatalf("bare, names there: %v", r)
	}
	b.Reset(t)
	hidden := b.Guard(t, []string{"--hide", "**/secret-*"}, argv...)
	if hidden.Status != 0 || hidden.Stdout != absent.Stdout {
		t.Errorf("a listing tells: status %d\n%s", hidden.Status, differing(absent.Stdout, hidden.Stdout))
	}
	if strings.Contains(hidden.Stderr, "Traceback") {
		t.Error(hidden)
	}
	// What is hidden is there: its directory is not empty (POLICY 3).
	r := b.Guard(t, []string{"--hide", "**/secret-*"}, "rmdir", "alone")
	if r.Status != 1 || !strings.Contains(r.Stderr, "not empty") {
		t.Errorf("rmdir: %v", r)
	}
	if len(b.Denials(t)) > 0 {
		t.Error("rmdir of a directory that is not empty is no denial")
	}
}
