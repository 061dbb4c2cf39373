// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/internal/image"
	"ptguard/internal/resolve"
)

// A file system that is served by another program or machine (FUSE, NFS) may never answer,
// and whoever has asked it then waits, whatever happens: measured on Linux 6.18, neither a
// signal nor SIGKILL of the asker nor the end of the process whose page it wants brings it
// back. So the tracer thread asks no such file system anything. Before it follows a name or
// reads a page of a mapped file there, it leaves the task in its stop, as the task itself
// would wait in its call, and has another thread ask. When that has the answer the call is
// looked at again from its beginning, with the answer at hand.

// localTypes are the file systems whose answers come from this kernel and its disks. What is
// not listed is taken to be served.
var localTypes = strings.Fields(`adfs affs bcachefs befs bfs binfmt_misc bpf btrfs cgroup cgroup2 configfs cpuset cramfs
	debugfs devpts devtmpfs ecryptfs efivarfs efs erofs exfat ext2 ext3 ext4 f2fs fusectl hfs hfsplus hpfs hugetlbfs
	iso9660 jffs2 jfs minix mqueue msdos nfsd nilfs2 ntfs ntfs3 omfs overlay proc pstore qnx6 ramfs reiserfs resctrl
	romfs rootfs rpc_pipefs securityfs selinuxfs smackfs squashfs sysfs tmpfs tracefs ubifs udf ufs vfat xfs zfs zonefs`)

// served are the devices of the served file systems that are mounted where we are; nil if
// there are none, which costs the allow path nothing. Somebody outside may mount another at
// any time. The one that "/" is on is not counted: nothing runs without it anyway.
var served atomic.Pointer[map[uint64]bool]

// mountChanges counts the changes of the mounts where we are.
var mountChanges atomic.Uint64

func isServed(dev uint64) bool {
	devices := served.Load()
	return devices != nil && (*devices)[dev]
}

// readServed reads the mounts (proc_pid_mountinfo(5)) from an open file.
func readServed(mounts int) (text []byte, err error) {
	text = make([]byte, 0, 1<<13)
	for {
		text = slices.Grow(text, 1<<12)
		n, err := unix.Pread(mounts, text[len(text):cap(text)], int64(len(text)))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return text, noteServed(text)
		default:
			text = text[:len(text)+n]
		}
	}
}

// noteServed finds the served file systems among the mounts.
func noteServed(text []byte) error {
	devices, root := map[uint64]bool{}, uint64(0)
	for line := range strings.Lines(string(text)) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		kind, _, _ := strings.Cut(after, " ")
		if !ok || len(fields) < 5 {
			return fmt.Errorf("find the served file systems: %q", line)
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		a, errA := strconv.ParseUint(major, 10, 32)
		b, errB := strconv.ParseUint(minor, 10, 32)
		if errA != nil || errB != nil {
			return fmt.Errorf("find the served file systems: %q", line)
		}
		dev := unix.Mkdev(uint32(a), uint32(b))
		if fields[4] == "/" {
			root = dev
		}
		if !slices.Contains(localTypes, kind) {
			devices[dev] = true
		}
	}
	if delete(devices, root); len(devices) == 0 {
		served.Store(nil)
		return nil
	}
	served.Store(&devices)
	return nil
}

// mountsAgain is the time between two looks at the mounts where they cannot be waited for.
const mountsAgain = 100 * time.Millisecond

// watchMounts finds the served file systems, now and whenever the mounts change, and gives the
// mounts as they are.
func watchMounts() ([]byte, error) {
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	var text []byte
	if err == nil {
		text, err = readServed(mounts)
	}
	if err != nil {
		return nil, fmt.Errorf("find the served file systems: /proc/self/mountinfo: %w", err)
	}
	go func() {
		for {
			polled := []unix.PollFd{{Fd: int32(mounts), Events: unix.POLLPRI}}
			_, err := unix.Poll(polled, -1) // EINVAL with RLIMIT_NOFILE 0
			mountChanges.Add(1)
			if _, unread := readServed(mounts); unread != nil || err != nil && !errors.Is(err, unix.EINTR) {
				time.Sleep(mountsAgain) // what cannot be read leaves what was known
			}
		}
	}()
	return text, nil
}

// findings are what other threads have found out for one call of a task; they are kept until
// it is resumed.
type findings struct {
	// want is what has to be found out first; nothing may be concluded while it is set.
	want  func() (found func(*findings))
	what  string
	pages map[uint64]page
	paths []pathAnswer
	heads map[fileID]head
	dirs  map[string]fileID // see directoryFor
}

type page struct {
	data []byte
	err  error
}

type pathAnswer struct {
	dirfd  int
	path   string
	flags  resolve.Flags
	object *resolve.Object
	err    error
}

type head struct {
	next image.Follower
	err  error
}

// finding are the findings by thread id. Tracer thread only.
var finding = map[int]*findings{}

// errLater: the answer is not known yet.
var errLater = errors.New("a served file system has to be asked first")

func findingsOf(tid int) *findings {
	a := finding[tid]
	if a == nil {
		a = &findings{pages: map[uint64]page{}, heads: map[fileID]head{}}
		finding[tid] = a
	}
	return a
}

func (a *findings) close() {
	for i := range a.paths {
		if a.paths[i].object != nil {
			a.paths[i].object.Close()
		}
	}
}

// forgetFindings ends what was found out for a call.
func forgetFindings(tid int) {
	if a := finding[tid]; a != nil {
		a.close()
		delete(finding, tid)
	}
}

// reachedServed tells whether the call at hand of a task leads to a served file system.
func reachedServed(tid int) bool {
	a := finding[tid]
	return a != nil && len(a.paths) > 0
}

// askers bounds the threads that wait for served file systems.
var askers = make(chan struct{}, 64)

// findFirst has what is wanted for the call that s is stopped at found out, and then again called.
// False: nothing is wanted.
func (l *loop) findFirst(s stopped, again func(stopped)) bool {
	a := finding[s.tid]
	if a == nil || a.want == nil {
		return false
	}
	want := a.want
	a.want = nil
	s.task.waits = a.what
	go func() {
		askers <- struct{}{}
		found := want()
		<-askers
		l.post(func() {
			if !l.waits(s) || finding[s.tid] != a {
				late := findings{pages: map[uint64]page{}, heads: map[fileID]head{}}
				found(&late)
				late.close()
				return
			}
			s.task.waits = ""
			found(a)
			again(s)
		})
	}()
	return true
}

// resolveFor is Resolve for a stopped task, without a question to a served file system.
func (l *loop) resolveFor(o *resolve.Object, t resolve.Task, dirfd int, path string, flags resolve.Flags) error {
	l.noteMounts()
	if served.Load() == nil {
		l.resolve.Avoid(nil)
		return l.resolve.Resolve(o, t, dirfd, path, flags)
	}
	if a := finding[t.TID]; a != nil {
		for _, p := range a.paths {
			if p.dirfd == dirfd && p.path == path && p.flags == flags {
				if p.err != nil {
					return p.err
				}
				return p.object.Copy(o)
			}
		}
	}
	l.resolve.Avoid(isServed)
	err := l.resolve.Resolve(o, t, dirfd, path, flags)
	if !errors.Is(err, resolve.ErrServed) {
		return err
	}
	a := findingsOf(t.TID)
	a.what = "the file system of " + path
	a.want = func() func(*findings) {
		p := pathAnswer{dirfd: dirfd, path: path, flags: flags}
		p.object, p.err = resolve.Resolve(t, dirfd, path, flags)
		return func(a *findings) { a.paths = append(a.paths, p) }
	}
	return errLater
}

// nextImage is image.Next of a file that may be on a served file system.
func nextImage(tid int, o *resolve.Object) (image.Follower, error) {
	if !isServed(o.Stat.Dev) {
		return image.Next(o.FD)
	}
	id, a := fileID{o.Stat.Dev, o.Stat.Ino}, findingsOf(tid)
	if h, ok := a.heads[id]; ok {
		return h.next, h.err
	}
	fd, err := unix.FcntlInt(uintptr(o.FD), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return image.Follower{}, err
	}
	a.what = "the file system of " + o.Path
	a.want = func() func(*findings) {
		var h head
		h.next, h.err = image.Next(fd)
		unix.Close(fd)
		return func(a *findings) { a.heads[id] = h }
	}
	return image.Follower{}, errLater
}

// stalledPage reads what lies at addr if a page of a served file is mapped there; ok is false
// if not, and then room is how far buf may be read without coming to one. What the other
// thread has read of a page is what counts from then on.
func stalledPage(tid int, buf []byte, addr uint64) (n int, ok bool, room int, err error) {
	if served.Load() == nil || addr>>63 != 0 {
		return 0, false, len(buf), nil
	}
	m, err := mappingAt(tid, addr)
	if errors.Is(err, unix.ENOENT) {
		return 0, false, len(buf), nil // nothing is mapped there
	}
	if err != nil {
		return 0, true, 0, unix.EFAULT // it may be one, and nobody could end the waiting
	}
	if m.ino == 0 || !isServed(m.dev) {
		return 0, false, int(min(uint64(len(buf)), m.end-addr)), nil
	}
	start := addr &^ (pageSize - 1)
	a := findingsOf(tid)
	if p, known := a.pages[start]; known {
		if p.err != nil {
			return 0, true, 0, p.err
		}
		return copy(buf, p.data[addr-start:]), true, 0, nil
	}
	a.what = "a page of a file on a served file system"
	a.want = func() func(*findings) {
		p := page{data: make([]byte, pageSize)}
		n, err := memory{tid}.read(p.data, start)
		if err == nil && n < pageSize {
			err = unix.EFAULT
		}
		p.err = err
		return func(a *findings) { a.pages[start] = p }
	}
	return 0, true, 0, errLater
}

// apart carries out an act on another thread, for it may have to wait: for a served file
// system, or for the holder of a lease. That thread takes on the task's rights and ends.
func (l *loop) apart(s stopped, c *credentials, what string, act deed, done func(stopped, error)) {
	judged := l.judged
	l.judged = nil // closed by the other thread
	for i := range judged {
		o := *judged[i].object // the call at hand will soon be another
		judged[i].object = &o
	}
	s.task.waits = what
	l.acts++
	go func() {
		askers <- struct{}{}
		runtime.LockOSThread() // for good: nobody else shall have these rights
		entered := false
		foreign, err := l.actAs(s, c, judged, deedOf(func() error {
			if !entered { // only now: from there the task cannot be looked at
				entered = true
				if err := l.goInside(true); err != nil {
					return err
				}
			}
			return act.do()
		}))
		<-askers
		for i := range judged {
			judged[i].resolved.Close()
		}
		if foreign {
			err = unix.EACCES
		}
		l.post(func() {
			if l.acts--; l.acts == 0 && l.walks == 0 {
				l.releaseChanges()
			}
			if !l.waits(s) {
				done(stopped{}, err)
				return
			}
			s.task.waits = ""
			done(s, err)
		})
	}()
}
