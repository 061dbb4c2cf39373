// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/readfile"
	"ptguard/internal/resolve"
)

// Perform: calls that change names or metadata are carried out by us, on the descriptors
// that pin what was decided on, with the task's credentials, and the task gets the result.
// There is nothing in its memory or its descriptor table left that could be changed
// meanwhile. One stop, no window.

// performer reads what a call needs of its task, with our own rights, and gives the act,
// which is run with the task's: those may no longer let us look at it.
type performer func(l *loop, s stopped) (act deed, err error)

// perform runs an act with the task's credentials and answers the call with its errno. names
// says that it is one that Landlock has a right for.
func (l *loop) perform(s stopped, prepare performer, names bool) {
	if l.walks > 0 {
		s.task.waits = "a walk of another task"
		l.heldChanges = append(l.heldChanges, s) // a bind(2) is on its way, see startWalk
		return
	}
	c, err := l.credentialsOf(s)
	if err != nil {
		l.unresolvable(s, err)
		return
	}
	if names && l.movesSealed() && l.opensWaiting(s) {
		l.refuseMove(s)
		return
	}
	if c.fenced && names {
		// Its own sandbox must keep its force, and our act would not be in it.
		l.reissueNames(s)
		return
	}
	act, err := prepare(l, s)
	if len(finding) > 0 && l.findFirst(s, l.seccompStop) {
		return
	}
	if err == nil && (reachedServed(s.tid) || l.call.Row.Name == "truncate") {
		if !l.canTakeOn(c) {
			l.reissueNames(s)
			return
		}
		l.performApart(s, c, act)
		return
	}
	if err == nil {
		var foreign bool
		if foreign, err = l.actAs(s, c, l.judged, act); foreign {
			l.reissueNames(s)
			return
		}
	}
	l.performed(s, err)
}

// performApart is the end of perform for an act that may have to wait.
func (l *loop) performApart(s stopped, c *credentials, act deed) {
	books := s.task.books
	s.task.books = nil
	l.apart(s, c, "a served file system, or a lease", act, func(s stopped, err error) {
		if err == nil {
			book(books) // also of a task that is gone
		}
		l.performed(s, err)
	})
}

// performed answers a call that we have made for the task; s is nothing if the task is gone.
func (l *loop) performed(s stopped, err error) {
	held, isHeld := errors.AsType[*heldError](err)
	switch {
	case s.task == nil:
	case isHeld:
		l.refuseHeld(s, held.name)
	case errors.Is(err, errLimit):
		_ = unix.Tgkill(s.proc.pid, s.tid, unix.SIGXFSZ)
		s.refuse(unix.EFBIG)
	case err != nil:
		s.refuse(errnoOf(err))
	default:
		s.task.succeeded()
		s.answer(0)
	}
}

// actAs runs act with the rights c. foreign: we cannot take them on, and it has not run.
// It may run on another thread.
func (l *loop) actAs(s stopped, c *credentials, judged []judgement, act deed) (foreign bool, err error) {
	if l.ownRights(c) {
		return false, l.again(act.do(), c, judged, act)
	}
	starts := make([]int, len(judged))
	for i := range judged {
		if starts[i] = taskDir(s, judged[i].object.Dirfd); starts[i] >= 0 {
			defer unix.Close(starts[i])
		}
	}
	restore, err := l.takeOn(c)
	if err != nil {
		restore()
		return true, nil
	}
	for i := range judged {
		if err = mayWalk(s, &judged[i], starts[i]); err != nil {
			restore()
			return false, err
		}
	}
	err = act.do()
	restore()
	return false, l.again(err, c, judged, act)
}

// mayWalk goes the way of a path again, with the rights that the tracer thread has taken on:
// the walk that found the object went with our own, through directories that may be closed
// to the task.
func mayWalk(s stopped, j *judgement, start int) error {
	o, r := j.object, &j.resolved
	if o.Kind != decode.Path && o.Kind != decode.Entry || o.Path == "" {
		return nil // by a descriptor
	}
	if r.Magic == resolve.MagicFD && threadGroup(r.MagicPID) == s.proc.pid {
		return nil // one of its own descriptors, by name
	}
	path, pin, flags := o.Path, r.FD, uint64(unix.O_PATH|unix.O_CLOEXEC)
	if o.Kind == decode.Entry || pin < 0 {
		path, pin = strings.TrimRight(path, "/"), r.Parent
		path = path[:strings.LastIndexByte(path, '/')+1] + "."
	} else if o.NoFollow {
		flags |= unix.O_NOFOLLOW
	}
	how := unix.OpenHow{Flags: flags, Resolve: o.How &^ resolveCached}
	fd, err := unix.Openat2(start, path, &how)
	for tries := 0; errors.Is(err, unix.EAGAIN) && tries < 100; tries++ { // a ".." while somebody renamed
		fd, err = unix.Openat2(start, path, &how)
	}
	if err != nil {
		return unix.EACCES
	}
	defer unix.Close(fd)
	var want, got unix.Stat_t
	if unix.Fstat(fd, &got) != nil || unix.Fstat(pin, &want) != nil || got.Dev != want.Dev || got.Ino != want.Ino {
		return unix.EACCES // what the words mean to the task only, as /proc/self/cwd/x does
	}
	return nil
}

// errLimit: the act would make a file longer than the task's limit.
var errLimit = errors.New("beyond RLIMIT_FSIZE")

// canTakeOn tells whether the rights of a task can be taken on.
func (l *loop) canTakeOn(c *credentials) bool {
	if l.ownRights(c) {
		return true
	}
	restore, err := l.takeOn(c)
	restore()
	return err == nil
}

// takeOn gives the calling thread the file system rights of a task. restore undoes what has
// been done, and panics if that fails: with another's rights nothing may be decided. All of
// these are calls on the thread alone.
func (l *loop) takeOn(c *credentials) (restore func(), err error) {
	restore = func() {
		errs := []error{setCaps(l.own.caps)}
		setfsid(syscall.SYS_SETFSUID, l.own.fsuid)
		setfsid(syscall.SYS_SETFSGID, l.own.fsgid)
		errs = append(errs, setGroups(l.own.groups), setCaps(l.own.caps)) // a change of fsuid drops some
		// An id that there cannot be changes nothing and tells the one that holds (setfsuid(2)).
		uid, gid := setfsid(syscall.SYS_SETFSUID, -1), setfsid(syscall.SYS_SETFSGID, -1)
		if err := errors.Join(errs...); err != nil || uid != l.own.fsuid || gid != l.own.fsgid {
			panic(fmt.Sprintf("take back ptguard's own rights: fsuid %d, fsgid %d: %v", uid, gid, err))
		}
	}
	if err := setGroups(c.groups); err != nil {
		return restore, err
	}
	setfsid(syscall.SYS_SETFSGID, c.fsgid)
	setfsid(syscall.SYS_SETFSUID, c.fsuid)
	if err := setCaps(c.caps & l.own.caps); err != nil {
		return restore, err
	}
	if c.caps&^l.own.caps != 0 {
		return restore, unix.EPERM // it has rights that we lack
	}
	now, err := readCredentials(unix.Gettid())
	if err != nil {
		return restore, err
	}
	if now.fsuid != c.fsuid || now.fsgid != c.fsgid || now.groups != c.groups || now.caps != c.caps {
		return restore, unix.EPERM
	}
	return restore, nil
}

// pinPath names what a descriptor of ours pins; following it reaches just that.
func pinPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func performUnlink(l *loop, _ stopped) (deed, error) { return l.unlink(0), nil }
func performRmdir(l *loop, _ stopped) (deed, error)  { return l.unlink(unix.AT_REMOVEDIR), nil }

func performUnlinkat(l *loop, _ stopped) (deed, error) {
	flags := uint32(l.call.Args[2])
	if flags&^unix.AT_REMOVEDIR != 0 {
		return deed{}, unix.EINVAL
	}
	return l.unlink(int(flags)), nil
}

func (l *loop) unlink(flags int) deed {
	return deed{kind: deedUnlink, at: &l.judged[0].resolved, flags: uint32(flags)}
}

// unpin lets go of an object that the act may remove: while we hold it, the kernel can tell
// nobody that it is gone (IN_DELETE_SELF), nor give its space back.
func unpin(r *resolve.Object) {
	if r.FD >= 0 {
		unix.Close(r.FD)
		r.FD = -1
	}
}

// entryName is the last component, with the slash that asks for a directory.
func entryName(r *resolve.Object) string {
	if r.Slash {
		return r.Name + "/"
	}
	return r.Name
}

func performMkdir(l *loop, s stopped) (deed, error) {
	r := &l.judged[0].resolved
	mode := l.newMode(s, r.Parent, l.lastWord(decode.Entry))
	return deed{kind: deedMkdir, at: r, flags: mode}, nil
}

func performMknod(l *loop, s stopped) (deed, error) {
	r := &l.judged[0].resolved
	mode := l.lastWord(decode.Entry)
	mode = mode&unix.S_IFMT | l.newMode(s, r.Parent, mode&^unix.S_IFMT)
	return deedOf(func() error { return unix.Mknodat(r.Parent, entryName(r), mode, 0) }), nil
}

// newMode applies the task's umask, as ours is 0: unless the directory has a default access
// control list, which takes the place of the umask (acl(5)).
func (l *loop) newMode(s stopped, parent int, mode uint32) uint32 {
	mode &= 0o7777
	if hasDefaultACL(parent) {
		return mode
	}
	return mode &^ umask(s)
}

// lastWord is the argument after the last one of a kind.
func (l *loop) lastWord(kind decode.Kind) uint32 {
	at := 0
	for i, arg := range l.call.Row.Args {
		if arg.Kind == kind {
			at = i + 1
		}
	}
	return uint32(l.call.Args[at])
}

func performSymlink(l *loop, s stopped) (deed, error) {
	r := &l.judged[0].resolved
	target, err := decode.ReadPath(memory{s.tid}, l.call.Args[0])
	if err != nil {
		return deed{}, err
	}
	return deedOf(func() error { return unix.Symlinkat(target, r.Parent, entryName(r)) }), nil
}

func performRename(l *loop, _ stopped) (deed, error) {
	from, to := &l.judged[0].resolved, &l.judged[1].resolved
	flags := uint(0)
	if l.call.Row.Name == "renameat2" {
		flags = uint(uint32(l.call.Args[4]))
	}
	return deed{kind: deedRename, at: from, to: to, flags: uint32(flags)}, nil
}

func performLink(l *loop, _ stopped) (deed, error) {
	from, to := &l.judged[0].resolved, &l.judged[1].resolved
	if l.call.Row.Name == "linkat" {
		if flags := uint32(l.call.Args[4]); flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return deed{}, unix.EINVAL
		}
	}
	return deedOf(func() error {
		// Following our own magic link reaches the pinned object, a link included.
		return unix.Linkat(unix.AT_FDCWD, pinPath(from.FD), to.Parent, entryName(to), unix.AT_SYMLINK_FOLLOW)
	}), nil
}

// performTruncate looks after the limit of the task, which ours is not. It is run apart: it
// may have to wait for as long as /proc/sys/fs/lease-break-time says, for a lease that the
// tree holds.
func performTruncate(l *loop, s stopped) (deed, error) {
	r := &l.judged[0].resolved
	size := int64(l.call.Args[1])
	if size < 0 {
		return deed{}, unix.EINVAL
	}
	limit := fileSizeLimit(s.tid)
	return deedOf(func() error {
		var st unix.Stat_t
		if err := unix.Fstat(r.FD, &st); err != nil {
			return err
		}
		// The limit is looked at last, and only when the file would grow.
		if st.Mode&unix.S_IFMT == unix.S_IFREG && size > st.Size && uint64(size) > limit {
			if err := unix.Faccessat(unix.AT_FDCWD, pinPath(r.FD), unix.W_OK, unix.AT_EACCESS); err != nil {
				return err
			}
			return errLimit
		}
		return unix.Truncate(pinPath(r.FD), size)
	}), nil
}

// fileSizeLimit is RLIMIT_FSIZE of a task. prlimit(2) would want CAP_SYS_RESOURCE for a task
// of another user, which root in a container lacks.
func fileSizeLimit(tid int) uint64 {
	text, err := readfile.All(procPath(tid, "limits"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Max file size"); ok {
			soft, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return math.MaxUint64 // "unlimited"
			}
			return soft
		}
	}
	return 0
}

// heldFD tells what is wrong with the descriptor of a call on one: an O_PATH descriptor is
// none for these (open(2)), though we could act on what it names.
func heldFD(s stopped, o *decode.Object) error {
	if o.Kind != decode.FD {
		return nil
	}
	// The mode of the magic link says what it is open for (proc_pid_fd(5)): nothing with O_PATH,
	// and with the access mode 3, which the flags tell apart. It is one system call, not four.
	var st unix.Stat_t
	if err := unix.Lstat(procPath(s.tid, "fd/"+strconv.Itoa(int(o.Dirfd))), &st); err == nil && st.Mode&(unix.S_IRUSR|unix.S_IWUSR) != 0 {
		return nil
	}
	if flags, ok := heldFlags(s.tid, int(o.Dirfd)); ok && flags&unix.O_PATH == 0 {
		return nil
	}
	return unix.EBADF
}

// heldFlags are the open flags of a descriptor of a task (proc_pid_fdinfo(5)).
func heldFlags(tid, fd int) (flags uint64, ok bool) {
	text, err := readfile.All(procPath(tid, "fdinfo/"+strconv.Itoa(fd)))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(rest), 8, 32)
			return flags, err == nil
		}
	}
	return 0, false
}

func performChmod(l *loop, s stopped) (deed, error) {
	j := &l.judged[0]
	mode := uint32(l.call.Args[1])
	switch l.call.Row.Name {
	case "fchmodat":
		mode = uint32(l.call.Args[2])
	case "fchmodat2":
		if flags := uint32(l.call.Args[3]); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return deed{}, unix.EINVAL
		}
		mode = uint32(l.call.Args[2])
	}
	if j.resolved.Stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return deed{}, unix.EOPNOTSUPP // links have no mode (fchmodat(2))
	}
	return deed{kind: deedChmod, at: &j.resolved, flags: mode & 0o7777}, heldFD(s, j.object)
}

func performChown(l *loop, s stopped) (deed, error) {
	j := &l.judged[0]
	uid, gid := l.call.Args[1], l.call.Args[2]
	if l.call.Row.Name == "fchownat" {
		if flags := uint32(l.call.Args[4]); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return deed{}, unix.EINVAL
		}
		uid, gid = l.call.Args[2], l.call.Args[3]
	}
	return deedOf(func() error {
		return unix.Fchownat(j.resolved.FD, "", int(int32(uid)), int(int32(gid)), unix.AT_EMPTY_PATH)
	}), heldFD(s, j.object)
}

// performUtime covers the four forms; the times are copied once.
func performUtime(l *loop, s stopped) (deed, error) {
	r := &l.judged[0].resolved
	at, form := l.call.Args[1], l.call.Row.Name
	switch form {
	case "futimesat":
		at = l.call.Args[2]
	case "utimensat":
		if flags := uint32(l.call.Args[3]); flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return deed{}, unix.EINVAL
		}
		at = l.call.Args[2]
	}
	if err := heldFD(s, l.judged[0].object); err != nil {
		return deed{}, err
	}
	if at == 0 {
		return deedOf(func() error { return utimens(r.FD, nil) }), nil
	}
	var raw [32]byte
	size := len(raw)
	if form == "utime" {
		size = 16 // struct utimbuf: seconds only
	}
	if err := readAll(s.tid, raw[:size], at); err != nil {
		return deed{}, unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(raw[8*i:])) }
	var ts [2]unix.Timespec
	switch form {
	case "utime":
		ts[0].Sec, ts[1].Sec = word(0), word(1)
	case "utimensat":
		ts = [2]unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}
	default: // struct timeval
		for i := range ts {
			us := word(2*i + 1)
			if us < 0 || us >= 1e6 {
				return deed{}, unix.EINVAL
			}
			ts[i] = unix.Timespec{Sec: word(2 * i), Nsec: us * 1000}
		}
	}
	return deedOf(func() error { return utimens(r.FD, &ts) }), nil
}

// maxXattr is XATTR_SIZE_MAX of linux/limits.h.
const maxXattr = 1 << 16

func performSetxattr(l *loop, s stopped) (deed, error) {
	return l.setXattr(s, l.call.Args[1], l.call.Args[2], l.call.Args[3], int(int32(l.call.Args[4])))
}

func (l *loop) setXattr(s stopped, nameAt, valueAt, size uint64, flags int) (deed, error) {
	j := &l.judged[0]
	name, err := decode.ReadXattrName(memory{s.tid}, nameAt)
	if err != nil {
		return deed{}, err
	}
	if size > maxXattr {
		return deed{}, unix.E2BIG
	}
	value := make([]byte, size)
	if size > 0 && readAll(s.tid, value, valueAt) != nil {
		return deed{}, unix.EFAULT
	}
	return deedOf(func() error { return unix.Setxattr(pinPath(j.resolved.FD), name, value, flags) }), heldFD(s, j.object)
}

func performRemovexattr(l *loop, s stopped) (deed, error) {
	j := &l.judged[0]
	name, err := decode.ReadXattrName(memory{s.tid}, l.call.Args[1])
	if err != nil {
		return deed{}, err
	}
	return deedOf(func() error { return unix.Removexattr(pinPath(j.resolved.FD), name) }), heldFD(s, j.object)
}

// performSetxattrat: struct xattr_args of linux/xattr.h is value, size, flags.
func performSetxattrat(l *loop, s stopped) (deed, error) {
	const atFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH
	size := l.call.Args[5]
	switch {
	case uint32(l.call.Args[2])&^atFlags != 0, size < 16:
		return deed{}, unix.EINVAL
	case size > pageSize:
		return deed{}, unix.E2BIG
	}
	raw := make([]byte, size)
	if readAll(s.tid, raw, l.call.Args[4]) != nil {
		return deed{}, unix.EFAULT
	}
	for _, b := range raw[16:] {
		if b != 0 {
			return deed{}, unix.E2BIG
		}
	}
	return l.setXattr(s, l.call.Args[3], binary.NativeEndian.Uint64(raw), uint64(binary.NativeEndian.Uint32(raw[8:])), int(int32(binary.NativeEndian.Uint32(raw[12:]))))
}

func performRemovexattrat(l *loop, s stopped) (deed, error) {
	j := &l.judged[0]
	if uint32(l.call.Args[2])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return deed{}, unix.EINVAL
	}
	name, err := decode.ReadXattrName(memory{s.tid}, l.call.Args[3])
	if err != nil {
		return deed{}, err
	}
	return deedOf(func() error { return unix.Removexattr(pinPath(j.resolved.FD), name) }), heldFD(s, j.object)
}

func performSetattr(l *loop, s stopped) (deed, error) {
	j := &l.judged[0]
	size := l.call.Args[3]
	switch {
	case uint32(l.call.Args[4])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0, size < 24:
		return deed{}, unix.EINVAL // sizeof(struct file_attr), first version
	case size > pageSize:
		return deed{}, unix.E2BIG
	}
	raw := make([]byte, size)
	if readAll(s.tid, raw, l.call.Args[2]) != nil {
		return deed{}, unix.EFAULT
	}
	return deedOf(func() error { return setFileAttr(j.resolved.FD, raw) }), nil
}
