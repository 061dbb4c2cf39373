// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
)

// Reissue: the call runs on copies of its arguments that the tree cannot change. A path is
// replaced by the canonical one that was decided on, to be walked without links, so a link
// that somebody puts into it meanwhile gives ELOOP and the call is decided again.

// frame is a call that left the task for the window: what the task asked for, to be put
// back, and decided again if the kernel restarts it.
type frame struct {
	call call
	ip   uint64
}

// maxAgain is how often a call is decided again because a link got into its path.
const maxAgain = 8

// inWindow sees to it that the space of s has its window. False: s is being taken care of.
func (l *loop) inWindow(s stopped) bool {
	sp := s.space
	if l.listener.fd < 0 { // no way to bring one in; the start has said so
		s.task.succeeded() // nobody will tell
		s.resume(0)
		return false
	}
	if why := s.noWindow; why != "" {
		s.task.noWindow = ""
		l.refuseWindow(s, why)
		return false
	}
	switch sp.state {
	case spaceReady:
		return true
	case spaceBusy:
		s.task.waits = "the set-up of its window"
		sp.held = append(sp.held, s)
	case spaceNone:
		l.beginSetup(s)
	}
	return false
}

// reissueOpen runs an allowed open(2) and kin as openat2(2) on the canonical path.
func (l *loop) reissueOpen(s stopped, j *judgement) {
	r := &j.resolved
	if l.barredWay(s, j) {
		return
	}
	pathOnly := l.openFlags(j.object)&unix.O_PATH != 0 // the kernel plants none of these
	if s.proc.filtered && l.listener.fd >= 0 && !pathOnly && l.plant(s, j) {
		return
	}
	if l.listener.fd >= 0 && (r.Nameless || len(r.Path) >= unix.PathMax || s.barred) {
		if pathOnly {
			l.openByWords(s, j)
			return
		}
		l.openPinned(s, j)
		return
	}
	if !l.inWindow(s) {
		return
	}
	path := r.Path
	if r.Slash {
		path += "/"
	}
	var how [24]byte
	binary.NativeEndian.PutUint64(how[:], l.openFlags(j.object))
	binary.NativeEndian.PutUint64(how[8:], l.openMode(j.object))
	binary.NativeEndian.PutUint64(how[16:], unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS|j.object.How&resolveCached)
	blocks := r.Exists && mayBlock(r.Stat.Mode) || reachedServed(s.tid)
	// No sealed object may come under this name meanwhile, and nothing take a name that is
	// free before it does.
	held := l.sealsMove && !pathOnly && !blocks
	if held && l.awaitTurn(s, "an open of another task") {
		return
	}
	held = held || j.decision.Fresh
	l.reissue(s, !blocks && !held, func(w *window, slot int) call {
		at := w.putString(s.space, slot, offPath, path)
		return call{unix.SYS_OPENAT2, [6]uint64{cwdWord, at, w.putBytes(s.space, slot, offHow, how[:]), uint64(len(how))}}
	})
	if s.leaving != nil {
		s.leaving.fifo = r.Exists && r.Stat.Mode&unix.S_IFMT == unix.S_IFIFO
	}
	if held && s.leaving != nil {
		l.startWalk(s)
	}
}

// resolveCached is RESOLVE_CACHED of linux/openat2.h.
const resolveCached = 0x20

const cwdWord = ^uint64(99) // AT_FDCWD as an argument word

// mayBlock: opening these can wait for somebody, and a waiting task is better found at its
// own instruction than in a stub (cancellation, restarts).
func mayBlock(mode uint32) bool {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFLNK:
		return false
	}
	return true
}

// validOpenFlags are those that open(2) knows; it drops others, openat2(2) refuses them.
const validOpenFlags = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_NOCTTY | unix.O_TRUNC | unix.O_APPEND | unix.O_NONBLOCK |
	unix.O_SYNC | unix.O_DSYNC | unix.O_ASYNC | unix.O_DIRECT | 0x8000 | unix.O_LARGEFILE | unix.O_DIRECTORY | unix.O_NOFOLLOW |
	unix.O_NOATIME | unix.O_CLOEXEC | unix.O_PATH | unix.O_TMPFILE

// openFlags cleans the flags as the kernel's build_open_how does.
func (l *loop) openFlags(o *decode.Object) uint64 {
	flags := l.call.Flags
	if l.call.Row.Name == "openat2" {
		return flags // judged by the kernel as they are
	}
	flags &= validOpenFlags
	if flags&unix.O_PATH != 0 {
		flags &= unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_PATH | unix.O_CLOEXEC
	}
	_ = o
	return flags
}

// openMode is the mode for a file that may be made, 0 otherwise.
func (l *loop) openMode(o *decode.Object) uint64 {
	if !o.MayCreate && !o.TmpFile || o.PathOnly {
		if l.call.Row.Name == "openat2" {
			return o.Mode
		}
		return 0
	}
	if l.call.Row.Name == "openat2" {
		return o.Mode
	}
	return o.Mode & 0o7777
}

// reissue puts a call into the task's slot and lets it run: from the stub, which puts the
// registers back by itself, or to its exit stop.
func (l *loop) reissue(s stopped, stub bool, fill func(*window, int) call) {
	sp := s.space
	stub = stub && hasStub && !sp.noExec
	slot, own := l.slotFor(s)
	if slot < 0 {
		return
	}
	stub = stub && own
	if s.frames == nil {
		s.task.frames = new([frames]frame)
	}
	f := s.frameAt
	s.task.frameAt = (f + 1) % frames
	var r registers
	short := l.knowsCall(s)
	if short {
		s.frames[f] = frame{call{l.at.Nr, l.at.Args}, l.at.IP}
	} else {
		if err := getRegisters(s.tid, &r); err != nil {
			s.lost(err, "read registers of")
			return
		}
		s.frames[f] = frame{pending(&r), instruction(&r)}
	}
	c := fill(sp.win, slot)
	for i := len(c.args); i > 4; i-- { // what the call does not use stays
		if c.args[i-1] == 0 {
			c.args[i-1] = s.frames[f].call.args[i-1]
		}
	}
	if short {
		l.replaceCall(s, stub, slot, f, &c)
		return
	}
	if stub {
		enterStub(&r, sp, slot, f, &c)
	} else {
		setPending(&r, &c)
		s.task.leaves(f, slot)
	}
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "set registers of")
		return
	}
	if stub {
		s.request(unix.PTRACE_CONT, 0)
		return
	}
	s.request(unix.PTRACE_SYSCALL, 0)
}

// knowsCall tells whether the call that s is stopped at is at hand as the kernel told it, and
// may be replaced as that: then the other registers need be neither read nor written.
func (l *loop) knowsCall(s stopped) bool {
	return setsCalls && !withoutMseal && !l.oldCalls && l.atTask == s.task && l.atStop == s.stop
}

// replaceCall is the end of reissue without the registers.
func (l *loop) replaceCall(s stopped, stub bool, slot, f int, c *call) {
	asked := &s.frames[f]
	err := setCall(s.tid, &l.at, c)
	if errors.Is(err, unix.EIO) { // PTRACE_SET_SYSCALL_INFO came with Linux 6.16
		l.oldCalls = true
		var r registers
		if err = getRegisters(s.tid, &r); err == nil {
			if stub {
				enterStub(&r, s.space, slot, f, c)
			} else {
				setPending(&r, c)
			}
			err = setRegisters(s.tid, &r)
		}
	} else if err == nil && stub {
		err = jumpToStub(s.tid, s.space, slot, f, asked)
	}
	if err != nil {
		s.lost(err, "replace the call of")
		return
	}
	if stub {
		s.request(unix.PTRACE_CONT, 0)
		return
	}
	s.task.leaves(f, slot)
	s.request(unix.PTRACE_SYSCALL, 0)
}

// leaving is a reissued call whose exit stop is awaited.
type leaving struct {
	frame, slot int
	// barrable: if it fails with EACCES it is decided again, as a task may be barred from the
	// canonical way.
	barrable bool
	fifo     bool // it opens a FIFO, and may wait there for the other side
	// done, if set, may change the result; it runs at the exit stop.
	done func(s stopped, r *registers)
}

// leaves notes that the exit stop of a reissued call is awaited.
func (t *task) leaves(frame, slot int) {
	t.leavingRoom = leaving{frame: frame, slot: slot}
	t.leaving = &t.leavingRoom
}

// left is the exit stop of a reissued call: the task gets its registers back. A call that
// is to be restarted is so from the task's own words, and decided anew.
func (l *loop) left(s stopped) {
	g := *s.leaving
	s.task.leaving = nil
	r := &l.leftRegs
	if err := getRegisters(s.tid, r); err != nil {
		s.lost(err, "read registers of")
		return
	}
	asked := s.frames[g.frame].call
	res := result(r)
	l.giveBack(s, g.slot)
	if s.space.win != nil {
		s.space.win.endLarge(s.task)
	}
	barred := res == -int64(unix.EACCES) && !s.barred
	if ((res == -int64(unix.ELOOP) || barred) && l.reissuedOpen(asked.nr) || barred && g.barrable) && s.again < maxAgain {
		s.task.again++
		s.task.retrying = true
		s.task.barred = res == -int64(unix.EACCES) || s.again > 1 // as where a stub tells no difference
		setAgain(r, &asked)
		l.endWalk(s.task)
	} else {
		restoreCall(r, &asked, res)
		s.task.again, s.task.barred = 0, false
		if g.done != nil {
			g.done(s, r)
		}
		if !s.inStop {
			return // killed
		}
		if result(r) >= 0 {
			s.task.succeeded()
		}
		if s.repeats {
			s.task.repeats = false
			interrupted := *r
			setAgain(r, &asked)
			setResultRegister(&interrupted, -int64(unix.EINTR))
			l.repeat(s, *r, interrupted)
			return
		}
	}
	if err := setRegisters(s.tid, r); err != nil {
		s.lost(err, "restore registers of")
		return
	}
	if s.holds {
		s.task.holds = false
		return
	}
	s.request(unix.PTRACE_CONT, 0)
}

// giveBack frees a slot at an exit stop, and lets one waiting call have it.
func (l *loop) giveBack(s stopped, slot int) {
	if slot < 0 || slot >= reserved {
		return // it has been taken back, or is the task's own and stays so
	}
	w := s.space.win
	w.owner[slot] = nil
	s.task.slot = -1
	l.serveWaiting(w)
}

// serveWaiting looks again at calls that waited for a slot, the longest first: as many as
// there are slots, for each look costs as much as the call itself.
func (l *loop) serveWaiting(w *window) {
	for len(w.waiting) > 0 && w.free() {
		s := w.waiting[0]
		w.waiting = w.waiting[1:]
		l.lookAgain([]stopped{s})
	}
}

// reissuedOpen: calls that were reissued as openat2.
func (l *loop) reissuedOpen(nr uint64) bool {
	switch native.SyscallName(uint32(nr)) {
	case "open", "openat", "openat2", "creat":
		return true
	}
	return false
}

// stubOf finds the frame whose stub an instruction lies in.
func (t *task) stubOf(ip uint64) (f *frame, trapped bool) {
	sp := t.space
	if !hasStub || sp == nil || sp.state != spaceReady || t.frames == nil || ip < sp.base || ip >= sp.base+slots*frames*stubSize {
		return nil, false
	}
	i := int(ip-sp.base) / stubSize
	if i/frames != t.slot {
		return nil, false
	}
	return &t.frames[i%frames], int(ip-sp.base)%stubSize > 40
}

// outOfStub puts a task that a signal finds in a stub to where it would be without one: just
// behind its own call, with its result or before its restart. Else its handler would run with
// an address in the window that no unwinder knows (cancellation of threads, exceptions).
// False: it is gone.
func outOfStub(s stopped) bool {
	if !hasStub || s.space == nil || s.space.state != spaceReady || s.frames == nil || s.setup != nil {
		return true
	}
	var r registers
	if err := getRegisters(s.tid, &r); err != nil {
		s.lost(err, "read registers of")
		return false
	}
	f, trapped := s.stubOf(instruction(&r))
	if f == nil {
		return true
	}
	res := result(&r)
	setInstruction(&r, f.ip)
	if trapped || res == -int64(unix.ELOOP) || res == -int64(unix.EACCES) {
		setAgain(&r, &f.call) // it was about to be decided anew
	} else {
		restoreCall(&r, &f.call, res)
	}
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "restore registers of")
		return false
	}
	return true
}

// backFromStub handles a seccomp stop inside a stub: a restarted call, or the trap after
// ELOOP or EACCES. The task is put back to its own call, which is decided as if it had just
// been made. False: s is taken care of.
func (l *loop) backFromStub(s stopped, info *syscallInfo) bool {
	f, trapped := s.stubOf(info.IP)
	if f == nil {
		return true
	}
	var r registers
	if err := getRegisters(s.tid, &r); err != nil {
		s.lost(err, "read registers of")
		return false
	}
	setPending(&r, &f.call)
	setInstruction(&r, f.ip)
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "restore registers of")
		return false
	}
	info.Nr, info.Args, info.IP = f.call.nr, f.call.args, f.ip
	if trapped {
		if s.task.again++; s.again > maxAgain {
			s.task.again = 0
			s.refuse(unix.ELOOP)
			return false
		}
		// The stub does not tell ELOOP from EACCES. If the way is barred to the task, the
		// second try goes round it.
		s.task.barred = s.again > 1
		s.task.retrying = true
	}
	s.task.same = true // a restart, or the second try
	return true
}

// openPinned opens an object without a name, or one whose canonical way the task cannot
// walk, ourselves, through the descriptor that pins it, and plants the result. It needs the
// task to have our own rights.
func (l *loop) openPinned(s stopped, j *judgement) {
	c, err := l.credentialsOf(s)
	if err != nil || c.fenced { // its own sandbox must keep its force
		s.refuse(unix.EACCES)
		return
	}
	dir := j.resolved.Parent
	if j.resolved.FD >= 0 {
		dir = j.resolved.FD // of O_TMPFILE; else nothing is made
	}
	flags, mode := int(l.openFlags(j.object)), l.newMode(s, dir, uint32(l.openMode(j.object)))
	if j.resolved.FD >= 0 && j.resolved.Stat.Mode&unix.S_IFMT == unix.S_IFIFO && flags&(unix.O_ACCMODE|unix.O_NONBLOCK) == unix.O_WRONLY && l.sameRights(s) && !reachedServed(s.tid) {
		l.openFIFO(s, j, flags)
		return
	}
	fd, pinned := -1, j.resolved
	act := deedOf(func() (err error) {
		fd, err = pinnedOpen(&pinned, flags, mode)
		return err
	})
	if reachedServed(s.tid) && l.canTakeOn(c) {
		l.apart(s, c, "a served file system", act, func(s stopped, err error) { l.opened(s, fd, flags, err) })
		return
	}
	foreign, err := l.actAs(s, c, l.judged, act)
	if foreign {
		err = unix.EACCES
	}
	l.opened(s, fd, flags, err)
}

// opened plants what has been opened for a task; s is nothing if the task is gone.
func (l *loop) opened(s stopped, fd, flags int, err error) {
	if s.task == nil {
		if fd >= 0 {
			unix.Close(fd)
		}
		return
	}
	if err != nil {
		l.performed(s, err)
		return
	}
	l.answerWith(s, fd, flags)
}

// openFIFO opens a FIFO for writing, which waits for a reader: elsewhere, the task stays
// stopped.
func (l *loop) openFIFO(s stopped, j *judgement, flags int) {
	pin, err := unix.FcntlInt(uintptr(j.resolved.FD), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		s.refuse(errnoOf(err))
		return
	}
	s.task.waits = "the other end of a FIFO"
	c, outside := s.creds, l.uncovered(j)
	go func() {
		runtime.LockOSThread() // for good
		fd := -1
		open := func() (err error) {
			fd, err = unix.Open(pinPath(pin), flags&^(unix.O_CREAT|unix.O_NOFOLLOW)|unix.O_CLOEXEC, 0)
			return err
		}
		err := l.goInside(true)
		if err == nil {
			if err = open(); outside == "" || !errors.Is(err, unix.EACCES) {
				err = l.again(err, c, nil, deedOf(open))
			} else {
				err = &heldError{outside}
			}
		}
		unix.Close(pin)
		l.post(func() {
			switch {
			case !l.waits(s): // gone, or in another stop
				if err == nil {
					unix.Close(fd)
				}
			case err != nil:
				l.performed(s, err)
			default:
				l.answerWith(s, fd, flags)
			}
		})
	}()
}

// answerWith answers an open with a descriptor of ours.
func (l *loop) answerWith(s stopped, fd, flags int) {
	s.task.again, s.task.barred = 0, false
	l.plantResult(s, fd, uint32(flags)&unix.O_CLOEXEC)
}

// plantResult makes the pending call give the task a descriptor of ours, which is closed here.
func (l *loop) plantResult(s stopped, fd int, flags uint32) {
	l.listener.take(s.tid) // of a call that a signal broke off
	l.listener.give(s.tid, gift{fd: fd, flags: flags, own: true})
	var r registers
	if err := getRegisters(s.tid, &r); err != nil {
		s.lost(err, "read registers of")
		return
	}
	asked := pending(&r)
	asked.nr = magicNumber
	setPending(&r, &asked)
	if err := setRegisters(s.tid, &r); err != nil {
		s.lost(err, "set registers of")
		return
	}
	s.request(unix.PTRACE_CONT, 0)
}

// openByWords lets a task open, by a copy of its own words, what it has only by a way that
// we cannot give it: an O_PATH descriptor, which reads nothing, and what is done with it
// later is decided then.
//
// Where names are hidden it must not find one that the words did not lead to when they were
// decided on, so nothing may change on their way, as in carryLook.
func (l *loop) openByWords(s stopped, j *judgement) {
	if !l.inWindow(s) {
		return
	}
	hides := l.policy.Looks
	if hides && l.startMoves(s, j) {
		s.refuse(unix.EACCES)
		return
	}
	if hides && l.awaitTurn(s, "an open of another task") {
		return
	}
	row, asked := l.call.Row, call{l.number, l.call.Args}
	var how [24]byte
	binary.NativeEndian.PutUint64(how[:], l.openFlags(j.object))
	binary.NativeEndian.PutUint64(how[8:], l.openMode(j.object))
	binary.NativeEndian.PutUint64(how[16:], j.object.How)
	path := j.object.Path
	l.reissue(s, false, func(w *window, slot int) call {
		for i, arg := range row.Args {
			if arg.Kind == decode.Path {
				asked.args[i] = w.putString(s.space, slot, offPath, path)
			}
		}
		if row.Name == "openat2" {
			asked.args[2], asked.args[3] = w.putBytes(s.space, slot, offHow, how[:]), uint64(len(how))
		}
		return asked
	})
	if hides && s.leaving != nil {
		l.startWalk(s)
	}
}

// pinnedOpen opens what a resolved object pins. It must not wait: O_NONBLOCK, taken off
// again afterwards.
func pinnedOpen(r *resolve.Object, flags int, mode uint32) (int, error) {
	open := flags | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK
	var fd int
	var err error
	switch {
	case r.FD >= 0 && flags&unix.O_PATH != 0:
		fd, err = unix.FcntlInt(uintptr(r.FD), unix.F_DUPFD_CLOEXEC, 3)
		return fd, err
	case r.FD >= 0:
		fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(r.FD), open&^(unix.O_CREAT|unix.O_NOFOLLOW), mode)
	case r.Parent >= 0:
		// Not O_NOFOLLOW, which F_GETFL would show.
		fd, err = unix.Openat2(r.Parent, r.Name, &unix.OpenHow{Flags: uint64(open), Mode: uint64(mode), Resolve: unix.RESOLVE_NO_SYMLINKS})
	default:
		return -1, unix.ENOENT
	}
	if err != nil {
		return -1, err
	}
	if flags&unix.O_NONBLOCK == 0 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&(unix.O_APPEND|unix.O_DIRECT|unix.O_NOATIME|unix.O_ASYNC)); err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}
