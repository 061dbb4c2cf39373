// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/readfile"
)

// Set-up brings the window into an address space, at the first call that needs it. The
// pending call of the task becomes the magic call, which our listener answers with the
// memfd; then the task is made to map it, to take write and execute rights off, to seal the
// mapping in place and to close the descriptor. All of this is in registers, so no other
// thread can change it. While one task sets up, others of the space wait in their stops.
//
// A lone task runs all that follows the mapping from the window itself, without a stop. If
// others share the space, every step is seen at its exit, and at the end the mapping is
// looked at: it must be our object at the right offsets, whatever a sibling did meanwhile.

// setup is one set-up under way.
type setup struct {
	saved registers // of the stop it began in, with the call that waits
	mask  uint64
	step  setupStep
	last  call // to be made again if a stop signal broke it
	made  bool // last is on its way: what ends next is that call
	fd    int64
	base  uint64
	stub  bool // the steps after the mapping run from the window
	ran   bool // they have been started
	alone bool // no other task has the space or the descriptors: see spare
	wary  bool // filters of the task may answer calls in the kernel's place, or rseq(2) take it out of the window
	why   string
	send  *sending // it is no set-up, but a descriptor on its way to us
}

type setupStep uint8

const (
	stepFD setupStep = iota
	stepMap
	stepProtect
	stepSeal
	stepClose
	stepGiveUp // closes the descriptor after a failure
)

const mapFixedNoreplace = 0x100000 // MAP_FIXED_NOREPLACE, Linux 4.17

// setupTries is how often a set-up is tried at another address.
const setupTries = 3

// beginSetup starts a set-up with the call that s is stopped at.
func (l *loop) beginSetup(s stopped) {
	u := &setup{fd: -1}
	sp := s.space
	var err error
	if sp.win == nil {
		sp.win, err = newWindow()
	}
	if err == nil {
		err = getRegisters(s.tid, &u.saved)
	}
	if err == nil {
		u.mask, err = signalMask(s.tid)
	}
	if err == nil {
		// No handler may run in between: its calls would be taken for ours. A fault in the
		// window, which only a memory of others could cause, is then the end of the process.
		err = setSignalMask(s.tid, ^uint64(0))
	}
	if errors.Is(err, unix.ESRCH) {
		s.lost(err, "set up the window of") // killed meanwhile
		return
	}
	if err != nil {
		if sp.win != nil && sp.state == spaceNone && sp.win.fd < 0 {
			sp.win = nil
		}
		l.refuseWindow(s, err.Error())
		return
	}
	u.wary = s.proc.filtered || restartable(s.tid)
	u.alone = sp.tasks == 1 && !sp.strangers && !s.proc.sharesFiles
	sp.state, sp.setter, s.setup = spaceBusy, s.task, u
	l.aim(sp, u)
	l.inject(s, call{nr: magicNumber}, true)
}

// aim picks where the window is to lie: somewhere at random, at last wherever the kernel likes.
func (l *loop) aim(sp *space, u *setup) {
	u.stub = hasStub && !u.wary && !sp.noExec && sp.tasks == 1 && !sp.crowded && sp.tries == 0
	u.base = windowFirst + uint64(rand.IntN(windowSpread))*pageSize
	if sp.tries == setupTries-1 && !l.policy.Guard { // the range tests know only that range
		u.base = 0
	}
}

// inject makes the task run c: in the place of its pending call, or with the syscall
// instruction that it has just run.
func (l *loop) inject(s stopped, c call, pendingCall bool) {
	u := s.setup
	u.last, u.made = c, pendingCall
	r := u.saved
	noTrap(&r)
	if pendingCall {
		setPending(&r, &c)
	} else {
		setAgain(&r, &c)
	}
	switch {
	case c.nr == magicNumber && u.send == nil:
		l.listener.give(s.tid, gift{fd: s.space.win.fd, flags: unix.O_CLOEXEC})
	case c.nr == magicNumber:
		if fd, err := unix.FcntlInt(uintptr(u.send.theirs), unix.F_DUPFD_CLOEXEC, 3); err == nil { // else there is no gift, and ENOSYS
			l.listener.give(s.tid, gift{fd: fd, flags: unix.O_CLOEXEC, own: true})
		}
	}
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "set registers of")
		return
	}
	s.request(unix.PTRACE_SYSCALL, 0)
}

// setupStop handles a seccomp or syscall stop of a task that sets up.
func (l *loop) setupStop(s stopped, seccomp bool) {
	u := s.setup
	var info syscallInfo
	if err := getSyscallInfo(s.tid, &info); err != nil {
		s.lost(err, "read the call of")
		return
	}
	switch {
	case u.ran && (!seccomp || info.IP < u.base+offSetup || info.IP >= u.base+offTable), !u.ran && info.Op == syscallInfoExit && !u.made:
		l.disturbed(s)
	case u.ran && info.Nr == trapNumber:
		var r registers
		if err := getRegisters(s.tid, &r); err != nil {
			s.lost(err, "read registers of")
			return
		}
		if setupFailed(&r) {
			u.why = "a step inside the window failed"
		}
		l.endSetup(s, true)
	case u.ran:
		s.resume(0) // our own call on its way in, which the filter asks about
	case info.Op == syscallInfoExit:
		l.stepDone(s, int64(info.Nr))
	case info.Arch != native.Audit || info.Nr != u.last.nr || info.Args != u.last.args:
		l.disturbed(s)
	default:
		u.made = true
		s.resume(0)
	}
}

// disturbed ends a process that made a call of its own where ours was due. Signals are
// blocked, so code of the program can only have run because of rseq(2), whose abort handler
// the kernel enters wherever the task returns to.
func (l *loop) disturbed(s stopped) {
	l.killBlind(s, "unknown", "", "it made a call of its own while its argument window was set up")
}

// stepDone takes the result of a step and goes on to the next.
func (l *loop) stepDone(s stopped, res int64) {
	u, sp := s.setup, s.space
	if res <= -512 && res >= -516 { // ERESTART*: SIGSTOP, which cannot be blocked, broke it
		l.inject(s, u.last, false)
		return
	}
	if u.send != nil {
		l.sendStep(s, res)
		return
	}
	if noExec := res == -int64(unix.EACCES) || res == -int64(unix.EPERM); noExec && u.step == stepMap && !sp.noExec {
		// Its security module or a filter of its own lets it map no executable memory: then
		// each call is ended at its exit stop.
		sp.noExec, u.stub, u.step = true, false, stepFD
		l.tellNoExec(s)
		l.stepDone(s, u.fd)
		return
	}
	if res < 0 && u.step != stepClose && u.step != stepGiveUp {
		u.why = fmt.Sprintf("step %d: %v", u.step, unix.Errno(-res))
		l.endSetup(s, false)
		return
	}
	switch u.step {
	case stepFD:
		u.fd, u.step = res, stepMap
		flags := uint64(unix.MAP_SHARED)
		if u.base != 0 {
			flags |= mapFixedNoreplace
		}
		protection := uint64(unix.PROT_READ | unix.PROT_EXEC)
		if sp.noExec {
			protection = unix.PROT_READ
		}
		l.inject(s, call{unix.SYS_MMAP, [6]uint64{u.base, windowSize, protection, flags, uint64(u.fd), 0}}, false)
	case stepMap:
		if u.base != 0 && uint64(res) != u.base {
			u.why = "the mapping came to lie elsewhere"
			l.endSetup(s, false)
			return
		}
		u.base, u.step = uint64(res), stepProtect
		protect := call{unix.SYS_MPROTECT, [6]uint64{u.base + codeSize, windowSize - codeSize, unix.PROT_READ}}
		if u.stub {
			l.runSetupCode(s, protect)
			return
		}
		l.inject(s, protect, false)
	case stepProtect:
		u.step = stepSeal
		l.inject(s, l.sealCall(u), false)
	case stepSeal:
		u.step = stepClose
		l.inject(s, call{unix.SYS_CLOSE, [6]uint64{uint64(u.fd)}}, false)
	case stepClose:
		u.fd = -1
		if err := l.verify(s, sp, u); err != nil {
			u.why = err.Error()
		}
		l.endSetup(s, false)
	case stepGiveUp:
		u.fd = -1
		l.endSetup(s, false)
	}
}

// sealCall seals the window in its place, or does nothing where mseal(2) is missing and the
// filter's range tests do the work (range.go).
func (l *loop) sealCall(u *setup) call {
	if l.policy.Guard {
		return call{unix.SYS_SCHED_YIELD, [6]uint64{}}
	}
	return call{unix.SYS_MSEAL, [6]uint64{u.base, windowSize}}
}

// canSeal tries mseal(2) on nothing (Linux 6.10; a container's profile may withhold it).
func canSeal() bool {
	if withoutMseal {
		return false
	}
	_, _, errno := unix.RawSyscall(unix.SYS_MSEAL, 0, 0, 0)
	return errno == 0
}

// runSetupCode lets the task make the remaining calls from the window.
func (l *loop) runSetupCode(s stopped, protect call) {
	u := s.setup
	table := s.space.win.mem[offTable:]
	for i, c := range []call{
		protect,
		l.sealCall(u),
		{unix.SYS_CLOSE, [6]uint64{uint64(u.fd)}},
		{unix.SYS_SCHED_YIELD, [6]uint64{}},
	} {
		for j, word := range []uint64{c.nr, c.args[0], c.args[1], c.args[2]} {
			binary.LittleEndian.PutUint64(table[32*i+8*j:], word)
		}
	}
	u.ran = true
	r := u.saved
	noTrap(&r)
	noCall(&r)
	setInstruction(&r, u.base+offSetup)
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "set registers of")
		return
	}
	s.request(unix.PTRACE_CONT, 0)
}

// verify looks, after the seal, at what lies where the window should: all of it our object,
// each part at its offset, none writable.
func (l *loop) verify(s stopped, sp *space, u *setup) error {
	maps, err := readMaps(s.tid)
	if err != nil {
		return err
	}
	at := u.base
	for _, m := range maps {
		if m.end <= at || m.start >= u.base+windowSize {
			continue
		}
		if m.start > at || m.ino != sp.win.inode || m.dev != sp.win.dev || m.offset != m.start-u.base || strings.ContainsRune(m.perms, 'w') || !strings.HasSuffix(m.perms, "s") {
			return fmt.Errorf("something else lies in the window at %#x", at)
		}
		at = min(m.end, u.base+windowSize)
	}
	if at != u.base+windowSize {
		return fmt.Errorf("the window ends at %#x", at)
	}
	if !l.policy.Guard && l.ownFilters(s.tid) {
		return verifySealed(s.tid, u.base)
	}
	return nil
}

// ownFilters tells whether a task has more seccomp filters than the program started with.
// Such a filter can make mseal(2) do nothing and say 0, and the magic number give a
// descriptor of the program's own.
func (l *loop) ownFilters(tid int) bool {
	return l.filters == "" || statusField(tid, "Seccomp_filters") != l.filters
}

// verifySealed asks the kernel itself whether the window is sealed in its place.
func verifySealed(tid int, base uint64) error {
	text, err := readfile.All(procPath(tid, "smaps"))
	if err != nil {
		return fmt.Errorf("read the mappings of tid %d: %w", tid, err)
	}
	sealed, within := uint64(0), uint64(0) // bytes; of the mapping that is being read
	for line := range strings.Lines(string(text)) {
		var start, end uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 {
			within = 0
			if start < base+windowSize && end > base {
				within = min(end, base+windowSize) - max(start, base)
			}
			continue
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && strings.Contains(flags+" ", " sl ") {
			sealed += within
		}
	}
	if sealed != windowSize {
		return errors.New("the window is not sealed in its place")
	}
	return nil
}

// endSetup puts the task back and its space into its new state: ready, or none, and then
// the set-up is tried at another address or the call that waited is refused.
func (l *loop) endSetup(s stopped, seccomp bool) {
	u, sp := s.setup, s.space
	l.listener.take(s.tid)
	if u.why != "" {
		if u.fd >= 0 && !seccomp && u.step != stepGiveUp {
			u.step = stepGiveUp
			l.inject(s, call{unix.SYS_CLOSE, [6]uint64{uint64(u.fd)}}, false)
			return
		}
		if sp.tries++; sp.tries < setupTries && !seccomp && sp.win.fd >= 0 {
			why := u.why
			*u = setup{saved: u.saved, mask: u.mask, fd: -1, wary: u.wary, alone: u.alone}
			_ = why
			l.aim(sp, u)
			l.inject(s, call{nr: magicNumber}, false)
			return
		}
	}
	s.setup = nil
	sp.setter = nil
	if err := setSignalMask(s.tid, u.mask); err != nil {
		s.lost(err, "restore the signal mask of")
		return
	}
	if u.why == "" {
		sp.state, sp.base, sp.tries = spaceReady, u.base, 0
		sp.win.shared = sp.win.shared || !u.alone || sp.strangers || l.cfg.Scopes != nil
		sp.win.mapped()
	} else {
		sp.state = spaceNone
	}
	l.afterSetup(s, u, seccomp)
	l.releaseHeld(sp)
}

// afterSetup makes the call that waited happen: looked at again, or refused.
func (l *loop) afterSetup(s stopped, u *setup, seccomp bool) {
	r := u.saved
	if seccomp {
		if err := setRegisters(s.tid, &r); err != nil {
			s.lost(err, "restore registers of")
			return
		}
		if u.why == "" {
			l.seccompStop(s)
		} else {
			l.refuseWindow(s, u.why)
		}
		return
	}
	c := pending(&u.saved)
	setAgain(&r, &c) // it traps again and finds the window, or is refused there
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "restore registers of")
		return
	}
	if u.why != "" {
		s.task.noWindow = u.why
	}
	noted := s.noted
	s.request(unix.PTRACE_CONT, 0)
	s.task.noted, s.task.same = noted, true // the same call comes again
}

// refuseWindow refuses the one call for which there is no window. The process goes on.
func (l *loop) refuseWindow(s stopped, why string) {
	name := native.SyscallName(uint32(l.number))
	l.refuseConst(s, name, "", &decode.Answer{Errno: unix.EPERM, Guard: "window", Reason: "its arguments cannot be kept from changing: " + why})
}
