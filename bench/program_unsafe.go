// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// operations are the calls of the micro loads, by name.
var operations = map[string]struct {
	text string
	make func(dir string, worker, each int) (operation, error)
}{
	"open-read":  {"openat for reading, and close", makeOpen(unix.O_RDONLY)},
	"open-write": {"openat for writing, and close", makeOpen(unix.O_WRONLY)},
	"stat":       {"statx of a file", makeStat},
	"unlink":     {"unlinkat of a file", makeUnlink},
	"rename":     {"renameat2 of a file in its folder", makeRename},
	"connect":    {"connect of a datagram socket on loopback", makeConnect},
	"fork-exec":  {"fork, execve of true, and wait", makeForkExec},
	"thread":     {"clone of a thread, and its end", makeThread},
	"untraced":   {"getppid, which is never traced", makeUntraced},
}

// microNames are the operations in the order of a report.
var microNames = []string{"open-read", "open-write", "stat", "unlink", "rename", "connect", "fork-exec", "thread", "untraced"}

// Files that a micro load finds in its folder: one for all, one of each worker, and where
// names go, a folder of each worker's.
func sharedFile(dir string) string        { return filepath.Join(dir, "file") }
func ownFile(dir string, w int) string    { return filepath.Join(dir, "w"+strconv.Itoa(w)) }
func ownDir(dir string, w int) string     { return filepath.Join(dir, "u"+strconv.Itoa(w)) }
func ownName(dir string, w, i int) string { return filepath.Join(ownDir(dir, w), strconv.Itoa(i)) }

// atCWD is AT_FDCWD as a register holds it.
var atCWD = uintptr(0xffffffffffffff9c)

func makeOpen(flags uintptr) func(string, int, int) (operation, error) {
	return func(dir string, w, _ int) (operation, error) {
		name := sharedFile(dir)
		if flags != unix.O_RDONLY {
			name = ownFile(dir, w)
		}
		path, err := unix.BytePtrFromString(name)
		return func(int) syscall.Errno {
			fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, atCWD, uintptr(unsafe.Pointer(path)), flags|unix.O_CLOEXEC, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			_, _, errno = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
			return errno
		}, err
	}
}

func makeStat(dir string, _, _ int) (operation, error) {
	path, err := unix.BytePtrFromString(sharedFile(dir))
	buf := new(unix.Statx_t)
	return func(int) syscall.Errno {
		_, _, errno := unix.RawSyscall6(unix.SYS_STATX, atCWD, uintptr(unsafe.Pointer(path)), 0, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(buf)), 0)
		return errno
	}, err
}

// makeUnlink removes the worker's names, which the harness has made: one for each turn, and
// one more, -1, for the turn before the clock.
func makeUnlink(dir string, w, each int) (operation, error) {
	paths := make([]*byte, each+1)
	for i := range paths {
		p, err := unix.BytePtrFromString(ownName(dir, w, i-1))
		if err != nil {
			return nil, err
		}
		paths[i] = p
	}
	return func(i int) syscall.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_UNLINKAT, atCWD, uintptr(unsafe.Pointer(paths[i+1])), 0)
		return errno
	}, nil
}

// makeRename moves the worker's file to and fro, so that it is where it was after the turn
// before the clock (-1) only if that one goes there and back.
func makeRename(dir string, w, _ int) (operation, error) {
	here, err := unix.BytePtrFromString(ownFile(dir, w))
	if err != nil {
		return nil, err
	}
	there, err := unix.BytePtrFromString(ownFile(dir, w) + "-renamed")
	rename := func(from, to *byte) syscall.Errno {
		_, _, errno := unix.RawSyscall6(unix.SYS_RENAMEAT2, atCWD, uintptr(unsafe.Pointer(from)), atCWD, uintptr(unsafe.Pointer(to)), 0, 0)
		return errno
	}
	return func(i int) syscall.Errno {
		switch {
		case i < 0:
			if errno := rename(here, there); errno != 0 {
				return errno
			}
			return rename(there, here)
		case i%2 == 0:
			return rename(here, there)
		}
		return rename(there, here)
	}, err
}

// makeConnect connects a datagram socket to another one of the load's own: nothing is sent,
// so the call and its judgement are all there is.
func makeConnect(string, int, int) (operation, error) {
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(server, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, fmt.Errorf("bind to loopback: %w", err)
	}
	bound, err := unix.Getsockname(server)
	if err != nil {
		return nil, err
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	port := bound.(*unix.SockaddrInet4).Port
	address := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	*(*[2]byte)(unsafe.Pointer(&address.Port)) = [2]byte{byte(port >> 8), byte(port)}
	return func(int) syscall.Errno {
		_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(client), uintptr(unsafe.Pointer(address)), unix.SizeofSockaddrInet4)
		return errno
	}, nil
}

func makeForkExec(string, int, int) (operation, error) {
	program, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	path, err := unix.BytePtrFromString(program)
	argv, env := &[]*byte{path, nil}[0], new(*byte)
	return func(int) syscall.Errno {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(argv)), uintptr(unsafe.Pointer(env)))
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
		}
		var status uint32
		for {
			_, _, errno = unix.RawSyscall6(unix.SYS_WAIT4, pid, uintptr(unsafe.Pointer(&status)), 0, 0, 0, 0)
			if errno != unix.EINTR {
				break
			}
		}
		if errno == 0 && status != 0 {
			return unix.ECHILD
		}
		return errno
	}, err
}

// cloneThread starts a thread on stack that ends at once, and gives its id or -errno; the
// kernel writes the id to tid before it returns, and 0 there when the thread has gone.
//
//go:noescape
func cloneThread(stack, tid unsafe.Pointer) int

func makeThread(string, int, int) (operation, error) {
	stack := make([]byte, 16<<10)
	top := unsafe.Pointer(&stack[len(stack)-64])
	top = unsafe.Add(top, -int(uintptr(top)&15))
	tid := new(int32)
	return func(int) syscall.Errno {
		if r := cloneThread(top, unsafe.Pointer(tid)); r < 0 {
			return syscall.Errno(-r)
		}
		for {
			v := atomic.LoadInt32(tid)
			if v == 0 {
				return 0
			}
			_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(tid)), 0 /* FUTEX_WAIT */, uintptr(v), 0, 0, 0)
		}
	}, nil
}

func makeUntraced(string, int, int) (operation, error) {
	return func(int) syscall.Errno {
		_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
		return 0
	}, nil
}

// tell writes one letter, or e for an error, to a pipe, and wait reads until its end.
func tell(fd int, letter byte, errno syscall.Errno) {
	if errno != 0 {
		letter = 'e'
	}
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&letter)), 1)
}

func wait(fd int) {
	var b byte
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b)), 1)
}

func blockSignals() {
	all := ^uint64(0)
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, 2 /* SIG_SETMASK */, uintptr(unsafe.Pointer(&all)), 0, 8, 0, 0)
}
