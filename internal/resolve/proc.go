// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// procRootIno is the inode of the root of every proc file system (PROC_ROOT_INO).
const procRootIno = 1

// procBlock is st_blksize on every proc file system, and on nothing else with an anonymous
// device that is common: it saves a fstatfs.
const procBlock = 1024

// procView is our own /proc and "/", opened once, before anything runs that could mount
// over them, and what is constant about them.
type procView struct {
	root, proc, self int
	dev              uint64
	selfIno, taskIno uint64 // of the links self and thread-self, equal on every proc file system
	pid              string
	memfdDev         uint64
}

var openView = sync.OnceValues(newView)

func newView() (*procView, error) {
	open := func(dir int, name string) (int, error) {
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, fmt.Errorf("open %s: %w", name, err)
		}
		return fd, nil
	}
	v := &procView{pid: strconv.Itoa(os.Getpid())}
	var err error
	if v.root, err = open(unix.AT_FDCWD, "/"); err != nil {
		return nil, err
	}
	if v.proc, err = open(v.root, "proc"); err != nil {
		return nil, err
	}
	if err := v.check(); err != nil {
		return nil, fmt.Errorf("check /proc: %w", err)
	}
	if v.self, err = open(v.proc, v.pid+"/fd"); err != nil {
		return nil, err
	}
	fd, err := unix.Openat2(v.root, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: noLinks})
	if err != nil {
		return nil, fmt.Errorf("openat2: %w", err)
	}
	closeFD(fd)
	if fd, err = unix.MemfdCreate("ptguard", unix.MFD_CLOEXEC); err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("stat memfd: %w", err)
	}
	v.memfdDev = st.Dev
	return v, nil
}

// check makes sure that proc is the root of a proc file system of our pid name space, and
// learns its device and the inodes of self and thread-self.
func (v *procView) check() error {
	var sfs unix.Statfs_t
	if err := unix.Fstatfs(v.proc, &sfs); err != nil {
		return fmt.Errorf("statfs: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(v.proc, &st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if sfs.Type != unix.PROC_SUPER_MAGIC || st.Ino != procRootIno {
		return errors.New("not the root of a proc file system")
	}
	v.dev = st.Dev
	var buf [64]byte
	n, err := unix.Readlinkat(v.proc, "self", buf[:])
	if err != nil {
		return fmt.Errorf("read link self: %w", err)
	}
	if string(buf[:n]) != v.pid {
		return errors.New("of another pid name space")
	}
	if err := unix.Fstatat(v.proc, "self", &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("stat self: %w", err)
	}
	v.selfIno = st.Ino
	if err := unix.Fstatat(v.proc, "thread-self", &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("stat thread-self: %w", err)
	}
	v.taskIno = st.Ino
	return nil
}

// procLink says what the link name in cur, on a proc file system, is to the task: the text
// of an ordinary link, or a magic link. text is what we read ourselves.
func (w *walk) procLink(name, text string) (string, bool, syscall.Errno, error) {
	var st unix.Stat_t
	if errno := w.fstatat(w.cur, name, &st); errno != 0 {
		return "", false, errno, nil
	}
	tgid := strconv.Itoa(w.task.TGID)
	switch st.Ino {
	case w.view.selfIno:
		if text != w.view.pid {
			return "", false, 0, errors.New("read link self: proc of another pid name space")
		}
		return tgid, false, 0, nil
	case w.view.taskIno:
		if !strings.HasPrefix(text, w.view.pid+"/task/") {
			return "", false, 0, errors.New("read link thread-self: proc of another pid name space")
		}
		return tgid + "/task/" + strconv.Itoa(w.task.TID), false, 0, nil
	}
	// The kernel says which links are magic. Ordinary ones (mounts, net) lead through our
	// own self here, which is there as surely as the task's.
	fd, errno := w.openat(w.cur, name, 0, unix.RESOLVE_NO_MAGICLINKS)
	if errno == unix.ELOOP {
		return "", true, 0, nil
	}
	closeFD(fd)
	return text, false, errno, nil
}

// heldFlags notes what the magic link name in cur stands for; pin is what it led to. The
// number may stand for another descriptor by now, whose flags must not count: both are asked
// for inode and mount.
func (w *walk) heldFlags(pin int, hop, name string) (syscall.Errno, error) {
	o := w.o
	o.Magic, o.MagicPID, o.MagicFD, o.HeldFlags = MagicOther, 0, 0, 0
	dir := strings.TrimSuffix(hop, "/"+name)
	if baseName(dir) != "fd" {
		return 0, nil
	}
	pid, err := strconv.Atoi(baseName(strings.TrimSuffix(dir, "/fd")))
	if err != nil {
		return 0, fmt.Errorf("magic link %s: no process id", hop)
	}
	if o.MagicFD, err = strconv.Atoi(name); err != nil {
		return 0, fmt.Errorf("magic link %s: no descriptor number", hop)
	}
	o.Magic, o.MagicPID = MagicFD, pid
	var room [2][512]byte
	info, err := readAt(w.cur, "../fdinfo/"+name, room[0][:])
	if err == unix.ENOENT { //nolint:errorlint // closed meanwhile
		return unix.ENOENT, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read fdinfo of %s: %w", hop, err)
	}
	own, err := readAt(w.view.proc, "self/fdinfo/"+strconv.Itoa(pin), room[1][:])
	if err != nil {
		return 0, fmt.Errorf("read fdinfo of %d: %w", pin, err)
	}
	o.HeldFlags = unix.O_PATH                         // grants nothing
	for _, key := range []string{"ino:", "mnt_id:"} { // ino: Linux 5.14
		there, ok := field(info, key)
		if here, _ := field(own, key); !ok || here != there {
			return 0, nil
		}
	}
	flags, ok := field(info, "flags:")
	held, err := strconv.ParseInt(flags, 8, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("read fdinfo of %s: no flags", hop)
	}
	o.HeldFlags = int(held)
	return 0, nil
}

// readAt reads the beginning of a small file.
func readAt(dir int, name string, buf []byte) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer closeFD(fd)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// field finds the value of a "key:\tvalue" line.
func field(text []byte, key string) (string, bool) {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(key)); ok {
			return string(bytes.TrimSpace(value)), true
		}
	}
	return "", false
}

// readFile reads a small file below our /proc.
func (v *procView) readFile(name string) ([]byte, error) {
	fd, err := unix.Openat(v.proc, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc/%s: %w", name, err)
	}
	defer closeFD(fd)
	var text []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read /proc/%s: %w", name, err)
		}
		if n == 0 {
			return text, nil
		}
		text = append(text, buf[:n]...)
	}
}

// strangersLink says whether fs.protected_symlinks keeps a task from a link of owner that
// lies in a sticky, world-writable directory of somebody else.
func (v *procView) strangersLink(tid int, owner uint32) (bool, error) {
	on, err := v.readFile("sys/fs/protected_symlinks")
	if err != nil {
		return false, err
	}
	if strings.TrimSpace(string(on)) == "0" {
		return false, nil
	}
	status, err := v.readFile(strconv.Itoa(tid) + "/status")
	if err != nil {
		return false, err
	}
	uids, _ := field(status, "Uid:")
	ids := strings.Fields(uids) // real, effective, saved, file system
	if len(ids) != 4 {
		return false, fmt.Errorf("read /proc/%d/status: no Uid line", tid)
	}
	return ids[3] != strconv.FormatUint(uint64(owner), 10), nil
}

// onProc says whether fd lies on a proc file system.
func (w *walk) onProc(fd int, st *unix.Stat_t) bool {
	if st.Dev == w.view.dev {
		return true
	}
	if st.Blksize != procBlock || unix.Major(st.Dev) != 0 {
		return false
	}
	var sfs unix.Statfs_t
	return fstatfs(fd, &sfs) == 0 && sfs.Type == unix.PROC_SUPER_MAGIC
}

// ofProcess sets ProcPID if fd lies on a proc file system.
func (w *walk) ofProcess(fd int, st *unix.Stat_t) error {
	if !w.onProc(fd, st) {
		return nil
	}
	o := w.o
	inside, ok := strings.CutPrefix(o.Path, "/proc/")
	if !ok || st.Dev != w.view.dev {
		// Mounted elsewhere, perhaps only a part of it: the mount table knows the part.
		m, err := w.view.mountOf(fd)
		if err != nil {
			return err
		}
		inside = strings.TrimPrefix(m.root+strings.TrimPrefix(o.Path, m.point), "/")
		inside = strings.TrimPrefix(inside, "/")
	}
	first, _, _ := strings.Cut(inside, "/")
	if pid, err := strconv.Atoi(first); err == nil && pid > 0 {
		o.ProcPID = pid
	}
	return nil
}

// mount is a line of mountinfo (proc_pid_mountinfo(5)): the part of a file system that is
// mounted, and where.
type mount struct{ id, root, point string }

// mountOf finds the mount of fd in our name space; id is "" if it is not there.
func (v *procView) mountOf(fd int) (mount, error) {
	var st unix.Statx_t
	if err := mountStat(fd, &st); err != nil {
		return mount{}, err
	}
	text, err := v.readFile(v.pid + "/mountinfo")
	if err != nil {
		return mount{}, err
	}
	id := strconv.FormatUint(st.Mnt_id, 10)
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) > 4 && string(f[0]) == id {
			return mount{id, unescape(string(f[3])), unescape(string(f[4]))}, nil
		}
	}
	return mount{}, nil
}

// unescape undoes the \ooo of mountinfo.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b = append(b, byte(c))
				i += 3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}
