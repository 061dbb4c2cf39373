// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The waker. While we are stopped with the program, only SIGCONT to us lets the tree go on. But
// the program may be continued alone (kill -CONT of its pid), be killed, or have been
// continued right before we stopped by SIGSTOP. So a child of ours, a clone on our memory like
// the init stage, looks now and then whether the program has run, and if so continues us. It is
// in a process group of its own, where job control does not reach it, hears no signal but SIGKILL
// and SIGSTOP, and is ended as soon as we go on.

// waker is a running one.
type waker struct {
	pid   int // 0: there is none
	block *wakerBlock
}

// wakerBlock is what a waker works on, in memory that it shares with us.
type wakerBlock struct {
	word   uint32 // of cloneStage, unused
	fired  uint32 // 1 when the program has run
	parent int32
	file   int32 // the thread's /proc/TID/schedstat
	length uintptr
	text   [schedstatSize]byte // what that said when the thread had stopped
	now    [schedstatSize]byte
	delay  unix.Timespec
}

const (
	// schedstatSize is enough for three 64-bit numbers and what is between them.
	schedstatSize = 64
	wakerStack    = 16 << 10
	wakerFlags    = unix.CLONE_VM | unix.CLONE_FILES
	// How long the waker sleeps between two looks, in nanoseconds: at first, for what came while
	// we stopped, and at last.
	wakerFirst, wakerLast = 1_000_000, 100_000_000
)

// startWaker starts a waker for a thread that LISTENs in its group stop. The times that
// /proc/TID/schedstat counts do not change before the thread runs again: PTRACE_LISTEN has waited
// until it had left its processor. A kernel without them, and a limit on processes, leave us
// without a waker.
//
// Precondition: tracer thread.
func (l *loop) startWaker(tid int) waker {
	if l.wakerMem == nil {
		mem, err := unix.Mmap(-1, 0, wakerStack+int(unsafe.Sizeof(wakerBlock{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return waker{}
		}
		l.wakerMem = mem
	}
	b := (*wakerBlock)(unsafe.Pointer(unsafe.SliceData(l.wakerMem[wakerStack:])))
	*b = wakerBlock{parent: int32(os.Getpid()), delay: unix.Timespec{Nsec: wakerFirst}}
	fd, err := unix.Open(procPath(tid, "schedstat"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return waker{}
	}
	b.file = int32(fd)
	n, err := unix.Pread(fd, b.text[:], 0)
	if err != nil || bytes.HasPrefix(b.text[:], []byte("0 ")) {
		unix.Close(fd)
		return waker{}
	}
	b.length = uintptr(n)
	at := stageAt(l.wakerMem) + wakerStack
	pid := forkStage(wakerFlags, at, at, 1)
	if pid < 0 {
		unix.Close(fd)
		return waker{}
	}
	return waker{pid, b}
}

// end ends the waker and tells whether it has continued us.
func (w waker) end() (fired bool) {
	if w.pid == 0 {
		return false
	}
	_ = unix.Kill(w.pid, unix.SIGKILL)
	reap(w.pid)
	unix.Close(int(w.block.file))
	return w.block.fired != 0
}

var _ = wakerMain // cloneStage calls it

// wakerMain is all that a waker does. As with stageMain, it is not Go to the runtime.
//
// It continues us again and again until we end it: we may not yet be stopped.
//
//go:nosplit
//go:norace
func wakerMain(b *wakerBlock) {
	_, _ = stageSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0)
	if parent, _ := stageSyscall(unix.SYS_GETPPID, 0, 0, 0, 0); parent != uintptr(b.parent) {
		for {
			_, _ = stageSyscall(unix.SYS_EXIT, 0, 0, 0, 0)
		}
	}
	_, _ = stageSyscall(unix.SYS_SETPGID, 0, 0, 0, 0)
	for {
		_, _ = stageSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&b.delay)), 0, 0, 0)
		n, errno := stageSyscall(unix.SYS_PREAD64, uintptr(b.file), uintptr(unsafe.Pointer(&b.now)), schedstatSize, 0)
		same := errno == 0 && n == b.length
		for i := range b.now {
			same = same && b.now[i] == b.text[i]
		}
		if same {
			b.delay.Nsec = min(2*b.delay.Nsec, wakerLast)
			continue
		}
		b.delay.Nsec = wakerFirst
		atomic.StoreUint32(&b.fired, 1)
		_, _ = stageSyscall(unix.SYS_KILL, uintptr(b.parent), uintptr(unix.SIGCONT), 0, 0)
	}
}
