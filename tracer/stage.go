// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/internal/atstart"
	"ptguard/rules"
)

// The init stage is the process that becomes the program: a child of the tracer thread that
// runs on our memory (CLONE_VM, as vfork(2)), with a stack of its own, and executes the
// program. Starting it by an exec of ptguard itself cost a Go runtime, some 10 ms; a fork
// proper has the kernel copy our page tables, and us our pages after it.
//
// What it does lies in a block of memory that is no Go object: the stack, a list of what to
// do, every string and array ready for the kernel. It runs stageMain and nothing else: system
// calls, without a Go runtime that knew of it (stage_unsafe.go). It shares our descriptors
// too (CLONE_FILES), so the listener's descriptor is ours as soon as the filter is loaded; the
// kernel gives it a table of its own at the exec, and closes there what is close-on-exec.
//
// Until that exec it has the same memory as we, so who may look into it may look into us:
// we become non-dumpable when the exec has happened, before the new image runs (loop.execed),
// for with its memory non-dumpable we could not trace it. Nothing of the tree runs before.

// stageSpec is what the supervisor tells its init stage.
type stageSpec struct {
	Path       string
	Argv, Env  []string
	KeepFDs    []int
	Dir        string         // to change to, empty: stay
	NewSession bool           // setsid(2)
	Limits     map[int]uint64 // setrlimit(2), soft and hard, by resource; none above what was inherited
	AllowSetID bool           // leave no_new_privs off
	Domain     int            // descriptor of the Landlock rules to enter, -1 for none
	NoCore     bool           // set RLIMIT_CORE to 0
	// Ignored and Blocked are the signals the program must find ignored and blocked, as
	// ptguard was started with them: bit N-1 for signal N.
	Ignored, Blocked uint64
}

// stageError is why the init stage could not go on. Exec: the program's own execve failed;
// everything else is ptguard's failure.
type stageError struct {
	Step  string
	Errno syscall.Errno
	Exec  bool
}

func (e *stageError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Errno) }

// Unwrap gives the errno.
func (e *stageError) Unwrap() error { return e.Errno }

// The steps of the stage, in their order, as it notes the one that failed.
const (
	failNone = iota
	failSignals
	failParent
	failClose
	failKeep
	failCore
	failSession
	failDir
	failPrivileges
	failLandlock
	failFilter
	failMask
	failLimits
	failExec
)

// why words the step that failed; item counts those of a kind.
func (spec *stageSpec) why(step, item int, errno syscall.Errno) error {
	e := &stageError{Errno: errno}
	switch step {
	case failSignals, failMask:
		e.Step = "pass on ignored and blocked signals"
	case failParent:
		e.Step = "end with ptguard (prctl(2), PR_SET_PDEATHSIG)"
	case failClose:
		e.Step = "mark inherited descriptors close-on-exec (close_range(2), Linux 5.11)"
	case failKeep:
		e.Step = fmt.Sprintf("keep descriptor %d", spec.KeepFDs[item])
	case failCore:
		e.Step = "set the limit on core dumps"
	case failSession:
		e.Step = "start a session of its own"
	case failDir:
		e.Step = "change to " + spec.Dir
	case failPrivileges:
		e.Step = "set no_new_privs"
	case failLandlock:
		e.Step = "enter the Landlock domain"
	case failFilter:
		return &RefusedError{Call: "seccomp", Err: errno}
	case failLimits:
		e.Step = "set the limits of a process"
	case failExec:
		e.Step, e.Exec = "exec "+spec.Path, true
	default:
		return errStageGone
	}
	return e
}

// rlimits are the limits that the kernel keeps for each process.
func rlimits(l rules.Limits) map[int]uint64 {
	out := map[int]uint64{}
	if l.OpenFiles > 0 {
		out[unix.RLIMIT_NOFILE] = uint64(l.OpenFiles)
	}
	if l.FileSize > 0 {
		out[unix.RLIMIT_FSIZE] = uint64(l.FileSize)
	}
	if l.Core != nil {
		out[unix.RLIMIT_CORE] = uint64(*l.Core)
	}
	return out
}

// stageLimits gives what the stage has to set: the limits of the policy, soft and hard, none
// above the hard limit that the stage has; and the one on open files as ptguard was started
// with it, for Go has raised the soft one since.
func stageLimits(limits map[int]uint64, noCore bool) ([]stageLimit, error) {
	var out []stageLimit
	if _, ok := limits[unix.RLIMIT_NOFILE]; !ok {
		soft, hard := atstart.OpenFiles()
		out = append(out, stageLimit{unix.RLIMIT_NOFILE, soft, hard})
	}
	for resource, value := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return nil, fmt.Errorf("read the limits of a process: %w", err)
		}
		if noCore && resource == unix.RLIMIT_CORE {
			now.Max = 0
		}
		value = min(value, now.Max)
		out = append(out, stageLimit{uint64(resource), value, value})
	}
	return out, nil
}
