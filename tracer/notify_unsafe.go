// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Numbers that are no system calls. A task whose pending call is replaced by magicNumber
// asks, in the kernel, our listener, which plants a descriptor in it; nothing of this lies
// in memory that the tree could change. trapNumber is how code in the window calls us.
const (
	magicNumber = 0x3ffff
	trapNumber  = 0x3fffe
)

// listener is the seccomp notification descriptor of the filter (seccomp_unotify(2)). That
// it stays open also makes a listener of the tree's own fail with EBUSY.
type listener struct {
	fd int
	mu sync.Mutex
	// gifts are the descriptors to be planted, by thread id. Any other task that tries
	// the magic number is told ENOSYS.
	gifts map[int]gift
}

type gift struct {
	fd    int
	flags uint32 // O_CLOEXEC or 0, for the new descriptor
	own   bool   // fd is closed when it has been given
}

type notification struct {
	id         uint64
	pid, flags uint32
	data       [64]byte
}

type notifyAnswer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

type notifyAddFD struct {
	id                        uint64
	flags, src, new, newFlags uint32
}

// ioctl numbers and flags of linux/seccomp.h.
const (
	notifyRecv   = 0xc0502100
	notifySend   = 0xc0182101
	notifyAdd    = 0x40182103
	addFlagsSend = 2 // SECCOMP_ADDFD_FLAG_SEND, Linux 5.14
	notifyFlags  = 0x40082104
	syncWakeUp   = 1 // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, Linux 6.6
)

// near has who asks and who answers wake each other on one CPU: the one sleeps while the other
// runs, and a CPU that idles is slow to wake (near.go). Before Linux 6.6 that is not to be had.
func (n *listener) near() {
	_, _, _ = syscall.RawSyscall(unix.SYS_IOCTL, uintptr(n.fd), notifyFlags, syncWakeUp)
}

func (n *listener) ioctl(request uintptr, p unsafe.Pointer) syscall.Errno {
	_, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(n.fd), request, uintptr(p))
	return errno
}

// serve answers until the last filtered task is gone. Its thread must hear no signal, not
// even those by which Go's runtime preempts: one that comes while a descriptor is being
// planted breaks that off with the call answered already, by 0 or by a descriptor that
// would be given once more.
func (n *listener) serve() {
	runtime.LockOSThread() // for good: the thread ends with us
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^uint64(0)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil); err != nil {
		panic("block signals: " + err.Error())
	}
	for {
		var q notification
		switch errno := n.ioctl(notifyRecv, unsafe.Pointer(&q)); errno {
		case 0:
			n.answer(&q)
		case unix.EINTR:
		case unix.ENOENT: // the task was killed meanwhile, or there is no task any more
			if n.deserted() {
				return
			}
		default:
			return
		}
	}
}

// deserted tells whether the last filtered task is gone: the kernel says ENOENT at once to
// whoever listens then, and would for ever.
func (n *listener) deserted() bool {
	fds := []unix.PollFd{{Fd: int32(n.fd)}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents&unix.POLLHUP != 0
}

func (n *listener) answer(q *notification) {
	// Out of the map first: when it has been given, the task may ask for the next at once.
	g, ok := n.pop(int(q.pid))
	errno := unix.ENOSYS
	if ok {
		add := notifyAddFD{id: q.id, flags: addFlagsSend, src: uint32(g.fd), newFlags: g.flags}
		errno = n.ioctl(notifyAdd, unsafe.Pointer(&add))
		if errors.Is(errno, unix.ENOENT) {
			n.putBack(int(q.pid), g) // interrupted by a signal: it will ask again
			return
		}
		g.close()
		if errno == 0 {
			return
		}
	}
	no := notifyAnswer{id: q.id, errno: -int32(errno)}
	_ = n.ioctl(notifySend, unsafe.Pointer(&no)) // if it fails the task is gone
}

func (g gift) close() {
	if g.own {
		unix.Close(g.fd)
	}
}

func (n *listener) pop(tid int) (gift, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g, ok := n.gifts[tid]
	delete(n.gifts, tid)
	return g, ok
}

func (n *listener) putBack(tid int, g gift) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.gifts[tid]; ok {
		g.close()
		return
	}
	n.gifts[tid] = g
}

// restartable tells whether a task has registered for rseq(2), so that the kernel may send it
// to an abort handler instead of where it was put (PTRACE_GET_RSEQ_CONFIGURATION, Linux 5.13).
func restartable(tid int) bool {
	var conf struct {
		at                           uint64
		size, signature, flags, zero uint32
	}
	err := ptraceFill(unix.PTRACE_GET_RSEQ_CONFIGURATION, tid, unsafe.Sizeof(conf), unsafe.Pointer(&conf))
	return err != nil || conf.at != 0
}

// give arranges that the next magic call of tid returns a copy of the descriptor.
func (n *listener) give(tid int, g gift) {
	n.take(tid) // of a call that a signal broke off
	n.mu.Lock()
	n.gifts[tid] = g
	n.mu.Unlock()
}

// take withdraws what was arranged for a task that is gone or no longer asks.
func (n *listener) take(tid int) {
	if g, ok := n.pop(tid); ok {
		g.close()
	}
}

// signalMask reads and sets a stopped task's blocked signals (PTRACE_GETSIGMASK).
func signalMask(tid int) (mask uint64, err error) {
	err = ptraceFill(unix.PTRACE_GETSIGMASK, tid, 8, unsafe.Pointer(&mask))
	return mask, err
}

func setSignalMask(tid int, mask uint64) error {
	return ptraceFill(unix.PTRACE_SETSIGMASK, tid, 8, unsafe.Pointer(&mask))
}
