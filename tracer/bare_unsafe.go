// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
	"ptguard/rules"
)

// answerBare answers a call that fails on what is or is not there. The kernel has its own
// order of checks (flags before names, memory before both), so it is asked: we make the same
// call, on copies of the words, from the task's directories and with its rights. It should
// fail; but a name can come to be there meanwhile, so only what the policy would allow on
// every name is asked.
//
// guess is what the walk found; it is the answer where we cannot ask.
func (l *loop) answerBare(s stopped, guess syscall.Errno) {
	row := l.call.Row
	switch {
	case plain, !l.started, row.Event == "os.exec":
		s.resume(0) // an exec is looked at again when it has happened
	case guess == unix.ENOENT && l.plainLook(s):
		s.refuse(guess)
	case row.Need == decode.NeedLooks || row.Need == decode.NeedReadsOnly || row.Need == decode.NeedProbes:
		if j := &l.judged[0]; l.ledThroughProc() || j.object.Path != "" && l.startMoves(s, j) {
			s.refuse(guess) // a dup2 or chdir, which nothing holds back, could lead it to an object
			return
		}
		if s.again > 0 || !l.staysAbsent(s) {
			s.task.barred = true // by its own words, copied
		}
		l.carryLook(s)
	case guess == unix.ENOENT && l.plainOpen(s):
		s.refuse(guess) // whatever the flags are
	default:
		errno, ok := l.ask(s)
		switch {
		case l.findFirst(s, l.seccompStop):
		case ok:
			s.answer(-int64(errno))
		case len(l.judged) > 0 && l.judged[0].object.Kind == decode.Sockaddr && l.barredWords(s, &l.judged[0]):
		default:
			s.refuse(guess)
		}
	}
}

// staysAbsent tells whether the call at hand looks for a name that is not there, by a canonical
// path that the tree cannot change: it may rename nothing on the way and make nothing, and no
// link, there. Then the kernel can be asked by that path as by the task's own words, and no
// change to names has to wait until it has looked: that saves the exit stop. If somebody outside
// makes it meanwhile, it is one that the policy would let the task look at.
func (l *loop) staysAbsent(s stopped) bool {
	if len(l.judged) != 1 || len(l.call.Objects) != 1 || l.judged[0].object.Kind != decode.Path {
		return false
	}
	r := &l.judged[0].resolved
	if !r.Absent || !l.wouldAllow(s) || l.swappable(r.Path, true) {
		return false
	}
	for _, act := range [...]rules.Act{rules.ActSymlink, rules.ActRenameTarget, rules.ActLinkTarget} {
		q := rules.Request{Access: decode.Create, Act: act, File: rules.File{Path: r.Path}}
		if d := l.decide(stopped{}, &q); d.Verdict == rules.Ask || !l.bars(d) {
			return false
		}
	}
	return true
}

// ledThroughProc tells whether a path of the call led to or through the proc file system, as
// /proc/self/fd/N does.
func (l *loop) ledThroughProc() bool {
	in := func(path string) bool { return strings.HasPrefix(path, "/proc/") }
	for i := range l.judged {
		if r := &l.judged[i].resolved; in(r.Path) || slices.ContainsFunc(r.Hops, in) {
			return true
		}
	}
	return false
}

// plainOpen tells whether the call at hand opens something by name that has to be there, with our
// own rights: what is not there for us is not there for the task. Its words have been checked
// (decode), and nothing else comes before the name.
func (l *loop) plainOpen(s stopped) bool {
	if len(l.call.Objects) != 1 || len(l.judged) != 1 || l.walks > 0 || reachedServed(s.tid) {
		return false
	}
	o := &l.call.Objects[0]
	return o.Opens && o.How == 0 && !o.MayCreate && !o.TmpFile && l.sameRights(s)
}

// plainLook is plainOpen for the calls that look at a name, of which nothing but their words, which
// have been checked, comes before it. Programs look for one name in many directories (gcc, the
// search of PATH), and asking the kernel by a copy of the words takes an exit stop.
func (l *loop) plainLook(s stopped) bool {
	real := false
	switch l.call.Row.Name {
	case "stat", "lstat", "newfstatat", "fstatat", "statx", "readlink", "readlinkat":
	case "access", "faccessat":
		real = true
	default:
		return false
	}
	if len(l.call.Objects) != 1 || len(l.judged) != 1 || l.walks > 0 || reachedServed(s.tid) || !l.sameRights(s) {
		return false
	}
	return !real || s.creds.asReal()
}

// pointers are the arguments, by row, that point to memory of a fixed size to be read; 0 is
// a string.
var pointers = map[string]map[int]int{
	"symlink": {0: 0}, "symlinkat": {0: 0},
	"utime": {1: 16}, "utimes": {1: 32}, "futimesat": {2: 32}, "utimensat": {2: 32},
	"setxattr": {1: 0, 2: valueOf}, "lsetxattr": {1: 0, 2: valueOf},
	"removexattr": {1: 0}, "lremovexattr": {1: 0}, "removexattrat": {3: 0},
	"openat2": {2: howOf},
}

const (
	valueOf = -1 // as long as the next argument says, at most XATTR_SIZE_MAX
	howOf   = -2 // struct open_how
	bad     = ^uintptr(0) >> 1
)

// ask makes the call at hand ourselves. ok is false if that is not possible.
func (l *loop) ask(s stopped) (errno syscall.Errno, ok bool) {
	c, err := l.credentialsOf(s)
	row := l.call.Row
	if err != nil || c.fenced || reachedServed(s.tid) || l.carriers[row] == nil || row.Name == "connect" || row.Name == "bind" || strings.HasPrefix(row.Name, "send") {
		return 0, false
	}
	var args [6]uintptr
	for i := range args {
		args[i] = uintptr(l.call.Args[i])
	}
	if !l.wouldAllow(s) {
		return 0, false
	}
	if row.Name == "setxattrat" || row.Name == "file_setattr" {
		return 0, false // pointers within what they point to
	}
	cwd := taskDir(s, unix.AT_FDCWD)
	if cwd >= 0 {
		defer unix.Close(cwd)
	}
	var pinned runtime.Pinner // an address is no pointer: what it names must neither move nor go
	defer pinned.Unpin()
	n, dir, dirAt := 0, int32(unix.AT_FDCWD), -1
	for i, arg := range row.Args {
		switch arg.Kind {
		case decode.Dirfd:
			dir, dirAt = int32(l.call.Args[i]), i
		case decode.Path, decode.Entry:
			if n >= len(l.call.Objects) || l.call.Objects[n].Kind != arg.Kind {
				return 0, false
			}
			text, fine := l.ourText(s, cwd, l.call.Objects[n].Path, dirAt >= 0)
			if !fine {
				return 0, false
			}
			if dirAt >= 0 {
				fd := taskDir(s, dir)
				if fd >= 0 {
					defer unix.Close(fd)
				}
				args[dirAt] = uintptr(fd) // -1: it is no descriptor there either
			}
			args[i] = pinnedAt(&pinned, append([]byte(text), 0))
			n, dir, dirAt = n+1, unix.AT_FDCWD, -1
		}
		if size, pointer := pointers[row.Name][i]; pointer && args[i] != 0 {
			raw := l.copyOf(s, i, size)
			if raw == nil {
				args[i] = bad
				continue
			}
			args[i] = pinnedAt(&pinned, raw)
		}
	}
	for _, o := range l.call.Objects[min(n, len(l.call.Objects)):] {
		if o.Kind == decode.Path || o.Kind == decode.Entry {
			return 0, false
		}
	}
	if !l.sameRights(s) {
		restore, err := l.takeOn(c)
		defer restore()
		if err != nil {
			return 0, false
		}
	}
	res, _, errno := syscall.Syscall6(uintptr(l.number), args[0], args[1], args[2], args[3], args[4], args[5])
	if errno == 0 && l.reissuedOpen(l.number) {
		unix.Close(int(res)) // it has come to be there meanwhile: as the walk found it, then
		return 0, false
	}
	return errno, true
}

// pinnedAt is the address of raw, which stays there until it is unpinned.
func pinnedAt(p *runtime.Pinner, raw []byte) uintptr {
	p.Pin(&raw[0])
	return uintptr(unsafe.Pointer(&raw[0]))
}

// wouldAllow tells whether the act would be allowed on every name of the call, as far as they
// lead: those that were looked at and those that come after the one that failed.
func (l *loop) wouldAllow(s stopped) bool {
	if l.walks > 0 {
		return false // a bind(2) is on its way, see startWalk
	}
	for i := range l.call.Objects {
		o := &l.call.Objects[i]
		if o.Kind != decode.Path && o.Kind != decode.Entry {
			return false
		}
		if i >= len(l.judged) {
			l.judged = append(l.judged, judgement{object: o})
			j := &l.judged[i]
			j.resolved.FD, j.resolved.Parent = -1, -1
			if l.resolveFor(&j.resolved, resolve.Task{TGID: s.proc.pid, TID: s.tid}, int(o.Dirfd), o.Path, walkFlags(o)) != nil {
				return false
			}
		}
		r := &l.judged[i].resolved
		if r.Path == "" || r.Nameless {
			return false
		}
		access := o.Access
		if o.MayCreate || o.Act == decode.ActRenameTarget {
			access |= decode.Create | decode.Remove
		}
		q := rules.Request{Access: access, Act: o.Act}
		if r.Errno == 0 {
			l.file(r, &q.File)
		} else {
			q.File.Path, q.File.Spellings = r.Path, r.Hops
		}
		if l.bars(l.decide(s, &q)) {
			return false
		}
	}
	return len(l.call.Objects) > 0
}

// ourText makes a path of the task mean the same to us; at: it is walked from a descriptor.
// False where that cannot be: it speaks of the task's own /proc, or would become too long.
func (l *loop) ourText(s stopped, cwd int, text string, at bool) (string, bool) {
	for i := range l.judged {
		r := &l.judged[i].resolved
		for _, hop := range r.Hops {
			if strings.HasPrefix(hop, "/proc/") || hop == "/dev/fd" {
				return "", false
			}
		}
	}
	switch {
	case text == "" || at && text[0] != '/':
		return text, true
	case strings.HasPrefix(text, "/proc/self/"):
		text = "/proc/" + strconv.Itoa(s.proc.pid) + text[len("/proc/self"):]
		return text, true
	case text[0] == '/':
		return text, !strings.HasPrefix(text, "/proc/thread-self") && !strings.HasPrefix(text, "/dev/std")
	}
	base := pinPath(cwd) + "/" // /proc/TID/cwd may be closed to the rights that we take on
	return base + text, cwd >= 0 && len(base)+len(text) < unix.PathMax
}

// taskDir opens where a path of the task starts, -1 if it has no such descriptor.
func taskDir(s stopped, dirfd int32) int {
	name := procPath(s.tid, "cwd")
	if dirfd != unix.AT_FDCWD {
		name = procPath(s.tid, "fd/"+strconv.Itoa(int(dirfd)))
	}
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// copyOf copies what argument i points to; nil if it cannot be read.
func (l *loop) copyOf(s stopped, i, size int) []byte {
	addr := l.call.Args[i]
	switch size {
	case 0:
		text, err := decode.ReadPath(memory{s.tid}, addr)
		if err != nil {
			return nil
		}
		return append([]byte(text), 0)
	case valueOf:
		size = int(min(l.call.Args[i+1], maxXattr+1))
	case howOf:
		size = int(min(l.call.Args[i+1], pageSize+1))
	}
	raw := make([]byte, max(size, 1))
	if size > 0 && readAll(s.tid, raw[:size], addr) != nil {
		return nil
	}
	return raw
}
