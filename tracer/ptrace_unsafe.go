// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// traceOptions: die with the tracer, follow every child, stop at exec and where the filter
// says TRACE, and mark syscall stops (ptrace(2)).
const traceOptions = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACEFORK |
	unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACESYSGOOD

// ptrace makes one ptrace(2) request. Requests on a stopped tracee never block, so the
// Go scheduler is not told.
//
// Precondition: tracer thread.
func ptrace(request int, tid int, addr, data uintptr) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ptraceFill is a request that the kernel answers into, or takes from, memory of ours. It
// takes a pointer and not an address: a Go stack moves when it grows, which a call may make
// it do, and the compiler follows pointers only. With an address the kernel once wrote to
// where the stack had been.
//
// Precondition: tracer thread.
func ptraceFill(request int, tid int, addr uintptr, data unsafe.Pointer) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, uintptr(data), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// syscallInfo is struct ptrace_syscall_info of linux/ptrace.h (5.3), seccomp form.
type syscallInfo struct {
	Op      uint8
	_       [3]uint8
	Arch    uint32
	IP, SP  uint64
	Nr      uint64
	Args    [6]uint64
	RetData uint32
	_       uint32
}

// The kinds of stop in syscallInfo.Op (PTRACE_SYSCALL_INFO_*).
const (
	syscallInfoExit    = 2
	syscallInfoSeccomp = 3
)

// callResult is what the call of a task in a syscall-exit stop returned.
func callResult(tid int) (int64, error) {
	var info syscallInfo // of an exit stop, where the result stands in the place of the number
	if err := getSyscallInfo(tid, &info); err != nil {
		return 0, err
	}
	if info.Op != syscallInfoExit {
		return 0, unix.EINVAL
	}
	return int64(info.Nr), nil
}

// readAll reads a whole buffer of a tracee.
func readAll(tid int, buf []byte, addr uint64) error {
	for n := 0; n < len(buf); {
		got, err := memory{tid}.ReadMem(buf[n:], addr+uint64(n))
		if err != nil {
			return err
		}
		n += got
	}
	return nil
}

// writeMem writes a whole buffer of a tracee.
func writeMem(tid int, buf []byte, addr uint64) error {
	if servedAt(tid, addr) || servedAt(tid, addr+uint64(len(buf))-1) {
		return unix.EFAULT // it may wait, and nobody needs it
	}
	local := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	n, _, errno := syscall.Syscall6(unix.SYS_PROCESS_VM_WRITEV, uintptr(tid), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno != 0 {
		return errno
	}
	if int(n) != len(buf) {
		return unix.EFAULT
	}
	return nil
}

// getSyscallInfo fills info for a task in a seccomp stop.
func getSyscallInfo(tid int, info *syscallInfo) error {
	return ptraceFill(unix.PTRACE_GET_SYSCALL_INFO, tid, unsafe.Sizeof(*info), unsafe.Pointer(info))
}

// ptraceSetSyscallInfo is PTRACE_SET_SYSCALL_INFO of linux/ptrace.h (6.16).
const ptraceSetSyscallInfo = 0x4212

// setCall replaces the call of a task in a seccomp stop that info tells of. Before Linux 6.16
// it fails with EIO and changes nothing.
func setCall(tid int, info *syscallInfo, c *call) error {
	next := *info
	next.Nr, next.Args = c.nr, c.args
	return ptraceFill(ptraceSetSyscallInfo, tid, unsafe.Sizeof(next), unsafe.Pointer(&next))
}

// eventMessage is PTRACE_GETEVENTMSG: the new task of a fork, the old id of an exec.
func eventMessage(tid int) (int, error) {
	var msg uint64
	err := ptraceFill(unix.PTRACE_GETEVENTMSG, tid, 0, unsafe.Pointer(&msg))
	return int(msg), err
}

// wait waits for a change of any child or tracee of this thread (wait4(2), __WALL and
// __WNOTHREAD: what other threads have started, to ask somebody, is theirs to wait for). It
// may block, so it goes through the scheduler: a blocking call that the runtime does not
// know of would stop the garbage collector. With WNOHANG pid is 0 if there is none.
func wait(options uintptr) (pid int, status unix.WaitStatus, err error) {
	var word int32
	r, _, errno := syscall.Syscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&word)), unix.WALL|unix.WNOTHREAD|options, 0, 0, 0)
	if errno != 0 {
		return 0, 0, errno
	}
	return int(r), unix.WaitStatus(word), nil
}

// peek tells who of the tree has something to say, without taking it: ended if it is an end.
// It waits, and ends, as wait does.
func peek(options uintptr) (pid int, ended bool, err error) {
	pid, code, _, err := waitid(unix.P_ALL, 0, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|options)
	return pid, code == cldExited || code == cldKilled || code == cldDumped, err
}

// takeEnd takes the end of a process that peek has told of.
func takeEnd(pid int) (status unix.WaitStatus, err error) {
	var word int32
	_, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, uintptr(pid), uintptr(unsafe.Pointer(&word)), unix.WALL|unix.WNOTHREAD|unix.WNOHANG, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return unix.WaitStatus(word), nil
}

// takeStop takes the stop of a task; false if it has no more one, for it has ended.
func takeStop(pid int) (status unix.WaitStatus, ok bool) {
	got, _, word, err := waitid(unix.P_PID, pid, unix.WSTOPPED|unix.WNOHANG)
	return unix.WaitStatus(word<<8 | 0x7f), err == nil && got == pid
}

// si_code of SIGCHLD (sigaction(2)).
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// waitid is waitid(2); pid is 0 if WNOHANG finds nothing.
func waitid(kind, id int, options uintptr) (pid int, code, status int32, err error) {
	var info struct {
		signo, errno, code, _ int32
		pid, uid, status      int32
		_                     [100]byte
	}
	_, _, errno := syscall.Syscall6(unix.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&info)), unix.WALL|unix.WNOTHREAD|options, 0, 0)
	if errno != 0 {
		return 0, 0, 0, errno
	}
	return int(info.pid), info.code, info.status, nil
}

// cpuTime is what a process has used, the threads and not the children, to the nanosecond
// (clock_getcpuclockid(3)). An error is ESRCH or EINVAL: it is gone, or no process.
func cpuTime(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED of linux/posix-timers.h
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &now); err != nil {
		return 0, err
	}
	return time.Duration(now.Nano()), nil
}

// memory reads a tracee's memory while it is in a stop of ours. It implements
// decode.Memory.
type memory struct{ tid int }

// ReadMem uses process_vm_readv(2), and /proc/TID/mem for pages that may not be read but
// that the kernel itself would read for the task (write-only pages, techniques B11).
func (m memory) ReadMem(buf []byte, addr uint64) (int, error) {
	n, served, room, err := stalledPage(m.tid, buf, addr)
	if served {
		return n, err
	}
	return m.read(buf[:room], addr)
}

// read may wait for whoever serves the page.
func (m memory) read(buf []byte, addr uint64) (int, error) {
	local := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	n, _, errno := syscall.Syscall6(unix.SYS_PROCESS_VM_READV, uintptr(m.tid), uintptr(unsafe.Pointer(&local)), 1,
		uintptr(unsafe.Pointer(&remote)), 1, 0)
	if errno == 0 && n > 0 {
		return int(n), nil
	}
	if addr>>63 != 0 { // not the task's half of the address space
		return 0, decode.ErrUnmapped
	}
	where := placeOf(m.tid, addr)
	switch where {
	case placeUnknown:
		return 0, unix.EFAULT
	case placeClosed:
		return 0, decode.ErrUnmapped // while /proc/TID/mem reads PROT_NONE as well
	case placeMapped, placeNone:
	}
	// Below a stack, this makes it grow, as the kernel's copy does.
	got, err := readProcMem(m.tid, buf, int64(addr))
	if err != nil && where == placeNone {
		err = decode.ErrUnmapped
	}
	return got, err
}

// place is what lies at an address of a task.
type place uint8

const (
	placeUnknown place = iota
	placeMapped
	placeClosed // PROT_NONE, or behind the end of a file: the kernel's own copy for the task faults
	placeNone
)

// placeOf looks an address up in the mappings of a task.
func placeOf(tid int, addr uint64) place {
	maps, err := readMaps(tid)
	if err != nil || len(maps) == 0 {
		return placeUnknown
	}
	for i := range maps {
		if m := &maps[i]; addr >= m.start && addr < m.end {
			if strings.HasPrefix(m.perms, "---") || m.behind(addr) {
				return placeClosed
			}
			return placeMapped
		}
	}
	return placeNone
}

func readProcMem(tid int, buf []byte, addr int64) (int, error) {
	fd, err := unix.Open(procPath(tid, "mem"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	n, err := unix.Pread(fd, buf, addr)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// sigaction is the kernel's struct sigaction on amd64 and arm64.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

func setSigaction(sig int, act *sigaction) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(act)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// getSigmask gives the calling thread's blocked signals (rt_sigprocmask(2)).
func getSigmask() (mask uint64, err error) {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, 0, uintptr(unsafe.Pointer(&mask)), 8, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return mask, nil
}

// setSigmask sets the calling thread's blocked signals.
func setSigmask(mask uint64) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&mask)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func getSigaction(sig int, act *sigaction) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(act)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
