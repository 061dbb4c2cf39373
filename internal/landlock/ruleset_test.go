// SPDX-License-Identifier: Apache-2.0

package landlock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// change is an act on files in a folder that holds file, gone, dir, victim and one.
type change struct {
	name string
	do   func(dir string) error
	// want is the errno outside of what is granted, for all ABIs; "ok" if Landlock has no
	// right for it (landlock(7)).
	want string
}

// open also closes.
func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

var changes = []change{
	{"read", func(d string) error { return open(d+"/file", unix.O_RDONLY) }, "ok"},
	{"list", func(d string) error { return open(d, unix.O_RDONLY|unix.O_DIRECTORY) }, "ok"},
	{"chmod", func(d string) error { return unix.Chmod(d+"/file", 0o640) }, "ok"},
	{"path-only", func(d string) error { return open(d+"/file", unix.O_PATH) }, "ok"},
	{"write", func(d string) error { return open(d+"/file", unix.O_WRONLY) }, "EACCES"},
	{"read-write", func(d string) error { return open(d+"/file", unix.O_RDWR) }, "EACCES"},
	{"alone", func(d string) error { return open(d+"/one", unix.O_WRONLY|unix.O_TRUNC) }, "ok"}, // granted by itself
	{"unlink-alone", func(d string) error { return unix.Unlink(d + "/one") }, "EACCES"},
	{"create", func(d string) error { return open(d+"/new", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }, "EACCES"},
	{"tmpfile", func(d string) error { return open(d, unix.O_WRONLY|unix.O_TMPFILE) }, "EACCES"},
	{"unlink", func(d string) error { return unix.Unlink(d + "/gone") }, "EACCES"},
	{"mkdir", func(d string) error { return unix.Mkdir(d+"/made", 0o700) }, "EACCES"},
	{"rmdir", func(d string) error { return unix.Rmdir(d + "/dir") }, "EACCES"},
	{"mkfifo", func(d string) error { return unix.Mkfifo(d+"/fifo", 0o600) }, "EACCES"},
	{"symlink", func(d string) error { return unix.Symlink("x", d+"/link") }, "EACCES"},
	{"bind", func(d string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Bind(fd, &unix.SockaddrUnix{Name: d + "/sock"})
	}, "EACCES"},
	{"link", func(d string) error { return unix.Link(d+"/file", d+"/hard") }, "EACCES"},
	{"rename", func(d string) error { return unix.Rename(d+"/victim", d+"/renamed") }, "EACCES"},
	{"move", func(d string) error { return unix.Rename(d+"/file", d+"/deep/moved") }, "EACCES"},
	{"make-char", func(d string) error { return mknodChar(d + "/null") }, "EACCES"},
}

// mknodChar makes a whiteout, which needs no privilege (mknod(2), overlayfs).
func mknodChar(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, 0) }

// changeFiles does all changes in folders "in", which is granted, and "out", in a domain as
// of an ABI, and says what came of each.
func changeFiles(how string) {
	runtime.LockOSThread() // never unlocked
	how, bare := strings.CutSuffix(how, "-bare")
	abi, _ := strconv.Atoi(how)
	base := os.Getenv("PTGUARD_LANDLOCK_TEST_DIR")
	held, err := unix.Open(base+"/out/held", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	must(err)
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	r := Ruleset{Files: true, Grants: []Grant{
		{Path: base + "/in", Access: Contents | Names},
		{Path: base + "/in2", Access: Contents | Names},
		{Path: base + "/out/one", Access: Contents | Names}, // Names count for nothing on a file
		{Path: base + "/absent", Access: Contents | Names},
	}}
	if !bare {
		must(r.restrict(abi))
	}
	for _, folder := range []string{"in", "out"} {
		for _, c := range changes {
			fmt.Println(folder, c.name, errnoWord(c.do(base+"/"+folder)))
		}
		fmt.Println(folder, "truncate", errnoWord(unix.Truncate(base+"/"+folder+"/long", 1)))
		fmt.Println(folder, "open-truncate", errnoWord(open(base+"/"+folder+"/long", unix.O_RDONLY|unix.O_TRUNC)))
	}
	fmt.Println("move between grants", errnoWord(unix.Rename(base+"/in/long", base+"/in2/long")))
	fmt.Println("move out", errnoWord(unix.Rename(base+"/in2/long", base+"/out/moved")))
	_, err = unix.Write(held, []byte("x"))
	fmt.Println("held", errnoWord(err))
	var pipe [2]int
	must(unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	fmt.Println("pipe", errnoWord(open("/proc/self/fd/"+strconv.Itoa(pipe[1]), unix.O_WRONLY)))
	mem, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	must(err)
	fmt.Println("memfd", errnoWord(open("/proc/self/fd/"+strconv.Itoa(mem), unix.O_RDWR)))
	os.Exit(0)
}

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// TestFiles does each change bare, where all work, and in domains of every ABI that has file
// rules, where those outside of the grants are refused, as landlock(7) says.
func TestFiles(t *testing.T) {
	now, err := ABI()
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, abi string) map[string]string {
		t.Helper()
		base := t.TempDir()
		for _, folder := range []string{"in", "out", "in2"} {
			for _, dir := range []string{"dir", "deep"} {
				must(os.MkdirAll(filepath.Join(base, folder, dir), 0o755))
			}
			for _, name := range []string{"file", "gone", "victim", "one", "long", "held"} {
				must(os.WriteFile(filepath.Join(base, folder, name), []byte("text"), 0o600))
			}
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), role+"=files"+abi, "PTGUARD_LANDLOCK_TEST_DIR="+base)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := map[string]string{}
		for line := range strings.Lines(string(out)) {
			i := strings.LastIndexByte(strings.TrimSpace(line), ' ')
			got[line[:i]] = strings.TrimSpace(line[i:])
		}
		if len(got) != 2*len(changes)+4+5 {
			t.Fatalf("%d answers:\n%s", len(got), out)
		}
		return got
	}
	for what, got := range run(t, "0-bare") {
		if got != "ok" {
			t.Errorf("bare: %s: %s", what, got)
		}
	}
	for abi := 2; abi <= now; abi++ {
		t.Run(strconv.Itoa(abi), func(t *testing.T) {
			got := run(t, strconv.Itoa(abi))
			for _, c := range changes {
				want := map[string]string{"in": "ok", "out": c.want}
				if c.name == "make-char" { // granted nowhere
					want["in"] = "EACCES"
				}
				for folder, want := range want {
					if got[folder+" "+c.name] != want {
						t.Errorf("%s %s: %s, want %s", folder, c.name, got[folder+" "+c.name], want)
					}
				}
			}
			truncate := "EACCES"
			if abi < 3 {
				truncate = "ok"
			}
			for what, want := range map[string]string{
				"in truncate": "ok", "out truncate": truncate, "in open-truncate": "ok", "out open-truncate": truncate,
				"move between grants": "ok", "move out": "EACCES", "held": "ok", "pipe": "ok", "memfd": "ok",
			} {
				if got[what] != want {
					t.Errorf("%s: %s, want %s", what, got[what], want)
				}
			}
		})
	}
}

func TestFilesNotSupported(t *testing.T) {
	err := (&Ruleset{Files: true}).restrict(1)
	if err == nil || err.Error() != "landlock moves between directories: needs Linux 5.19 or later: this kernel has landlock ABI 1" {
		t.Errorf("got %v", err)
	}
	if Handled(1) != 0 || Handled(2)|unix.LANDLOCK_ACCESS_FS_TRUNCATE != Changes || Handled(2) == Changes || Handled(3) != Changes {
		t.Error("the rights of ABI 1, 2 and 3 are none, all but truncate, and all")
	}
}

// TestEnter: rules are made once and entered by a thread of its own; nobody else is restricted
// by that, and a bad one is told.
func TestEnter(t *testing.T) {
	dir := t.TempDir()
	r := &Ruleset{Files: true, Scope: Signal}
	d, err := r.Make()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var entered, inside error
	OnOwnThread(func() {
		if entered = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); entered == nil {
			entered = d.Enter()
		}
		inside = os.WriteFile(dir+"/x", nil, 0o600)
	})
	if entered != nil || !errors.Is(inside, unix.EACCES) {
		t.Fatalf("entered: %v; write inside: %v, want EACCES", entered, inside)
	}
	if err := os.WriteFile(dir+"/x", nil, 0o600); err != nil {
		t.Errorf("the process is restricted: %v", err)
	}
	r.Scope = 1 << 40
	if _, err := r.Make(); err == nil {
		t.Error("an unknown scope passes")
	}
}
