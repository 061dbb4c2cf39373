// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/inherit"
	"ptguard/internal/landlock"
)

// child is the launched program: seized, its filter loaded, its exec about to be judged.
type child struct {
	pid  int
	pipe *os.File
}

// launch starts the init stage and brings it to the point where its next judged call is
// the program's exec. On error nothing of the program ran.
//
// Precondition: tracer thread.
func launch(cfg *Config, needs decode.Policy, domain *landlock.Ruleset) (*child, error) {
	program, err := compileFilter(native, needs, true)
	if err != nil {
		return nil, err
	}
	filter, err := assemble(program)
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket pair for the init stage: %w", err)
	}
	pipe := os.NewFile(uintptr(pair[0]), "stage")
	pid, blocked, err := startStage(pair[1])
	unix.Close(pair[1])
	if _, ok := errors.AsType[*RefusedError](err); ok {
		pipe.Close()
		return nil, err
	}
	if err != nil {
		pipe.Close()
		return nil, fmt.Errorf("start the init stage from /proc/self/exe (is /proc mounted?): %w", err)
	}
	c := &child{pid: pid, pipe: pipe}
	spec := stageSpec{
		Path: cfg.Path, Argv: cfg.Argv, Env: cfg.Env, KeepFDs: cfg.KeepFDs,
		Dir: cfg.Dir, NewSession: cfg.NewSession, Limits: rlimits(cfg.Policy.Limits()),
		AllowSetID: cfg.AllowSetuid, Domain: domain, Filter: filter, Listen: true, Blocked: blocked, NoCore: needs.Cores,
	}
	spec.Ignored, _ = inherit.Ignored()
	if err := c.bringUp(&spec); err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		reap(pid)
		pipe.Close()
		return nil, err
	}
	return c, nil
}

// startStage forks the stage with descriptor fd open in it. Descriptors that ptguard was
// started with stay open across this exec; the stage closes them at its own.
//
// The stage starts stopped, before its runtime has touched the signal mask that it was
// forked with, which is ours as of start: blocked is read from there.
func startStage(fd int) (pid int, blocked uint64, err error) {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
		return 0, 0, err
	}
	pid, err = syscall.ForkExec("/proc/self/exe", []string{"ptguard", stageName, strconv.Itoa(fd)}, &syscall.ProcAttr{
		Env:   []string{"GOMAXPROCS=1", "GOGC=off"}, // the stage's own; the program's comes in the spec
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
	if errors.Is(err, unix.EPERM) {
		return 0, 0, &RefusedError{Call: "ptrace", Err: err}
	}
	if err != nil {
		return 0, 0, err
	}
	var status unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &status, unix.WALL, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil || !status.Stopped() {
		return 0, 0, fmt.Errorf("wait for the init stage: status %#x: %w", status, err)
	}
	blocked, err = strconv.ParseUint(statusField(pid, "SigBlk"), 16, 64)
	if err == nil {
		err = ptrace(unix.PTRACE_DETACH, pid, 0, 0)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		reap(pid)
		return 0, 0, err
	}
	return pid, blocked, nil
}

// bringUp hands over the spec, waits until the stage is ready, seizes it and lets it go.
func (c *child) bringUp(spec *stageSpec) error {
	if err := gob.NewEncoder(c.pipe).Encode(spec); err != nil {
		return fmt.Errorf("tell the init stage its work: %w", err)
	}
	var ready [1]byte
	if _, err := io.ReadFull(c.pipe, ready[:]); err != nil {
		return fmt.Errorf("the init stage ended early: %w", err)
	}
	if ready[0] != 0 { // the first byte of a stageError
		return decodeStageError(io.MultiReader(strings.NewReader(string(ready[:])), c.pipe))
	}
	if err := ptrace(unix.PTRACE_SEIZE, c.pid, 0, traceOptions); err != nil {
		return &RefusedError{Call: "ptrace", Err: err}
	}
	if _, err := c.pipe.Write(ready[:]); err != nil {
		return fmt.Errorf("let the init stage go: %w", err)
	}
	return nil
}

// receiveListener takes the listener's descriptor, which comes before the exec; -1 if the
// kernel had none to give.
func (c *child) receiveListener() (int, error) {
	var text [1]byte
	room := make([]byte, unix.CmsgSpace(4))
	n, got, _, _, err := unix.Recvmsg(int(c.pipe.Fd()), text[:], room, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return -1, fmt.Errorf("receive the seccomp listener: %w", err)
	case n == 1 && text[0] == 0 && got == 0:
		return -1, nil
	case n == 1 && text[0] != 0: // the first byte of a stageError
		return -1, decodeStageError(io.MultiReader(strings.NewReader(string(text[:])), c.pipe))
	}
	messages, err := unix.ParseSocketControlMessage(room[:got])
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("receive the seccomp listener: the init stage ended: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("receive the seccomp listener: %w", err)
	}
	return fds[0], nil
}

// stageResult tells why the stage ended without an exec.
func (c *child) stageResult() error { return decodeStageError(c.pipe) }

func decodeStageError(r io.Reader) error {
	var e stageError
	if err := gob.NewDecoder(r).Decode(&e); err != nil {
		return fmt.Errorf("the init stage ended without a word: %w", err)
	}
	if strings.HasPrefix(e.Step, "load the seccomp") {
		return &RefusedError{Call: "seccomp", Err: e.Errno}
	}
	return &e
}

// reap collects a child that was killed before the loop ran, whatever stops it shows.
func reap(pid int) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WALL, nil)
		if err == nil && (status.Exited() || status.Signaled()) || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// RefusedError says that the kernel or a container refuses what ptguard is built on.
type RefusedError struct {
	Call string // ptrace or seccomp
	Err  error
}

// Error is one sentence that says what is refused and what to change.
func (e *RefusedError) Error() string {
	if e.Call == "ptrace" {
		if scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && len(scope) > 0 && scope[0] >= '2' {
			return fmt.Sprintf("ptrace(2) is refused by Yama (kernel.yama.ptrace_scope=%c): set it to 1 or give ptguard CAP_SYS_PTRACE", scope[0])
		}
		return fmt.Sprintf("ptrace(2) is refused here (%v): a container's seccomp profile or security module forbids it; start the container with --cap-add SYS_PTRACE or a profile that allows ptrace", e.Err)
	}
	return fmt.Sprintf("seccomp(2) is refused here (%v): the kernel lacks CONFIG_SECCOMP_FILTER or the container's profile forbids filters; start it with a profile that allows seccomp", e.Err)
}

// Unwrap gives the errno.
func (e *RefusedError) Unwrap() error { return e.Err }
