// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/internal/inherit"
	"ptguard/internal/landlock"
)

// launch starts the init stage, which gets itself ready while its caller goes on. domain are
// the Landlock rules to enter, nil for none. On error nothing of the program ran.
//
// Precondition: tracer thread.
func launch(cfg *Config, noCore bool, domain *landlock.Ruleset) (st *stage, err error) {
	spec := stageSpec{
		Path: cfg.Path, Argv: cfg.Argv, Env: cfg.Env, KeepFDs: cfg.KeepFDs,
		Dir: cfg.Dir, NewSession: cfg.NewSession, Limits: rlimits(cfg.Policy.Limits()),
		AllowSetID: cfg.AllowSetuid, Domain: -1, NoCore: noCore,
	}
	spec.Ignored, _ = inherit.Ignored()
	if spec.Blocked, err = getSigmask(); err != nil {
		return nil, fmt.Errorf("read the blocked signals: %w", err)
	}
	var made *landlock.Domain
	if domain != nil {
		if made, err = domain.Make(); err != nil {
			return nil, fmt.Errorf("make the Landlock rules: %w", err)
		}
		spec.Domain = made.FD()
	}
	if st, err = startStage(&spec); err != nil {
		if made != nil {
			made.Close()
		}
		return nil, err
	}
	st.domain = made
	return st, nil
}

// seize brings a launched stage to the point where its next judged call is the program's exec.
// On error nothing of the program ran, and the stage is gone.
//
// Precondition: tracer thread.
func (st *stage) seize(filter madeFilter) error {
	err := filter.err
	if err == nil {
		err = st.load(filter.program)
	}
	if err != nil {
		st.abandon()
		return err
	}
	if err := st.ready(); err != nil {
		st.free()
		return err
	}
	if err := ptrace(unix.PTRACE_SEIZE, st.pid, 0, traceOptions); err != nil {
		st.abandon()
		return &RefusedError{Call: "ptrace", Err: err}
	}
	st.release()
	return nil
}

// abandon ends a stage that has not been released.
func (st *stage) abandon() {
	_ = unix.Kill(st.pid, unix.SIGKILL)
	reap(st.pid)
	st.free()
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

func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return unix.EIO
}
