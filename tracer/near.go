// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"errors"
	"math/bits"
	"strconv"

	"golang.org/x/sys/unix"
)

// Keeping a serial tree near. The kernel wakes a task on a CPU that idles if there is one, so
// tracer and tracee wake each other across two of them, and a CPU that idles is slow to wake:
// measured on an idle machine (Linux 6.18, 2 virtual CPUs) a stop costs 53 µs so, and 12 µs
// where both may run on one CPU only. Where the tracer alone is bound, nothing is gained: it is
// the tracee that is drawn away when it is resumed. Polling wait4(2) gains less (17 to 20 µs),
// burns the other CPU, and does nothing for a program that works between its stops.
//
// Where the other CPUs have work, the two stay together by themselves, and to be bound to a CPU
// that others use as well costs more than it gains (measured with a load of 27: git status 1.8
// times as long). So now and then it is looked up whether some CPU idles and where the tracee
// was; only if that is elsewhere something is done, for a time.
//
// Then the tracer thread is bound to one CPU, and for the moment of its
// resume the tracee is too: the CPU is chosen within ptrace(2). Its mask is put back before
// the next stop is looked at (15 µs, with the three calls). The masks are no business of ours:
//
//   - The tracee's is read each time before it is narrowed, and before it is put back, so that
//     a change by somebody outside is seen, but for one that comes between such a pair of calls,
//     half a microsecond. A change of the cpuset holds whatever is set. Its own sched_setaffinity(2) and sched_getaffinity(2) stop (NeedNear), so that
//     none runs before the mask is back; it is not narrowed when resumed from there.
//   - A child that was made in the moment has the narrow mask: see inherit.
//   - In /proc/PID/status the mask may be seen narrow if the scheduler takes the tracer thread
//     off the CPU in that moment; not by a task that is resumed with a call that leads there,
//     which keeps its mask (readsProc).
//   - The tracer's own mask is put back when the tree is found not to be serial, and now and
//     then, so that the scheduler has its say on where we are. The tree inherits none of it:
//     the tracer thread makes no process or thread any more.
//
// A mask that allows all that the cpuset allows is put back as one that allows all there is,
// for the kernel remembers it as asked for: CPUs that are added later would be left out.
//
// Serial means that one task after the other has something to say: the same one, one that has
// just been made, or anyone when the last one has ended. If two take turns, they may run at the
// same time, and are left to the scheduler.

// cpuMask is an affinity (sched_setaffinity(2)).
type cpuMask [16]uint64

var everyCPU = cpuMask{
	^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0),
	^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0),
}

func (m *cpuMask) has(cpu int) bool { return m[cpu/64]>>(cpu%64)&1 != 0 }

func (m *cpuMask) count() int {
	n := 0
	for _, word := range m {
		n += bits.OnesCount64(word)
	}
	return n
}

// maxCPU is how many CPUs a cpuMask has room for.
const maxCPU = 64 * len(cpuMask{})

// The counting of serial stops. What is found parallel has to be serial for longer each time.
const (
	serialEnough = 8     // bind from here on
	serialMost   = 16    // how much credit there is
	parallelCost = 16    // what two that take turns cost
	parallelMost = -1024 // and the most that they do
	lookLeast    = 32    // serial stops between two looks at where the tracee was,
	lookMost     = 256   // and when there was nothing to gain again and again
	busyEvery    = 64    // bound ones between two looks at whether there is an idle CPU
	nearLeast    = 512   // for so many stops one CPU is kept, when it has just been found to help,
	nearMost     = 4096  // and when it has been found so again and again
)

// near is nil in a run with one CPU.
var near *nearness

// nearness is what is known of the tree's being serial, and of the CPU it is kept on. Tracer
// thread only.
type nearness struct {
	floor int  // the thread that had something to say last
	ended bool // it has ended
	score int

	bound bool
	cpu   int
	stops int // while bound
	keep  int // stay bound for so many
	until int // serial stops until the next look
	pause int // and from there to the next
	text  [1024]byte
	// own is the tracer's mask as it was before, all is what the cpuset allows, narrow is cpu
	// alone, mask is for what was read of a tracee.
	own, all, narrow, mask, now cpuMask
}

// newNearness gives nil where there is one CPU, or no say.
func newNearness() *nearness {
	// A tree is serial at first, and most are so small that they would end before it was found out.
	n := &nearness{keep: nearLeast, pause: lookLeast, score: serialEnough}
	if neverNear || getAffinity(0, &n.own) != nil || n.own.count() < 2 {
		return nil
	}
	return n
}

// heard books that a thread has something to say: t is nil if nothing has been heard of it
// before. It is called for every event, before it is handled.
func (n *nearness) heard(tid int, t *task, ends bool) {
	switch {
	case n == nil:
		return
	case tid == n.floor:
		if n.score < serialMost {
			n.score++
		}
		n.ended = ends
	case ends: // a process that somebody waits for, or a thread
	case t == nil, t.stops == 0, n.ended, n.floor == 0:
		n.floor, n.ended = tid, false
	default:
		n.floor, n.ended = tid, false
		n.score = max(min(n.score, 0)-parallelCost, parallelMost)
		n.free()
		n.until = 1
	}
	if n.bound {
		switch n.stops++; {
		case n.stops > n.keep: // would they stay together by themselves by now?
			n.free()
			n.keep, n.until = min(2*n.keep, nearMost), 2
		case n.stops%busyEvery == 0 && n.busy():
			n.free()
			n.keep, n.until = nearLeast, lookLeast
		}
	}
}

// look binds the tracer thread if the task has run elsewhere.
func (n *nearness) look(s stopped) {
	if n.until--; n.until > 0 {
		return
	}
	n.until = n.pause
	if !n.busy() {
		if was := n.lastCPU(s.tid); was >= 0 && (was != currentCPU() || alwaysNear) {
			n.pause = lookLeast
			n.bind(s)
			return
		}
	}
	n.keep, n.pause = nearLeast, min(2*n.pause, lookMost)
}

// busy tells whether there is as much to run as there are CPUs for us (proc_loadavg(5), the
// fourth field, which counts us too). What runs on CPUs that are not ours is counted with it:
// then we leave it all alone.
func (n *nearness) busy() bool {
	text := n.read("/proc/loadavg")
	for range 3 {
		text = text[bytes.IndexByte(text, ' ')+1:]
	}
	running, ok := leadingNumber(text)
	return !ok || running >= n.own.count() && !alwaysNear
}

// read reads the beginning of a file.
func (n *nearness) read(path string) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	got, err := unix.Read(fd, n.text[:])
	unix.Close(fd)
	if err != nil {
		return nil
	}
	return n.text[:got]
}

func leadingNumber(text []byte) (n int, ok bool) {
	for i, c := range text {
		if c < '0' || c > '9' || n > 1<<20 {
			return n, i > 0
		}
		n = 10*n + int(c-'0')
	}
	return n, len(text) > 0
}

// lastCPU is where a task ran last (proc_pid_stat(5), processor), -1 if that is not known. The
// file of the thread, for that of its process adds up all threads.
func (n *nearness) lastCPU(tid int) int {
	number := strconv.Itoa(tid)
	text := n.read("/proc/" + number + "/task/" + number + "/stat")
	text = text[bytes.LastIndexByte(text, ')')+1:] // the name may have spaces
	for range 39 - 2 {
		text = text[bytes.IndexByte(text, ' ')+1:]
	}
	cpu, ok := leadingNumber(text)
	if !ok {
		return -1
	}
	return cpu
}

// bind binds the tracer thread to a CPU on which the task may run as well.
func (n *nearness) bind(s stopped) {
	if getAffinity(0, &n.own) != nil || n.own.count() < 2 || getAffinity(s.tid, &n.mask) != nil {
		return
	}
	cpu := currentCPU()
	for i := 0; i < maxCPU && (cpu < 0 || cpu >= maxCPU || !n.own.has(cpu) || !n.mask.has(cpu)); i++ {
		cpu = i
	}
	if !n.own.has(cpu) || !n.mask.has(cpu) {
		return
	}
	// Ours for a moment, to learn what the cpuset allows.
	if setAffinity(0, &everyCPU) != nil || getAffinity(0, &n.all) != nil {
		_ = setAffinity(0, &n.own)
		return
	}
	n.cpu, n.narrow = cpu, cpuMask{}
	n.narrow[cpu/64] = 1 << (cpu % 64)
	if setAffinity(0, &n.narrow) != nil {
		n.restore(0, &n.own)
		return
	}
	n.bound, n.stops = true, 0
}

// free gives the tracer thread back to the scheduler. A mask that is not ours was set by
// somebody else meanwhile and stays.
func (n *nearness) free() {
	if !n.bound {
		return
	}
	n.bound = false
	if getAffinity(0, &n.now) == nil && n.now == n.narrow {
		n.restore(0, &n.own)
	}
}

// restore puts a mask back that was read with all as what the cpuset allows. If none of its
// CPUs is left, the kernel's answer to that is what holds.
func (n *nearness) restore(tid int, mask *cpuMask) {
	if *mask == n.all {
		mask = &everyCPU
	}
	if errors.Is(setAffinity(tid, mask), unix.EINVAL) {
		_ = setAffinity(tid, &everyCPU)
	}
}

// resume is the resuming ptrace(2) request for a task in a stop.
func (n *nearness) resume(s stopped, request int, sig uintptr) error {
	s.task.narrowed = false
	if n == nil || n.score < serialEnough || s.tid != n.floor || s.wide || s.readsProc {
		return ptrace(request, s.tid, 0, sig)
	}
	if !n.bound {
		n.look(s)
	}
	if !n.bound {
		return ptrace(request, s.tid, 0, sig)
	}
	switch {
	case getAffinity(s.tid, &n.mask) != nil || n.mask == n.narrow:
	case !n.mask.has(n.cpu):
		n.free()
	case setAffinity(s.tid, &n.narrow) == nil:
		s.task.narrowed = true
	default: // another user's, or a security module forbids it
		n.free()
		n.score = parallelMost
	}
	err := ptrace(request, s.tid, 0, sig)
	if s.narrowed && getAffinity(s.tid, &n.now) == nil && n.now == n.narrow {
		n.restore(s.tid, &n.mask)
	}
	return err
}

// inherit gives a new task its parent's mask, if that was narrow when it was made: in the
// moment of a resume. It has not run, or has not seen its mask: that call stops. t is nil if
// nothing has been heard of it.
func (n *nearness) inherit(parent *task, child int, t *task) {
	switch {
	case n == nil, t != nil && t.wide, !parent.narrowed && (t == nil || !t.guessed):
	case getAffinity(child, &n.now) != nil, getAffinity(parent.tid, &n.mask) != nil, n.mask == n.now:
	default:
		n.restore(child, &n.mask)
	}
}

// adopt is inherit for a task whose parent's event is still to come: a narrow mask is taken
// to be that of the task that was resumed last.
func (n *nearness) adopt(t *task) {
	if n != nil && n.bound && n.mask != n.narrow && getAffinity(t.tid, &n.now) == nil && n.now == n.narrow {
		t.guessed = true
		n.restore(t.tid, &n.mask)
	}
}
