// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// The window is a piece of memory that a tracee can read and execute but nothing in it can
// change: a memfd sealed against writing, mapped shared, and mseal'ed in place. We write it
// through our own older mapping with plain stores. Arguments that decided a call are put
// there, so what was judged is what the kernel reads.
//
//	stubs   one for each slot and frame: run the call, put the registers back, return
//	setup   the code that finishes a set-up from inside the window, and its table
//	slots   arguments and saved registers of one call in flight each
//	large   control data of a message that is longer than a slot, of one call at a time
const (
	slots       = 32
	frames      = 8  // nested signal handlers within the stub of one task
	stubSize    = 48 // see emitStub
	stubPages   = (slots*frames*stubSize + pageSize - 1) / pageSize
	offSetup    = stubPages * pageSize
	codeSize    = offSetup + pageSize
	offTable    = codeSize
	offSlots    = offTable + pageSize
	slotSize    = 2 * pageSize
	offLarge    = offSlots + slots*slotSize
	largeSize   = 32 * pageSize // net.core.optmem_max, beyond which the kernel takes no control data
	windowSize  = offLarge + largeSize
	pageSize    = 4096
	reserved    = 2 // slots for calls that give theirs back at an exit stop
	offPath     = 0 // in a slot: a path, two where a call has two (4096 each with the frames in between)
	offHow      = 4096 + 64
	offAddress  = offHow + 64
	offHeader   = offAddress + 128
	offFrames   = offHeader + 128
	frameSize   = 48
	secondPath  = offFrames + frames*frameSize
	secondRoom  = slotSize - secondPath
	windowFirst = decode.WindowFirst
	windowEnd   = windowFirst + windowSpread*pageSize + windowSize // of all windows of the tree

	// windowSpread is the number of pages that a window may begin at.
	windowSpread = 1 << 22
)

// window is our side of it. A fork shares it between two spaces.
type window struct {
	mem   []byte
	fd    int // until it is mapped in the first space
	inode uint64
	dev   uint64
	owner [slots]*task
	large *task // whose call has the large room, until its exit stop
	refs  int
	look  int // the slot that reclaim looks at next
	// waiting are calls for which no slot was free. A fork shares the window, so they may be
	// of several spaces.
	waiting []stopped
	looks   bool // lookForBlocked will look again
	used    int  // slots below this one have been claimed
	// usedLarge is how many bytes of the large room have been written.
	usedLarge int
	keeps     bool // its descriptor, although it is mapped
	shared    bool // somebody may have a mapping or a descriptor of it that is not booked: see spare
}

// spare are windows that nobody has any more: a new one costs 45 µs and 18 µs to give back (the
// memfd, its pages, the stubs), and every program that is executed needs one. Tracer thread only.
//
// Nobody can write into a window, whoever has it. But who still has one when another process is
// given it could read there what that one opens. So a window is used again only if its users are
// all known, and all gone, by an exec or an exit of their own:
//
//   - It was mapped by a task that shared neither its memory nor its descriptors with anybody, so
//     no one could copy the descriptor before it was closed.
//   - No fork has copied its mapping (born), no thread, whose clone event may be lost, and no
//     task whose parent is not known was in its space (adopt). A vfork copies nothing.
//   - No user of it was killed: one that is killed while it forks leaves a copy that we do not
//     know of.
//   - There are no scopes, between which names are to be kept.
//
// What the last users left in their slots is wiped before the next one maps it. What is not seen: a
// task that opens another one's descriptor of the window (/proc/PID/fd) while it is brought in. It
// could read later names there, of its own tree and policy.
var spare []*window

const (
	spareMost = 8  // each has some 40 KiB of memory, and a descriptor
	keptMost  = 32 // descriptors that windows in use keep to be spare ones later
)

// kept counts the descriptors of windows that are in use, mapped, and may be spare ones later.
var kept int

// newWindow makes the memfd. Our mapping comes first: after the seal nobody can make a
// writable one.
func newWindow() (*window, error) {
	if n := len(spare); n > 0 {
		w := spare[n-1]
		spare = spare[:n-1]
		w.wipe()
		w.refs = 1
		return w, nil
	}
	fd, err := unix.MemfdCreate("ptguard", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make the argument window: %w", err)
	}
	w := &window{fd: fd, refs: 1}
	if err := w.fill(); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make the argument window: %w", err)
	}
	return w, nil
}

// wipe clears what the users of a window have left in it.
func (w *window) wipe() {
	clear(w.mem[offSlots : offSlots+w.used*slotSize])
	clear(w.mem[offLarge : offLarge+w.usedLarge])
	w.used, w.usedLarge = 0, 0
}

func (w *window) fill() error {
	if err := unix.Ftruncate(w.fd, windowSize); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(w.fd, &st); err != nil {
		return err
	}
	w.inode, w.dev = st.Ino, st.Dev
	mem, err := unix.Mmap(w.fd, 0, windowSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	w.mem = mem
	const sealFutureWrite = 0x10 // F_SEAL_FUTURE_WRITE, Linux 5.1
	if _, err := unix.FcntlInt(uintptr(w.fd), unix.F_ADD_SEALS, sealFutureWrite|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		_ = unix.Munmap(mem)
		return err
	}
	emitCode(mem)
	return nil
}

// claim gives a task a slot: its own if it has one, else a free one. A task that may keep
// its slot until its next stop (a stub tells us nothing at its end) gets none of the
// reserved ones. -1: all are in use.
func (w *window) claim(t *task, reserve bool) int {
	if t.slot >= 0 && w.owner[t.slot] == t {
		return t.slot
	}
	first, last := reserved, slots
	if reserve {
		first, last = 0, reserved
	}
	for i := first; i < last; i++ {
		if w.owner[i] == nil {
			w.own(i, t)
			return i
		}
	}
	if reserve {
		return -1
	}
	i := w.reclaim()
	if i >= 0 {
		w.own(i, t)
	}
	return i
}

func (w *window) own(i int, t *task) {
	w.owner[i], t.slot = t, i
	w.used = max(w.used, i+1)
}

// free tells whether claim would find a slot without reclaiming one.
func (w *window) free() bool { return slices.Contains(w.owner[:], nil) }

// reclaimLooks is how many owners reclaim looks at: each look costs as much as the exit stop
// that a slot of one's own saves.
const reclaimLooks = 2

// reclaim takes a slot from a task that sleeps outside of its stub, and so has no more use
// for it: it comes in again at a stop of ours only, and claims one then. With thousands of
// threads the first ones would keep the slots for ever. -1: none was found.
func (w *window) reclaim() int {
	for range reclaimLooks {
		i := w.look
		if w.look++; w.look == slots || w.look < reserved {
			w.look = reserved
		}
		if i < reserved {
			continue
		}
		if t := w.owner[i]; t != nil && !t.inStop && t.leaving == nil && t.setup == nil && t.sleepsOutside() {
			w.owner[i], t.slot = nil, -1
			return i
		}
	}
	return -1
}

// sleepsOutside tells whether a task sleeps with its instruction pointer outside the window
// (proc_pid_syscall(5)): the kernel gives the registers of a task that did not run between
// two looks of its own. One that runs has none to give.
func (t *task) sleepsOutside() bool {
	text, err := os.ReadFile(procPath(t.tid, "syscall"))
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 3 || t.space == nil { // "running", or "0" of one that has ended
		return false
	}
	ip, err := strconv.ParseUint(string(fields[len(fields)-1]), 0, 64)
	return err == nil && (ip < t.space.base || ip >= t.space.base+windowSize)
}

func (w *window) release(t *task) {
	for i := range w.owner {
		if w.owner[i] == t {
			w.owner[i] = nil
		}
	}
	w.endLarge(t)
}

func (w *window) endLarge(t *task) {
	if w.large == t {
		w.large = nil
	}
}

// drop ends one space's use of the window.
func (w *window) drop() {
	if w.refs--; w.refs > 0 {
		return
	}
	if w.keeps {
		w.keeps = false
		kept--
		if !w.shared && !w.looks && len(spare) < spareMost {
			spare = append(spare, w)
			return
		}
	}
	_ = unix.Munmap(w.mem)
	w.mem = nil
	w.closeFD()
}

// mapped is called when it is in its place.
func (w *window) mapped() {
	if w.shared || kept >= keptMost {
		w.closeFD()
		return
	}
	w.keeps = true
	kept++
}

func (w *window) closeFD() {
	if w.fd >= 0 {
		unix.Close(w.fd)
		w.fd = -1
	}
}

// slot is the memory of slot i.
func (w *window) slot(i int) []byte { return w.mem[offSlots+i*slotSize:][:slotSize] }

// putString writes text and a NUL at off of slot i and gives its address in a space.
func (w *window) putString(sp *space, i, off int, text string) uint64 {
	b := w.slot(i)[off:]
	b[copy(b, text)] = 0
	return sp.base + offSlots + uint64(i*slotSize+off)
}

func (w *window) putBytes(sp *space, i, off int, raw []byte) uint64 {
	copy(w.slot(i)[off:], raw)
	return sp.base + offSlots + uint64(i*slotSize+off)
}

// putLarge gives the large room to a call of t, which runs to its exit stop.
func (w *window) putLarge(sp *space, t *task, raw []byte) uint64 {
	w.large = t
	w.usedLarge = max(w.usedLarge, copy(w.mem[offLarge:], raw))
	return sp.base + offLarge
}

// frameOffset is where the saved registers of a frame lie in the window.
func frameOffset(slot, f int) int { return offSlots + slot*slotSize + offFrames + f*frameSize }
