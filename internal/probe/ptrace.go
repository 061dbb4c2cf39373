// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// traceData is the SECCOMP_RET_DATA of the child's filter.
	traceData = 0x1234
	// answer is what the skipped call returns; no pid_t is that large (PID_MAX_LIMIT is 2^22).
	answer = 0x5eed5eed
)

// seize attaches as a run does. Precondition: tracer thread.
func seize(pid int) error {
	const options = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACESYSGOOD |
		unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE
	return request(unix.PTRACE_SEIZE, pid, options)
}

func request(req, pid int, data uintptr) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(pid), 0, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// fill is a request with memory of ours: a pointer, for a stack may move at a call.
func fill(req, pid int, addr uintptr, data unsafe.Pointer) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(pid), addr, uintptr(data), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ptrace seizes a child and leaves it: it has to die with its tracer's thread.
func ptrace() Result {
	f := readFacts()
	if f.tracer != 0 {
		// Under strace without -f an own child could be seized, but a run inside another
		// tracer is refused all the same.
		return f.ptraceRefused(nil)
	}
	c, err := start(roleIdle)
	if err != nil {
		return cannotStart(err)
	}
	defer c.end()
	onOwnThread(func() { err = seize(c.pid) })
	if err != nil {
		return f.ptraceRefused(err)
	}
	ws, err := c.wait()
	switch {
	case err != nil:
		return cannotStart(err)
	case c.expired || !ws.Signaled() || ws.Signal() != unix.SIGKILL:
		return Result{Detail: "a tracee outlives its tracer (PTRACE_O_EXITKILL)", Fix: "use a kernel that honours it, not a sandbox"}
	}
	return ok("PTRACE_SEIZE of a child; it died with its tracer (EXITKILL)")
}

// trip is one call of a child that went through filter, stop and verdict.
type trip struct {
	seizeErr error
	stopped  bool // the filter's stop came
	skipErr  error
	info     syscallStop
	infoErr  error
	message  uint32 // of the event
	said     string // what the child saw
	err      error  // the probe itself failed
}

// syscallStop is struct ptrace_syscall_info at a seccomp stop (ptrace(2)).
type syscallStop struct {
	op      uint8
	_       [3]uint8
	arch    uint32
	ip      uint64
	sp      uint64
	nr      uint64
	args    [6]uint64
	retData uint32
	_       uint32
}

func roundTrip() (t trip) {
	c, err := start(roleSeccomp)
	if err != nil {
		return trip{err: err}
	}
	defer c.end()
	onOwnThread(func() {
		if t.seizeErr = seize(c.pid); t.seizeErr == nil {
			t.err = t.follow(c)
		}
	})
	if t.seizeErr != nil {
		// Without a tracer the child can still tell whether it may install a filter.
		t.err = c.proceed()
	}
	if t.err == nil {
		t.said, t.err = c.line()
	}
	return t
}

// follow lets the child go and answers its one stop. Precondition: tracer thread.
func (t *trip) follow(c *child) error {
	if err := c.proceed(); err != nil {
		return err
	}
	for {
		ws, err := c.wait()
		if err != nil {
			return err
		}
		var deliver uintptr
		switch {
		case ws.Exited(), ws.Signaled():
			if c.expired {
				return errors.New("the child did not finish in time")
			}
			return nil
		case uint32(ws)>>16 == unix.PTRACE_EVENT_SECCOMP:
			t.stopped = true
			t.look(c.pid)
			t.skipErr = skip(c.pid, answer)
		case uint32(ws)>>16 == 0:
			deliver = uintptr(ws.StopSignal()) // Go preempts its threads with SIGURG
		}
		if err := request(unix.PTRACE_CONT, c.pid, deliver); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("resume the child: %w", err)
		}
	}
}

// look reads the stop. Precondition: tracer thread, the child is in its seccomp stop.
func (t *trip) look(pid int) {
	t.infoErr = fill(unix.PTRACE_GET_SYSCALL_INFO, pid, unsafe.Sizeof(t.info), unsafe.Pointer(&t.info))
	var message uintptr
	if err := fill(unix.PTRACE_GETEVENTMSG, pid, 0, unsafe.Pointer(&message)); err == nil {
		t.message = uint32(message)
	}
}

// seccompTrace has a child stop at a filtered call, skips the call, and compares what the
// child got with what it was to get.
func seccompTrace() Result {
	t := roundTrip()
	f := readFacts()
	call, word, _ := strings.Cut(t.said, " ")
	switch {
	case t.err != nil:
		return cannotStart(t.err)
	case call == "seccomp":
		return f.seccompRefused(said(word))
	case call == "no_new_privs":
		return f.withheld("prctl", "", said(word))
	case t.seizeErr != nil:
		r := f.ptraceRefused(t.seizeErr)
		r.Detail = "a filter can be installed, but not tried, for " + r.Detail
		return r
	case !t.stopped:
		return Result{Detail: "a call with SECCOMP_RET_TRACE did not stop (it gave " + word + ")", Fix: "use a kernel that honours it, not a sandbox"}
	case t.skipErr != nil:
		return Result{Detail: fmt.Sprintf("the registers of a stopped child cannot be set (%s)", errnoName(t.skipErr))}
	case t.message != traceData:
		return Result{Detail: fmt.Sprintf("the stop carried %#x, not the filter's %#x", t.message, traceData)}
	case word != fmt.Sprint(answer):
		return Result{Detail: "a skipped call gave " + word + " instead of the result that was set", Fix: "needs Linux 4.8 or later"}
	}
	return ok("a traced call stopped, was skipped, and gave the result that was set")
}

// syscallInfo compares what the kernel says of the stopped call with what the child called.
func syscallInfo() Result {
	t := roundTrip()
	f := readFacts()
	switch {
	case t.err != nil:
		return cannotStart(t.err)
	case !t.stopped:
		return Result{Detail: "not tried, for no call could be stopped"}
	case t.infoErr != nil:
		if errors.Is(t.infoErr, unix.EIO) {
			t.infoErr = unix.ENOSYS // ptrace(2) answers EIO to a request it does not know
		}
		return f.withheld("PTRACE_GET_SYSCALL_INFO", "5.3", t.infoErr)
	case t.info.op != unix.PTRACE_SYSCALL_INFO_SECCOMP, t.info.arch != auditArch,
		t.info.nr != unix.SYS_GETPPID, t.info.args[0] != tracedArg, t.info.retData != traceData:
		return Result{Detail: fmt.Sprintf("the stop was described wrongly (op %d, arch %#x, number %d)", t.info.op, t.info.arch, t.info.nr)}
	}
	return ok("architecture, number and arguments of a stopped call are right")
}

// vmReadv reads bytes that only the child knows.
func vmReadv() Result {
	c, err := start(roleMemory)
	if err != nil {
		return cannotStart(err)
	}
	defer c.end()
	var addr uintptr
	var want []byte
	if _, err := fmt.Sscanf(c.hello, "%d %x", &addr, &want); err != nil || len(want) == 0 {
		return cannotStart(fmt.Errorf("first line %q", c.hello))
	}
	got := make([]byte, len(want))
	local := unix.Iovec{Base: &got[0]}
	local.SetLen(len(got))
	n, err := unix.ProcessVMReadv(c.pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: addr, Len: len(got)}}, 0)
	runtime.KeepAlive(got)
	switch {
	case err != nil:
		return readFacts().accessRefused("process_vm_readv", err)
	case n != len(want) || string(got) != string(want):
		return Result{Detail: "process_vm_readv gave other bytes than the child holds"}
	}
	return ok("memory of a child read")
}

// pidfdGetfd takes the child's standard output, which is the other end of our pipe.
func pidfdGetfd() Result {
	c, err := start(roleIdle)
	if err != nil {
		return cannotStart(err)
	}
	defer c.end()
	pidfd, err := unix.PidfdOpen(c.pid, 0)
	if err != nil {
		return readFacts().withheld("pidfd_open", "5.3", err)
	}
	defer func() { _ = unix.Close(pidfd) }()
	fd, err := unix.PidfdGetfd(pidfd, 1, 0)
	if err != nil {
		r := readFacts().accessRefused("pidfd_getfd", err)
		r.Fix = "" // withheld by stock Docker, and nothing needs it
		return r
	}
	taken := os.NewFile(uintptr(fd), "taken")
	defer func() { _ = taken.Close() }()
	a, errA := taken.Stat()
	b, errB := c.out.Stat()
	if err := errors.Join(errA, errB); err != nil {
		return cannotStart(err)
	}
	if !os.SameFile(a, b) {
		return Result{Detail: "pidfd_getfd gave another file than the child holds"}
	}
	return ok("a descriptor of a child taken")
}

// said turns an errno word of a child back into an error.
func said(word string) error {
	if e := errnoOf(word); e != 0 {
		return e
	}
	return syscall.EINVAL
}
