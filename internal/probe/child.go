// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptguard/internal/landlock"
)

// The parts that a child of a probe can play. Each first says "ready" on its standard
// output, waits for one byte (or the end) of its standard input, does its act, and says in
// one line what it saw.
const (
	roleIdle     = "idle"
	roleSeccomp  = "seccomp"
	roleMemory   = "memory"
	roleLandlock = "landlock"
	roleFiles    = "files"
	roleMseal    = "mseal"
)

// childCommand is the hidden first argument of a child.
const childCommand = "__probe"

// limit is how long a child may live; then it is killed and the probe fails. A variable so
// that a test need not wait.
var limit = 5 * time.Second

func init() {
	// A tracer attaches to the child's first thread, so the child's main goroutine has to
	// stay on it; only init can still arrange that.
	if isChild(os.Args) {
		runtime.LockOSThread()
	}
}

func isChild(args []string) bool { return len(args) >= 3 && args[1] == childCommand }

// ChildMain must be the first call of main, and of TestMain of a package whose tests probe,
// with os.Args: in the hidden child of a probe it plays its part and exits; otherwise it
// does nothing.
func ChildMain(args []string) {
	if !isChild(args) {
		return
	}
	if !play(args[2]) {
		os.Exit(2)
	}
	os.Exit(0)
}

func play(role string) bool {
	say := func(s string) { _, _ = os.Stdout.WriteString(s + "\n") }
	if role == roleMemory {
		_, _ = rand.Read(secret[:])
		say(fmt.Sprintf("%d %x", uintptr(unsafe.Pointer(&secret)), secret))
	} else {
		say("ready")
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	switch role {
	case roleIdle, roleMemory:
	case roleSeccomp:
		say(playSeccomp())
	case roleLandlock:
		say(playLandlock())
	case roleFiles:
		say(playFiles())
	case roleMseal:
		say(playMseal())
	case roleGuarded:
		say(playGuarded())
	default:
		return false
	}
	return true
}

// secret is what the parent of a memory child has to read.
var secret [32]byte

// tracedArg is the argument of the traced call, so that the stop can be told for ours.
const tracedArg = 0x5afe

// playSeccomp installs a filter that traces getppid and nothing else, and calls it. Only
// this thread gets the filter. No check of the architecture: the filter guards nothing.
func playSeccomp() string {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "no_new_privs " + errnoName(err)
	}
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_GETPPID, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE | traceData},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return "seccomp " + errnoName(errno)
	}
	r, _, errno := unix.RawSyscall(unix.SYS_GETPPID, tracedArg, 0, 0)
	if errno != 0 {
		return "getppid " + errnoName(errno)
	}
	return fmt.Sprintf("getppid %d", r)
}

// playLandlock signals the parent before and inside a domain.
func playLandlock() string {
	parent := os.Getppid()
	if err := unix.Kill(parent, 0); err != nil {
		return "outside " + errnoName(err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "no_new_privs " + errnoName(err)
	}
	if err := landlock.RestrictScoped(landlock.Signal); err != nil {
		return "restrict " + err.Error()
	}
	return "ok " + errnoName(unix.Kill(parent, 0))
}

// playFiles opens devices for writing, which takes no file of its own: in a domain that
// grants one of them.
func playFiles() string {
	open := func(name string) error {
		fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	const granted, other = "/dev/null", "/dev/zero"
	if err := errors.Join(open(granted), open(other)); err != nil {
		return "outside " + errnoName(err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "no_new_privs " + errnoName(err)
	}
	r := landlock.Ruleset{Files: true, Grants: []landlock.Grant{{Path: granted, Access: landlock.Contents}}}
	if err := r.Restrict(); err != nil {
		return "restrict " + err.Error()
	}
	if err := open(granted); err != nil {
		return "granted " + errnoName(err)
	}
	return "ok " + errnoName(open(other))
}

// playMseal says with which errno a sealed page refuses mprotect, or why it was not sealed.
func playMseal() string {
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return "mmap " + errnoName(err)
	}
	if err := unix.Mseal(page, 0); err != nil {
		return errnoName(err)
	}
	return "sealed " + errnoName(unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE))
}

// child is a running child of a probe. It has to be ended with end.
type child struct {
	pid   int
	hello string // its first line
	ctl   *os.File
	out   *os.File
	lines *bufio.Reader
	timer *time.Timer

	mu      sync.Mutex
	reaped  bool
	expired bool // killed by the time limit
}

// start starts this program again as a child and waits for its first line.
func start(role string) (*child, error) {
	ctlR, ctlW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		_, _ = ctlR.Close(), ctlW.Close()
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		_, _, _, _ = ctlR.Close(), ctlW.Close(), outR.Close(), outW.Close()
		return nil, err
	}
	// argv[0] is kept, for programs that look at it to know who they are.
	pid, err := syscall.ForkExec("/proc/self/exe", []string{os.Args[0], childCommand, role}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{ctlR.Fd(), outW.Fd(), null.Fd()},
	})
	_, _, _ = ctlR.Close(), outW.Close(), null.Close()
	if err != nil {
		_, _ = ctlW.Close(), outR.Close()
		return nil, fmt.Errorf("start /proc/self/exe: %w", err)
	}
	c := &child{pid: pid, ctl: ctlW, out: outR, lines: bufio.NewReader(outR)}
	c.timer = time.AfterFunc(limit, c.expire)
	if c.hello, err = c.line(); err != nil {
		c.end()
		return nil, fmt.Errorf("read the child's first line: %w", err)
	}
	return c, nil
}

// line reads the child's next line.
func (c *child) line() (string, error) {
	s, err := c.lines.ReadString('\n')
	return strings.TrimSuffix(s, "\n"), err
}

// proceed lets the child do its act.
func (c *child) proceed() error {
	_, err := c.ctl.Write([]byte{'.'})
	return err
}

// expire and kill hold the lock while they signal: a reaped pid may be somebody else's.
func (c *child) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		c.expired = true
		_ = unix.Kill(c.pid, unix.SIGKILL)
	}
}

func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = unix.Kill(c.pid, unix.SIGKILL)
	}
}

// wait waits for the child's next change of state, as tracer or as parent, and for that of
// no other child.
func (c *child) wait() (unix.WaitStatus, error) {
	var info unix.Siginfo
	for {
		// WNOWAIT first, so that reaping can happen under the lock.
		err := unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("wait for the child: %w", err)
		}
		break
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(c.pid, &ws, unix.WALL|unix.WNOHANG, nil); err != nil {
		return 0, fmt.Errorf("wait for the child: %w", err)
	}
	if ws.Exited() || ws.Signaled() {
		c.reaped = true
	}
	return ws, nil
}

// end kills and reaps the child if it is still there, and closes what it held open.
func (c *child) end() {
	c.kill()
	for !c.reaped {
		if _, err := c.wait(); err != nil {
			break
		}
	}
	c.timer.Stop()
	_, _ = c.ctl.Close(), c.out.Close()
}

// ask runs a child that needs no tracer and gives what it said of its act.
func ask(role string) (string, error) {
	c, err := start(role)
	if err != nil {
		return "", err
	}
	defer c.end()
	if err := c.proceed(); err != nil {
		return "", err
	}
	return c.line()
}

// onOwnThread runs f on an OS thread that ends with f, and with it every tracee that f
// left (PTRACE_O_EXITKILL). Go parks the process's first thread instead of ending it, so
// that one will not do.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			inner := make(chan struct{})
			go func() { // runs elsewhere, for this thread is taken
				defer close(inner)
				runtime.LockOSThread()
				f()
			}()
			<-inner
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}
