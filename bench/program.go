// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// programName is the hidden first argument that makes a ptguard binary the load program:
// so that a machine without a compiler has one too.
const programName = "__load"

// Shapes of a micro load: who makes the calls.
const (
	shapeOne       = "1"   // one thread
	shapeThreads   = "8t"  // eight threads of one process
	shapeProcesses = "200" // two hundred processes
)

var shapeWorkers = map[string]int{shapeOne: 1, shapeThreads: 8, shapeProcesses: 200}

// ProgramMain plays the hidden parts of the harness; ours tells whether the process was
// started for one, and then main exits with code.
func ProgramMain(args []string) (code int, ours bool) {
	if len(args) < 3 {
		return 0, false
	}
	var err error
	switch args[1] {
	case programName:
		err = loadMain(args[2:])
	case filteredName:
		err = filteredMain(args[2:])
	default:
		return 0, false
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "load: %v\n", err)
		return 1, true
	}
	return 0, true
}

// loadResult is the one line that the load program prints.
type loadResult struct {
	Calls int   `json:"calls"`
	NS    int64 `json:"ns"` // of all calls together, start-up excluded
}

// loadMain is the load program: "OP SHAPE CALLS DIR". It makes at least CALLS calls, spread
// evenly over the workers of SHAPE, on files that the harness has laid out in DIR (see
// layOut), and prints what they took.
func loadMain(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("want OP SHAPE CALLS DIR")
	}
	calls, err := strconv.Atoi(args[2])
	workers := shapeWorkers[args[1]]
	if err != nil || calls < 1 || workers == 0 {
		return fmt.Errorf("bad shape or number: %q", args)
	}
	debug.SetGCPercent(-1) // nothing of the runtime's in between
	if args[0] == httpLoad {
		return serveAndAsk(calls)
	}
	make := operations[args[0]].make
	if make == nil {
		return fmt.Errorf("no such load: %s", args[0])
	}
	each := (calls + workers - 1) / workers
	var ops []operation
	for w := range workers {
		op, err := make(args[3], w, each)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	var took time.Duration
	if args[1] == shapeProcesses {
		took, err = inProcesses(ops, each)
	} else {
		took, err = inThreads(ops, each)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(loadResult{Calls: each * workers, NS: took.Nanoseconds()})
}

// operation does its call once; i counts. It makes raw system calls only and allocates
// nothing, for it also runs in a process that was forked from a Go program.
type operation func(i int) syscall.Errno

// inThreads runs each operation on a thread of its own. Each is done once before the clock
// starts: what ptguard sets up for a process once is not a call's cost.
func inThreads(ops []operation, each int) (time.Duration, error) {
	errs := make([]syscall.Errno, len(ops))
	start, ready, done := make(chan struct{}), sync.WaitGroup{}, sync.WaitGroup{}
	for w, op := range ops {
		ready.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			errs[w] = op(-1)
			ready.Done()
			<-start
			for i := 0; i < each && errs[w] == 0; i++ {
				errs[w] = op(i)
			}
		})
	}
	ready.Wait()
	from := time.Now()
	close(start)
	done.Wait()
	took := time.Since(from)
	for _, e := range errs {
		if e != 0 {
			return 0, e
		}
	}
	return took, nil
}

// inProcesses runs each operation in a process of its own. They are forked without an exec,
// so in them no Go code may run but raw system calls.
func inProcesses(ops []operation, each int) (time.Duration, error) {
	runtime.LockOSThread()
	var start, said [2]int
	if err := unix.Pipe2(start[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	if err := unix.Pipe2(said[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	for _, op := range ops {
		if err := fork(op, each, start, said); err != nil {
			return 0, err
		}
	}
	unix.Close(said[1])
	from := time.Now()
	unix.Close(start[1])
	for range ops {
		if err := hear(said[0], 'd', forever); err != nil {
			return 0, err
		}
	}
	took := time.Since(from)
	for range ops {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil {
			return 0, err
		}
	}
	return took, nil
}

// A child that inherits a request to yield waits for ever in its first function, for a scheduler
// that it has not. The monitor of Go's runtime makes one when a thread has not been heard of for
// 10 ms, as on a busy machine. upIn is how long a child may take to say that it is there before it
// is taken for such a one, and forkTries how often another is made.
const (
	upIn      = 10 * time.Second
	forever   = -time.Millisecond // as poll(2) understands it
	forkTries = 5
)

// fork makes a worker and waits until it is there.
func fork(op operation, each int, start, said [2]int) error {
	for range forkTries {
		runtime.Gosched() // so that there is most likely no request now
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return fmt.Errorf("fork: %w", errno)
		}
		if pid == 0 {
			worker(op, each, start, said)
		}
		err := hear(said[0], 'r', upIn)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		_ = unix.Kill(int(pid), unix.SIGKILL)
		if _, err := unix.Wait4(int(pid), nil, 0, nil); err != nil {
			return fmt.Errorf("wait for a worker: %w", err)
		}
	}
	return fmt.Errorf("%d workers in a row did not come up within %v", forkTries, upIn)
}

// hear waits for what a worker says: r when it is there, d when it is done; os.ErrDeadlineExceeded
// after limit.
func hear(fd int, want byte, limit time.Duration) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(limit.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for a worker: %w", err)
		case n == 0:
			return os.ErrDeadlineExceeded
		}
		break
	}
	var got [1]byte
	if n, err := unix.Read(fd, got[:]); n != 1 || got[0] != want {
		return errors.Join(errors.New("a worker failed"), err)
	}
	return nil
}

// worker is the life of a forked process: raw system calls only. It does not return.
func worker(op operation, each int, start, said [2]int) {
	_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
	blockSignals() // SIGCHLD would wake a runtime that has but this thread
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(start[1]), 0, 0)
	errno := op(-1)
	tell(said[1], 'r', errno)
	wait(start[0])
	for i := 0; i < each && errno == 0; i++ {
		errno = op(i)
	}
	tell(said[1], 'd', errno)
	_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
}
