// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/internal/landlock"
	"ptguard/rules"
)

// stageName is the hidden argument that makes a ptguard binary the init stage.
const stageName = "__init"

// stageSpec is what the supervisor tells its init stage.
type stageSpec struct {
	Path       string
	Argv, Env  []string
	KeepFDs    []int
	Dir        string            // to change to, empty: stay
	NewSession bool              // setsid(2)
	Limits     map[int]uint64    // setrlimit(2), soft and hard, by resource
	AllowSetID bool              // leave no_new_privs off
	Domain     *landlock.Ruleset // to enter; nil for none
	Filter     []unix.SockFilter
	NoCore     bool // set RLIMIT_CORE to 0
	Listen     bool // load the filter with a listener and send its descriptor
	// Ignored and Blocked are the signals the program must find ignored and blocked, as
	// ptguard was started with them: bit N-1 for signal N. Go changes both in between.
	Ignored, Blocked uint64
}

// stageError is what the init stage reports when it cannot go on. Exec: the program's own
// execve failed; everything else is ptguard's failure.
type stageError struct {
	Step  string
	Errno syscall.Errno
	Exec  bool
}

func (e *stageError) Error() string { return fmt.Sprintf("%s: %v", e.Step, e.Errno) }

// IsStage tells whether the process was started as the init stage; then main must call
// Stage and nothing else.
func IsStage(args []string) bool { return len(args) == 3 && args[1] == stageName }

func init() {
	if IsStage(os.Args) {
		// The thread that loads the filter must be the one that is traced and that execs:
		// the leader, on which init runs.
		runtime.LockOSThread()
	}
}

// Stage is the init stage: it prepares the process that becomes the program, in the order
// of DESIGN 5, each step checked. It does not return.
func Stage(args []string) {
	number, err := strconv.Atoi(args[2])
	if err != nil {
		os.Exit(125)
	}
	unix.CloseOnExec(number)
	pipe := os.NewFile(uintptr(number), "supervisor")
	report := func(e *stageError) {
		_ = gob.NewEncoder(pipe).Encode(e) // nobody left to tell if this fails
		os.Exit(125)
	}
	var spec stageSpec
	if err := gob.NewDecoder(pipe).Decode(&spec); err != nil {
		os.Exit(125) // the supervisor is gone
	}
	if e := prepare(&spec); e != nil {
		report(e)
	}
	// Ready: the supervisor seizes this thread and answers one byte.
	var goOn [1]byte
	if _, err := pipe.Write(goOn[:]); err != nil {
		os.Exit(125)
	}
	if _, err := pipe.Read(goOn[:]); err != nil {
		os.Exit(125)
	}
	if err := load(number, &spec); err != nil {
		report(&stageError{Step: "load the seccomp filter", Errno: errnoOf(err)})
	}
	if err := inheritSignals(&spec); err != nil {
		report(&stageError{Step: "pass on ignored and blocked signals", Errno: errnoOf(err)})
	}
	if err := setLimits(spec.Limits); err != nil {
		report(&stageError{Step: "set the limits of a process", Errno: errnoOf(err)})
	}
	err = syscall.Exec(spec.Path, spec.Argv, spec.Env)
	if errors.Is(err, unix.ENOEXEC) { // a script without #!, as execvp(3) and every shell do
		argv := append([]string{"sh", spec.Path}, spec.Argv[min(1, len(spec.Argv)):]...)
		err = syscall.Exec("/bin/sh", argv, spec.Env)
	}
	report(&stageError{Step: "exec " + spec.Path, Errno: errnoOf(err), Exec: true})
}

// load loads the filter on this thread. The listener's descriptor is sent from another one,
// which is not filtered: this thread's own sendmsg(2) would go to the tracer.
func load(pipe int, spec *stageSpec) error {
	descriptor, sent := make(chan int), make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		runtime.LockOSThread() // a thread that is there before the filter is
		close(ready)
		var rights []byte
		if fd := <-descriptor; fd >= 0 {
			rights = unix.UnixRights(fd)
		}
		sent <- unix.Sendmsg(pipe, []byte{0}, rights, nil, 0)
		select {}
	}()
	<-ready
	fd, err := loadFilter(spec.Filter, spec.Listen)
	if errors.Is(err, unix.EBUSY) { // a listener of whoever contains us: seccomp has but one
		fd, err = loadFilter(spec.Filter, false)
	}
	if err != nil {
		return err
	}
	descriptor <- fd
	return <-sent
}

// prepare sets up everything that comes before the supervisor seizes us.
func prepare(spec *stageSpec) *stageError {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return &stageError{Step: "mark inherited descriptors close-on-exec (close_range(2), Linux 5.11)", Errno: errnoOf(err)}
	}
	for _, fd := range spec.KeepFDs {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return &stageError{Step: fmt.Sprintf("keep descriptor %d", fd), Errno: errnoOf(err)}
		}
	}
	if spec.NoCore {
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
			return &stageError{Step: "set the limit on core dumps", Errno: errnoOf(err)}
		}
	}
	if spec.NewSession {
		if _, err := unix.Setsid(); err != nil {
			return &stageError{Step: "start a session of its own", Errno: errnoOf(err)}
		}
	}
	if spec.Dir != "" {
		if err := unix.Chdir(spec.Dir); err != nil {
			return &stageError{Step: "change to " + spec.Dir, Errno: errnoOf(err)}
		}
	}
	if !spec.AllowSetID {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return &stageError{Step: "set no_new_privs", Errno: errnoOf(err)}
		}
	}
	if spec.Domain != nil {
		if err := spec.Domain.Restrict(); err != nil {
			return &stageError{Step: "enter the Landlock domain", Errno: errnoOf(err)}
		}
	}
	return nil
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

// setLimits sets soft and hard limits, none above what was inherited. It goes by
// syscall.Setrlimit, which keeps the runtime from undoing it at the exec.
func setLimits(limits map[int]uint64) error {
	for resource, value := range limits {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			return err
		}
		value = min(value, now.Max)
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return err
		}
	}
	return nil
}

// inheritSignals puts back what the runtime changed. Handlers need nothing: exec resets them.
func inheritSignals(spec *stageSpec) error {
	for sig := 1; sig <= 64; sig++ {
		if spec.Ignored&(1<<(sig-1)) != 0 {
			if err := setSigaction(sig, &sigaction{handler: 1}); err != nil { // SIG_IGN
				return err
			}
		}
	}
	return setSigmask(spec.Blocked)
}

func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return unix.EIO
}
