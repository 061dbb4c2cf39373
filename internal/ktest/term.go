// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Term is a command on a pseudo-terminal of its own, and all it has written so far.
type Term struct {
	t    testing.TB
	box  *Box
	cmd  *exec.Cmd
	ptmx *os.File

	mu     sync.Mutex
	text   strings.Builder
	seen   int           // text[:seen] was matched by an Expect
	done   chan struct{} // the reader has ended
	waited chan struct{} // the command was waited for
}

// NewTerm starts argv as leader of a session whose controlling terminal is a new
// pseudo-terminal of 24 rows and 80 columns. It is killed when the test ends.
func (b *Box) NewTerm(t testing.TB, argv ...string) *Term {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	if !strings.Contains(argv[0], "/") {
		cmd.Path, cmd.Err = lookPath(argv[0])
	}
	cmd.Dir, cmd.Env = b.Work, b.environ()
	ptmx, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatalf("start %q on a terminal: %v", argv, err)
	}
	x := &Term{t: t, box: b, cmd: cmd, ptmx: ptmx, done: make(chan struct{}), waited: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(x.waited) }()
	go func() {
		defer close(x.done)
		buf := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buf)
			x.mu.Lock()
			x.text.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return // EIO: the last descriptor of the other side is closed
			}
		}
	}()
	t.Cleanup(func() {
		b.killMarked()
		_ = cmd.Process.Kill()
		<-x.waited
		ptmx.Close()
		<-x.done
	})
	return x
}

// Send types text.
func (x *Term) Send(format string, args ...any) {
	x.t.Helper()
	if _, err := fmt.Fprintf(x.ptmx, format, args...); err != nil {
		x.t.Fatalf("type %q: %v", format, err)
	}
}

// Expect waits for pattern in what came after the last Expect and returns the match and
// its groups.
func (x *Term) Expect(pattern string) []string {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	ok := Until(20*time.Second, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		rest := x.text.String()[x.seen:]
		loc := re.FindStringSubmatchIndex(rest)
		if loc == nil {
			return false
		}
		found = re.FindStringSubmatch(rest)
		x.seen += loc[1]
		return true
	})
	if !ok {
		x.t.Fatalf("the terminal never showed %q; it shows %q", pattern, x.Text())
	}
	return found
}

// AwaitForeground waits until the process group of pid has the terminal, so that a key that is
// typed then reaches it: a shell says what it puts into the foreground before it does so, and a
// Ctrl-Z in between is the shell's, which ignores it.
func (x *Term) AwaitForeground(pid int) {
	x.t.Helper()
	conn, err := x.ptmx.SyscallConn() // Fd would make it a descriptor whose Close wakes no Read
	if err != nil {
		x.t.Fatal(err)
	}
	var group, has int
	if !Until(20*time.Second, func() bool {
		if group, err = unix.Getpgid(pid); err != nil {
			return false
		}
		if e := conn.Control(func(fd uintptr) { has, err = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) }); e != nil {
			err = e
		}
		return err == nil && has == group
	}) {
		x.t.Fatalf("process %d (group %d) never had the terminal, which group %d has (%v); it shows %q", pid, group, has, err, x.Text())
	}
}

// Text is all that was written to the terminal.
func (x *Term) Text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text.String()
}

// Resize sets the window size, as a terminal emulator does.
func (x *Term) Resize(rows, cols uint16) {
	x.t.Helper()
	if err := pty.Setsize(x.ptmx, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		x.t.Fatal(err)
	}
}

// Wait waits until the command is gone and returns how it ended.
func (x *Term) Wait() syscall.WaitStatus {
	x.t.Helper()
	select {
	case <-x.waited:
	case <-time.After(30 * time.Second):
		x.t.Fatalf("%q is still running; the terminal shows %q", x.cmd.Args, x.Text())
	}
	return x.cmd.ProcessState.Sys().(syscall.WaitStatus)
}
