// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The child is the test binary again. It asks the bare kernel, in its own context: its
// cwd, descriptors and /proc/self are not those of the process that resolves.

const childVar = "PTGUARD_RESOLVE_CHILD"

type request struct {
	Op     string
	Thread bool // in the second thread, which has a cwd and descriptors of its own
	Dirfd  int
	Path   string
	Flags  int
	How    unix.OpenHow
}

type answer struct {
	TGID, TID int
	Errno     syscall.Errno
	Dev, Ino  uint64
	Mode      uint32
	FD        int
	Text      string
}

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		runtime.LockOSThread()
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serve() error {
	in, out := gob.NewDecoder(os.NewFile(3, "requests")), gob.NewEncoder(os.NewFile(4, "answers"))
	asks, answers := make(chan request), make(chan answer)
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_FILES); err != nil {
			panic(err)
		}
		for r := range asks {
			answers <- perform(r)
		}
	}()
	for {
		var r request
		if err := in.Decode(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var a answer
		if r.Thread {
			asks <- r
			a = <-answers
		} else {
			a = perform(r)
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

func perform(r request) answer {
	a := answer{TGID: unix.Getpid(), TID: unix.Gettid(), FD: -1}
	var err error
	look := func(fd int) {
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil {
			a.Dev, a.Ino, a.Mode = st.Dev, st.Ino, st.Mode
		}
	}
	at := func(name string, flags int) {
		var st unix.Stat_t
		if err = unix.Fstatat(r.Dirfd, name, &st, flags); err == nil {
			a.Dev, a.Ino, a.Mode = st.Dev, st.Ino, st.Mode
		}
	}
	switch r.Op {
	case "id":
	case "chdir":
		err = unix.Chdir(r.Path)
	case "keep": // open and keep
		if a.FD, err = unix.Openat(r.Dirfd, r.Path, r.Flags|unix.O_CLOEXEC, 0o600); err == nil {
			look(a.FD)
		}
	case "pipe":
		var p [2]int
		if err = unix.Pipe2(p[:], unix.O_CLOEXEC); err == nil {
			a.FD = p[0]
			look(a.FD)
		}
	case "socket":
		a.FD, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	case "memfd":
		a.FD, err = unix.MemfdCreate(r.Path, unix.MFD_CLOEXEC)
	case "eventfd":
		a.FD, err = unix.Eventfd(0, unix.EFD_CLOEXEC)
	case "pidfd":
		a.FD, err = unix.PidfdOpen(unix.Getpid(), 0)
	case "umount":
		err = unix.Unmount(r.Path, unix.MNT_DETACH)
	case "setfsuid":
		err = unix.Setfsuid(r.Flags)
	case "close":
		err = unix.Close(r.Dirfd)
	case "open":
		var fd int
		if fd, err = unix.Openat(r.Dirfd, r.Path, r.Flags|unix.O_CLOEXEC, 0o600); err == nil {
			look(fd)
			unix.Close(fd)
		}
	case "openat2":
		var fd int
		r.How.Flags |= unix.O_CLOEXEC
		fd, err = unix.Openat2(r.Dirfd, r.Path, &r.How)
		for err == unix.EAGAIN { // a ".." while somebody on the machine renamed: ask again (openat2(2))
			fd, err = unix.Openat2(r.Dirfd, r.Path, &r.How)
		}
		if err == nil {
			look(fd)
			unix.Close(fd)
		}
	case "stat":
		at(r.Path, r.Flags)
	case "mkdir": // Undone by the one who asked, by the name that was resolved.
		err = unix.Mkdirat(r.Dirfd, r.Path, 0o700)
	case "unlink":
		err = unix.Unlinkat(r.Dirfd, r.Path, 0)
	case "rmdir":
		err = unix.Unlinkat(r.Dirfd, r.Path, unix.AT_REMOVEDIR)
	case "exchange": // With itself: changes nothing, yet looks both names up.
		err = unix.Renameat2(r.Dirfd, r.Path, r.Dirfd, r.Path, unix.RENAME_EXCHANGE)
	default:
		panic(r.Op)
	}
	if err != nil && !errors.As(err, &a.Errno) {
		panic(err)
	}
	return a
}

type child struct {
	t       testing.TB
	enc     *gob.Encoder
	dec     *gob.Decoder
	main    Task
	thread  Task
	current bool // ask the thread
}

func startChild(t testing.TB) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVar+"=1")
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{inR, outW}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	t.Cleanup(func() {
		inW.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
		outR.Close()
	})
	c := &child{t: t, enc: gob.NewEncoder(inW), dec: gob.NewDecoder(outR)}
	a := c.ask(request{Op: "id"})
	c.main = Task{a.TGID, a.TID}
	c.current = true
	a = c.ask(request{Op: "id"})
	c.thread = Task{a.TGID, a.TID}
	c.current = false
	if c.main.TGID != cmd.Process.Pid || c.main.TID != c.main.TGID || c.thread.TID == c.main.TID {
		t.Fatalf("child has tasks %v and %v, pid %d", c.main, c.thread, cmd.Process.Pid)
	}
	return c
}

func (c *child) task() Task {
	if c.current {
		return c.thread
	}
	return c.main
}

func (c *child) ask(r request) answer {
	c.t.Helper()
	r.Thread = c.current
	if err := c.enc.Encode(r); err != nil {
		c.t.Fatal(err)
	}
	var a answer
	if err := c.dec.Decode(&a); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// do is ask for what must succeed.
func (c *child) do(r request) answer {
	c.t.Helper()
	a := c.ask(r)
	if a.Errno != 0 {
		c.t.Fatalf("child: %s %q: %v", r.Op, r.Path, a.Errno)
	}
	return a
}
