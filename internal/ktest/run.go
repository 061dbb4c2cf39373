// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// DefaultTimeout ends a command that hangs.
const DefaultTimeout = 90 * time.Second

// Result is what a parent sees of a command.
type Result struct {
	Status   int            // exit status, -1 after death by a signal
	Signal   syscall.Signal // the signal it died of, or 0
	Stdout   string
	Stderr   string
	TimedOut bool // the harness killed it
	Wall     time.Duration
}

// String shows all of a result, for failure messages.
func (r Result) String() string {
	return fmt.Sprintf("status %d signal %d timed out %v wall %v\n--- stdout\n%s--- stderr\n%s---", r.Status, r.Signal, r.TimedOut, r.Wall, clip(r.Stdout), clip(r.Stderr))
}

func clip(s string) string {
	const most = 3000
	if len(s) > most {
		s = s[:most] + "…\n"
	}
	return s
}

// GuardLines are the lines of stderr that ptguard wrote.
func (r Result) GuardLines() []string {
	var out []string
	for line := range strings.Lines(r.Stderr) {
		if strings.HasPrefix(line, "ptguard:") {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	return out
}

// OwnStderr is stderr without the lines of ptguard.
func (r Result) OwnStderr() string {
	var b strings.Builder
	for line := range strings.Lines(r.Stderr) {
		if !strings.HasPrefix(line, "ptguard:") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Cmd is a command to run in a Box.
type Cmd struct {
	Argv    []string
	Stdin   io.Reader     // nil: /dev/null
	Timeout time.Duration // 0: DefaultTimeout
	// Started is called when the command runs, with its pid; nil: not called.
	Started func(pid int)
	// Dir is the current directory; empty: the work folder.
	Dir string
	// Stdout and Stderr replace the captured pipes where set.
	Stdout, Stderr *os.File
}

// Guarded is the argument vector that runs argv under ptguard, with the box's trace.
func (b *Box) Guarded(t testing.TB, flags []string, argv ...string) []string {
	t.Helper()
	out := append([]string{Binary(t), "run", "--trace", b.Trace}, flags...)
	return append(append(out, "--"), argv...)
}

// Run runs one command in the box, in a process group of its own, and reads its output
// to the end. What is left of the box's processes after the time limit is killed and
// the test fails.
func (b *Box) Run(t testing.TB, c Cmd) Result {
	t.Helper()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	if !strings.Contains(c.Argv[0], "/") {
		// By the box's PATH, not by the caller's.
		cmd.Path, cmd.Err = lookPath(c.Argv[0])
	}
	cmd.Dir, cmd.Env, cmd.Stdin = b.Work, b.environ(), c.Stdin
	if c.Dir != "" {
		cmd.Dir = c.Dir
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	limit := c.Timeout
	if limit == 0 {
		limit = DefaultTimeout
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %q: %v", c.Argv, err)
	}
	timedOut := make(chan bool, 1)
	timer := time.AfterFunc(limit, func() {
		timedOut <- true
		// The group has not been waited for, so its number cannot name another.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		b.killMarked()
	})
	if c.Started != nil {
		c.Started(cmd.Process.Pid)
	}
	err := cmd.Wait()
	timer.Stop()
	r := Result{Stdout: stdout.String(), Stderr: stderr.String(), Wall: time.Since(start)}
	select {
	case r.TimedOut = <-timedOut:
		t.Errorf("%q: still running after %v\n%s", c.Argv, limit, clip(r.Stderr))
	default:
	}
	if cmd.ProcessState == nil {
		t.Fatalf("wait for %q: %v", c.Argv, err)
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	r.Status = ws.ExitStatus()
	if ws.Signaled() {
		r.Signal = ws.Signal()
	}
	return r
}

// Bare runs argv in the box without ptguard.
func (b *Box) Bare(t testing.TB, argv ...string) Result {
	t.Helper()
	return b.Run(t, Cmd{Argv: argv})
}

// Guard runs argv in the box under ptguard.
func (b *Box) Guard(t testing.TB, flags []string, argv ...string) Result {
	t.Helper()
	return b.Run(t, Cmd{Argv: b.Guarded(t, flags, argv...)})
}

func lookPath(name string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath()) {
		p := filepath.Join(dir, name)
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s: not found in PATH", name)
}

// marked lists the processes, zombies aside, whose environment carries the box's mark.
func (b *Box) marked() []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []int
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err == nil && bytes.Contains(env, []byte(b.mark)) {
			pid, _ := strconv.Atoi(filepath.Base(d))
			out = append(out, pid)
		}
	}
	return out
}

// killMarked kills every process that carries the mark: descendants of this test only,
// for no other process has seen the random word.
func (b *Box) killMarked() {
	for _, pid := range b.marked() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// NoProcessLeft fails the test if a process of the box is still there after a grace of
// two seconds (a killed process goes asynchronously), and kills it.
func (b *Box) NoProcessLeft(t testing.TB) {
	t.Helper()
	var left []int
	if Until(2*time.Second, func() bool { left = b.marked(); return len(left) == 0 }) {
		return
	}
	for _, pid := range left {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("process %d left behind: %q", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
	}
	b.killMarked()
}

// Until polls cond until it is true or limit has passed; it tells which.
func Until(limit time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(limit)
	for !cond() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(2 * time.Millisecond)
	}
	return true
}
