// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"ptguard/internal/landlock"
)

// stage is a started init stage, until it has executed the program.
type stage struct {
	pid   int
	spec  *stageSpec
	mem   []byte // mapped
	block *stageBlock
	// filter is the room for the program, a part of mem.
	filter []byte
	domain *landlock.Domain // what it enters, nil for nothing
}

// maxFilter is BPF_MAXINSNS, the longest program that the kernel takes.
const maxFilter = 4096

var errStageGone = errors.New("the init stage ended without a word")

// stageLimit is one setrlimit(2).
type stageLimit struct{ resource, soft, hard uint64 }

// stageBlock is what the stage works on, in memory that it shares with us. The addresses in
// it are of the same mapping.
type stageBlock struct {
	// word is a futex: stageStarting, then stageReady; the kernel sets it to 0 and wakes us
	// when the stage ends or has executed the program (CLONE_CHILD_CLEARTID).
	word uint32
	goOn uint32 // a futex: 1 when the stage may go on

	step, item, errno int32 // of what failed
	listener          int32 // -1: the kernel had none to give

	trial                          bool // it is none: see tryInside
	newSession, privileges, noCore bool
	domain                         int32
	parent                         int32

	ignored, blocked uint64
	keep, limits     uintptr // arrays of int64 and of stageLimit
	keeps, limitsLen uintptr
	dir              uintptr // 0: stay
	program          stageProgram
	path, argv, env  uintptr
	shell, shellArgv uintptr // for a script without #!
	signal           sigaction
	zero             [2]uint64
}

// stageProgram is struct sock_fprog.
type stageProgram struct {
	len    uint16
	filter uintptr
}

const (
	stageStarting = 2
	stageReady    = 3

	stageStack = 32 << 10
	// stageFlags: our memory and descriptors, and all else its own. Its end is a SIGCHLD to us.
	stageFlags = unix.CLONE_VM | unix.CLONE_FILES | unix.CLONE_CHILD_CLEARTID | uintptr(unix.SIGCHLD)
	// trialFlags: a thread of ours, whose end we wait for.
	trialFlags = unix.CLONE_VM | unix.CLONE_FILES | unix.CLONE_FS | unix.CLONE_SIGHAND | unix.CLONE_THREAD | unix.CLONE_SYSVSEM | unix.CLONE_VFORK
)

func cloneStage(flags, stack, block, word, waker uintptr) (pid int)

// stageArea lays out the strings and arrays of a stage in its mapping.
type stageArea struct {
	mem  []byte
	base uintptr
	next int
}

// stageAt is the address of the mapping, which the Go runtime does not move or free.
func stageAt(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }

func (a *stageArea) take(size int) (room []byte, at uintptr) {
	a.next = (a.next + 7) &^ 7
	room, at = a.mem[a.next:a.next+size], a.base+uintptr(a.next)
	a.next += size
	return room, at
}

func (a *stageArea) text(s string) uintptr {
	room, at := a.take(len(s) + 1)
	copy(room, s)
	return at
}

func (a *stageArea) words(words ...uint64) uintptr {
	room, at := a.take(8 * len(words))
	for i, w := range words {
		binary.NativeEndian.PutUint64(room[8*i:], w)
	}
	return at
}

// texts makes an argument vector of strings that are there.
func (a *stageArea) texts(at []uint64) uintptr { return a.words(append(at, 0)...) }

// startStage forks the stage, which gets itself ready to be seized meanwhile.
//
// Precondition: tracer thread.
func startStage(spec *stageSpec) (*stage, error) {
	limits, err := stageLimits(spec.Limits, spec.NoCore)
	if err != nil {
		return nil, err
	}
	texts := append(append([]string{spec.Path, spec.Dir, "/bin/sh", "sh"}, spec.Argv...), spec.Env...)
	size := stageStack + int(unsafe.Sizeof(stageBlock{})) + 8*maxFilter + 24*len(limits) + 8*len(spec.KeepFDs) + 4096
	for _, t := range texts {
		if strings.IndexByte(t, 0) >= 0 {
			return nil, fmt.Errorf("start the init stage: %w: a NUL byte in %q", unix.EINVAL, t)
		}
		size += len(t) + 32 // NUL, alignment, and its place in a vector or two
	}
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("memory for the init stage: %w", err)
	}
	a := &stageArea{mem: mem, base: stageAt(mem), next: stageStack}
	room, block := a.take(int(unsafe.Sizeof(stageBlock{})))
	b := (*stageBlock)(unsafe.Pointer(unsafe.SliceData(room)))
	st := &stage{spec: spec, mem: mem, block: b}
	b.word, b.listener, b.parent = stageStarting, -1, int32(os.Getpid())
	b.newSession, b.privileges, b.noCore, b.domain = spec.NewSession, !spec.AllowSetID, spec.NoCore, int32(spec.Domain)
	b.ignored, b.blocked = spec.Ignored, spec.Blocked
	var words []uint64
	for _, fd := range spec.KeepFDs {
		words = append(words, uint64(fd))
	}
	b.keep, b.keeps = a.words(words...), uintptr(len(spec.KeepFDs))
	words = words[:0]
	for _, l := range limits {
		words = append(words, l.resource, l.soft, l.hard)
	}
	b.limits, b.limitsLen = a.words(words...), uintptr(len(limits))
	if spec.Dir != "" {
		b.dir = a.text(spec.Dir)
	}
	st.filter, b.program.filter = a.take(8 * maxFilter)
	b.path = a.text(spec.Path)
	argv := make([]uint64, 0, len(spec.Argv)+1)
	for _, s := range spec.Argv {
		argv = append(argv, uint64(a.text(s)))
	}
	b.argv = a.texts(argv)
	b.shell = a.text("/bin/sh")
	b.shellArgv = a.texts(append([]uint64{uint64(a.text("sh")), uint64(b.path)}, argv[min(1, len(argv)):]...))
	env := make([]uint64, 0, len(spec.Env)+1)
	for _, s := range spec.Env {
		env = append(env, uint64(a.text(s)))
	}
	b.env = a.texts(env)
	st.pid = forkStage(stageFlags, a.base+stageStack, block, 0)
	if st.pid < 0 {
		st.free()
		return nil, fmt.Errorf("start the init stage: %w", syscall.Errno(-st.pid))
	}
	return st, nil
}

// forkStage clones with every signal blocked, for a handler of the Go runtime must not run in
// the child. The child blocks them until it has reset the handlers.
//
//go:nosplit
//go:norace
func forkStage(flags, stack, block, waker uintptr) int {
	all, old := ^uint64(0), uint64(0)
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	pid := cloneStage(flags, stack, block, block, waker) // word is its first field
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	return pid
}

// tryInside has a thread that the Go runtime knows nothing of, and that ends with it, enter a
// Landlock domain twice and load a filter with a listener. layers and listener are what became
// of it, err that there was no such thread.
func tryInside(domain int, noNewPrivs bool) (layers, listener syscall.Errno, err error) {
	mem, err := unix.Mmap(-1, 0, stageStack+4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = unix.Munmap(mem) }()
	a := &stageArea{mem: mem, base: stageAt(mem), next: stageStack}
	room, block := a.take(int(unsafe.Sizeof(stageBlock{})))
	b := (*stageBlock)(unsafe.Pointer(unsafe.SliceData(room)))
	b.trial, b.privileges, b.domain = true, noNewPrivs, int32(domain)
	filter, at := a.take(8) // one struct sock_filter
	binary.NativeEndian.PutUint16(filter, unix.BPF_RET|unix.BPF_K)
	binary.NativeEndian.PutUint32(filter[4:], unix.SECCOMP_RET_ALLOW)
	b.program = stageProgram{1, at}
	b.step = failParent // it has not come to its end
	if tid := forkStage(trialFlags, a.base+stageStack, block, 0); tid < 0 {
		return 0, 0, syscall.Errno(-tid)
	}
	if b.step != failNone {
		return 0, 0, errStageGone
	}
	return syscall.Errno(b.errno), syscall.Errno(b.item), nil
}

// load gives the stage its filter. It must have one before release.
func (st *stage) load(filter []unix.SockFilter) error {
	if len(filter) == 0 || len(filter) > maxFilter {
		return fmt.Errorf("a filter of %d instructions: %w", len(filter), unix.EINVAL)
	}
	for i, in := range filter { // struct sock_filter
		room := st.filter[8*i:]
		binary.NativeEndian.PutUint16(room, in.Code)
		room[2], room[3] = in.Jt, in.Jf
		binary.NativeEndian.PutUint32(room[4:], in.K)
	}
	st.block.program.len = uint16(len(filter))
	return nil
}

// ready waits until the stage waits to be seized. If it cannot get there it has ended, and
// been waited for.
func (st *stage) ready() error {
	word := &st.block.word
	for atomic.LoadUint32(word) == stageStarting {
		// Not a private futex: the kernel's own wake-up is not one.
		_, _, errno := syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, stageStarting, 0, 0, 0)
		if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
			return fmt.Errorf("wait for the init stage: %w", errno)
		}
	}
	if atomic.LoadUint32(word) != stageReady {
		reap(st.pid)
		return st.failure()
	}
	return nil
}

// release lets the seized stage go on.
func (st *stage) release() {
	if st.domain != nil { // it has entered
		st.domain.Close()
		st.domain = nil
	}
	atomic.StoreUint32(&st.block.goOn, 1)
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&st.block.goOn)), futexWake, 1, 0, 0, 0)
}

const (
	futexWait = 0 // FUTEX_WAIT
	futexWake = 1 // FUTEX_WAKE
)

// failure tells why a stage that has ended did not execute the program.
func (st *stage) failure() error {
	b := st.block
	return st.spec.why(int(b.step), int(b.item), syscall.Errno(b.errno))
}

// listener gives the descriptor of the filter's listener, -1 if there is none. It is there at
// the first stop of the filter.
func (st *stage) listener() int { return int(st.block.listener) }

// free gives the memory back. The stage must have ended, or executed the program.
func (st *stage) free() {
	if st.domain != nil {
		st.domain.Close()
		st.domain = nil
	}
	if st.mem != nil {
		_ = unix.Munmap(st.mem)
		st.mem, st.block, st.filter = nil, nil, nil
	}
}

var _ = stageMain // cloneStage calls it

// stageMain is all that the stage does. It is not Go to the runtime: no goroutine runs it, no
// stack may grow, nothing may be allocated, no pointer be stored, no signal be heard. So it
// calls nothing but system calls, and every function here is nosplit.
//
// The order is that of DESIGN 5, each step checked.
//
//go:nosplit
//go:norace
func stageMain(b *stageBlock) {
	if b.trial {
		stageTrial(b)
	}
	var errno syscall.Errno
	for sig := uintptr(1); sig <= 64; sig++ {
		if sig == uintptr(unix.SIGKILL) || sig == uintptr(unix.SIGSTOP) {
			continue
		}
		b.signal.handler = uintptr(b.ignored >> (sig - 1) & 1) // SIG_IGN is 1, SIG_DFL 0
		if _, errno = stageSyscall(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&b.signal)), 0, 8); errno != 0 {
			stageFailed(b, failSignals, 0, errno)
		}
	}
	// Until we are seized nothing else ends us with the supervisor.
	if _, errno = stageSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0); errno != 0 {
		stageFailed(b, failParent, 0, errno)
	}
	if parent, _ := stageSyscall(unix.SYS_GETPPID, 0, 0, 0, 0); parent != uintptr(b.parent) {
		stageFailed(b, failParent, 0, unix.ESRCH)
	}
	if _, errno = stageSyscall(unix.SYS_CLOSE_RANGE, 3, 0xffffffff, unix.CLOSE_RANGE_CLOEXEC, 0); errno != 0 {
		stageFailed(b, failClose, 0, errno)
	}
	for i := uintptr(0); i < b.keeps; i++ {
		if _, errno = stageSyscall(unix.SYS_FCNTL, stageWord(b.keep, i), unix.F_SETFD, 0, 0); errno != 0 {
			stageFailed(b, failKeep, int32(i), errno)
		}
	}
	if b.noCore {
		if _, errno = stageSyscall(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&b.zero)), 0); errno != 0 {
			stageFailed(b, failCore, 0, errno)
		}
	}
	if b.newSession {
		if _, errno = stageSyscall(unix.SYS_SETSID, 0, 0, 0, 0); errno != 0 {
			stageFailed(b, failSession, 0, errno)
		}
	}
	if b.dir != 0 {
		if _, errno = stageSyscall(unix.SYS_CHDIR, b.dir, 0, 0, 0); errno != 0 {
			stageFailed(b, failDir, 0, errno)
		}
	}
	if b.privileges {
		if _, errno = stageSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0); errno != 0 {
			stageFailed(b, failPrivileges, 0, errno)
		}
	}
	if b.domain >= 0 {
		if _, errno = stageSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(b.domain), 0, 0, 0); errno != 0 {
			stageFailed(b, failLandlock, 0, errno)
		}
	}
	// Ready: the supervisor seizes us.
	atomic.StoreUint32(&b.word, stageReady)
	_, _ = stageSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.word)), futexWake, 1, 0)
	for atomic.LoadUint32(&b.goOn) == 0 {
		_, _ = stageSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.goOn)), futexWait, 0, 0)
	}
	if _, errno = stageSyscall(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0, 0, 0); errno != 0 {
		stageFailed(b, failParent, 0, errno)
	}
	stageLoad(b)
	if _, errno = stageSyscall(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&b.blocked)), 0, 8); errno != 0 {
		stageFailed(b, failMask, 0, errno)
	}
	for i := uintptr(0); i < b.limitsLen; i++ {
		if _, errno = stageSyscall(unix.SYS_PRLIMIT64, 0, stageWord(b.limits, 3*i), b.limits+24*i+8, 0); errno != 0 {
			stageFailed(b, failLimits, 0, errno)
		}
	}
	_, errno = stageSyscall(unix.SYS_EXECVE, b.path, b.argv, b.env, 0)
	if errno == unix.ENOEXEC { // a script without #!, as execvp(3) and every shell do
		_, errno = stageSyscall(unix.SYS_EXECVE, b.shell, b.shellArgv, b.env, 0)
	}
	stageFailed(b, failExec, 0, errno)
}

// stageTrial does what tryInside says: errno is the first error of entering, item that of
// loading. The thread keeps what it has entered, and ends.
//
//go:nosplit
//go:norace
func stageTrial(b *stageBlock) {
	var errno, none syscall.Errno
	if b.privileges {
		_, errno = stageSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0)
	}
	for range 2 { // ours, and within it the tree's
		if errno == 0 {
			_, errno = stageSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(b.domain), 0, 0, 0)
		}
	}
	fd := ^uintptr(0)
	if _, none = stageSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0); none == 0 {
		fd, none = stageListen(b)
	}
	if none == 0 {
		_, _ = stageSyscall(unix.SYS_CLOSE, fd, 0, 0, 0)
	}
	b.errno, b.item, b.step = int32(errno), int32(none), failNone
	for {
		_, _ = stageSyscall(unix.SYS_EXIT, 0, 0, 0, 0) // of this thread
	}
}

// stageListen loads the filter with a listener.
//
//go:nosplit
//go:norace
func stageListen(b *stageBlock) (fd uintptr, errno syscall.Errno) {
	const listen = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	// Signals wait while our listener answers (Linux 5.19).
	fd, errno = stageSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listen|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&b.program)), 0)
	if errno == unix.EINVAL {
		fd, errno = stageSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listen, uintptr(unsafe.Pointer(&b.program)), 0)
	}
	return fd, errno
}

// stageLoad loads the filter, if it can with a listener, whose descriptor is then ours too.
//
//go:nosplit
//go:norace
func stageLoad(b *stageBlock) {
	fd, errno := stageListen(b)
	if errno == unix.EBUSY { // a listener of whoever contains us: seccomp has but one
		var r uintptr
		if r, errno = stageSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&b.program)), 0); errno == 0 && r != 0 {
			errno = unix.EINVAL
		}
		fd = ^uintptr(0)
	}
	if errno != 0 {
		stageFailed(b, failFilter, 0, errno)
	}
	b.listener = int32(fd)
}

// stageWord reads word i of an array.
//
//go:nosplit
//go:norace
//go:nocheckptr
func stageWord(array, i uintptr) uintptr {
	return *(*uintptr)(unsafe.Add(unsafe.Pointer(nil), array+8*i))
}

//go:nosplit
//go:norace
func stageSyscall(nr, a, b, c, d uintptr) (uintptr, syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(nr, a, b, c, d, 0, 0)
	return r, errno
}

// stageFailed notes what failed and ends the stage.
//
//go:nosplit
//go:norace
func stageFailed(b *stageBlock, step, item int32, errno syscall.Errno) {
	b.step, b.item, b.errno = step, item, int32(errno)
	for {
		_, _ = stageSyscall(unix.SYS_EXIT_GROUP, 125, 0, 0, 0)
	}
}
