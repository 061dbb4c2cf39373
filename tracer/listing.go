// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/rules"
)

// A listing must agree with what looking says: names that may not be looked at are taken out of what
// getdents(2) returns. We read a copy of the task's descriptor, which shares its position, so
// nothing hidden is ever in the task's memory, where a sibling would see it. Where races are
// accepted (--allow-races) the names are taken out at the exit stop.

// listing is a getdents call on its way.
type listing struct {
	dir    string
	dev    uint64
	nr     uint64
	fd     uint64
	buffer uint64
	wide   bool // getdents64(2)
}

// maxListing bounds what is read at once; a listing may come in any number of parts.
const maxListing = 1 << 16

// listCopy makes the call on a copy of the descriptor, which is closed here: on another thread if the
// directory is on a served file system, whose answer may not come.
func (l *loop) listCopy(s stopped, fd int) {
	dir := l.judged[0].request.File
	g := &listing{dir: dir.Path, dev: dir.Inode.Dev, wide: l.call.Row.Name == "getdents64"}
	number, at := l.number, l.call.Args[1]
	raw := make([]byte, min(uint64(uint32(l.call.Args[2])), maxListing))
	var n int
	var err error
	exchanged := false
	read := func() {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Dev != dir.Inode.Dev || st.Ino != dir.Inode.Ino {
			exchanged = true // a sibling has put another one behind the number
			return
		}
		n, err = directoryEntries(number, fd, raw)
	}
	give := func() (more bool) {
		if exchanged {
			l.lookAgain([]stopped{s})
			return false
		}
		if err != nil {
			s.refuse(errnoOf(err))
			return false
		}
		kept := l.visible(s, g, raw[:n])
		switch {
		case n > 0 && len(kept) == 0:
			return true // an empty answer would mean the end
		case len(kept) > 0 && writeMem(s.tid, kept, at) != nil:
			s.refuse(unix.EFAULT)
		default:
			s.answer(int64(len(kept)))
		}
		return false
	}
	if !reachedServed(s.tid) {
		for read(); give(); read() {
		}
		unix.Close(fd)
		return
	}
	s.task.waits = "the file system of " + dir.Path
	var step func()
	step = func() {
		askers <- struct{}{}
		read()
		<-askers
		l.post(func() {
			if l.waits(s) && give() {
				go step()
				return
			}
			unix.Close(fd)
		})
	}
	go step()
}

// list makes the call on a copy, or lets it run to its exit stop.
func (l *loop) list(s stopped) {
	dir := &l.judged[0].request.File
	if dir.Path == "" || dir.Nameless {
		s.resume(0)
		return
	}
	fd, later, err := l.copyFor(s, int(int32(l.call.Args[0])))
	switch {
	case later:
		return
	case errors.Is(err, unix.EBADF):
		s.refuse(unix.EBADF)
		return
	case err == nil && !plain:
		l.listCopy(s, fd)
		return
	case err == nil:
		unix.Close(fd)
	case l.listener.fd >= 0:
		l.refuseWindow(s, err.Error())
		return
	}
	s.listing = &listing{
		dir: dir.Path, dev: dir.Inode.Dev, nr: l.number, fd: l.call.Args[0], buffer: l.call.Args[1],
		wide: l.call.Row.Name == "getdents64",
	}
	s.request(unix.PTRACE_SYSCALL, 0)
}

// listed is the exit stop: hidden names are cut out of the buffer. If none is left, but
// there were some, the call is made again, for an empty answer would mean the end.
func (l *loop) listed(s stopped) {
	g := s.listing
	s.listing = nil
	n, err := callResult(s.tid)
	if err != nil {
		s.lost(err, "read the result of getdents of")
		return
	}
	if n <= 0 {
		s.resume(0)
		return
	}
	raw := make([]byte, n)
	if err := readAll(s.tid, raw, g.buffer); err != nil {
		l.killBlind(s, "getdents64", "os.listdir", "its listing holds names that could not be read")
		return
	}
	kept := l.visible(s, g, raw)
	if len(kept) == len(raw) {
		s.resume(0)
		return
	}
	// Zeros over the rest: what was cut must not stay behind the result either.
	end := copy(raw, kept)
	clear(raw[end:])
	switch err = writeMem(s.tid, raw, g.buffer); {
	case err != nil:
	case end == 0:
		err = repeatCall(s.tid, g.nr, g.fd)
	default:
		err = setResult(s.tid, int64(end))
	}
	if err != nil {
		l.killBlind(s, "getdents64", "os.listdir", "the hidden names could not be taken out of its listing")
		return
	}
	s.resume(0)
}

// visible gives the entries that may be seen. struct linux_dirent64 is d_ino, d_off,
// d_reclen, d_type, d_name; struct linux_dirent has d_type in its last byte (getdents(2)).
func (l *loop) visible(s stopped, g *listing, raw []byte) []byte {
	kept := make([]byte, 0, len(raw))
	for rest := raw; len(rest) >= 19; {
		size := int(binary.NativeEndian.Uint16(rest[16:]))
		if size < 19 || size > len(rest) {
			break
		}
		entry, name, kind := rest[:size], rest[18:size], rest[size-1]
		if g.wide {
			name, kind = rest[19:size], rest[18]
		}
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if l.seen(s, g, string(name), kind, binary.NativeEndian.Uint64(rest)) {
			kept = append(kept, entry...)
		}
		rest = rest[size:]
	}
	return kept
}

func (l *loop) seen(s stopped, g *listing, name string, kind byte, ino uint64) bool {
	if name == "." || name == ".." {
		return true
	}
	l.actor = s.task
	r := rules.Request{Access: decode.Look, Silent: true, File: rules.File{
		Path: g.dir + "/" + name, Exists: true, Inode: rules.Inode{Dev: g.dev, Ino: ino}, Mode: uint32(kind) << 12, // DTTOIF
	}}
	if g.dir == "/" {
		r.File.Path = "/" + name
	}
	l.granted(s, &r)
	if g.dir == "/proc" {
		if pid, err := strconv.Atoi(name); err == nil {
			r.File.Owner = l.owner(pid)
		}
	}
	p := l.policyOf(s.task)
	d := p.Decide(&r)
	if d.Refused() && (kind == unix.DT_CHR || kind == unix.DT_BLK) {
		// Devices go by their number, which a listing does not tell.
		var st unix.Stat_t
		if unix.Lstat(r.File.Path, &st) == nil && st.Ino == ino {
			r.File.Mode, r.File.Rdev = st.Mode, st.Rdev
			d = p.Decide(&r)
		}
	}
	if d.Refused() && l.facts.isMade(r.File.Path) {
		r.File.Made = true
		d = p.Decide(&r)
	}
	return !l.bars(d)
}
