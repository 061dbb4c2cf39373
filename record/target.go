// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A target is a descriptor that lines go to, as --trace and --log name it.
//
// It is written with write(2), not through os.File: os.File kills the process with SIGPIPE
// after EPIPE on descriptors 1 and 2, and ptguard's death would take the tree with it.
type target struct {
	name     string // as people wrote it
	fd       int    // -1 for none
	path     string // of a FILE, else empty
	stream   bool   // a pipe, socket, terminal: a write may wait for somebody
	terminal bool
	stat     unix.Stat_t
}

// openTarget opens FILE (appending, made with mode 0600), fd:N, - (standard error),
// unix:PATH (a listening stream socket) or none. The descriptor is our own and close-on-exec.
func openTarget(spec string) (*target, error) {
	t := &target{name: spec, fd: -1}
	var err error
	switch n, isFD := Descriptor(spec); {
	case spec == "":
		return nil, errors.New("no file is named")
	case spec == "none":
		return t, nil
	case isFD:
		err = t.dup(n)
	case strings.HasPrefix(spec, "fd:"):
		return nil, fmt.Errorf("%q is not a descriptor (fd:N)", spec)
	case strings.HasPrefix(spec, "unix:"):
		err = t.connect(spec[len("unix:"):])
	default:
		err = t.open(spec)
	}
	if err != nil {
		return nil, err
	}
	if err := t.classify(); err != nil {
		_ = t.close() // the error that led here is the one to tell
		return nil, err
	}
	return t, nil
}

// Descriptor recognises the names of our own descriptors, as Open and OpenLog take them: fd:N, -
// and those in /dev and /proc, which are links, and are what people are used to write.
func Descriptor(spec string) (int, bool) {
	switch spec {
	case "-", "/dev/stderr":
		return 2, true
	case "/dev/stdout":
		return 1, true
	}
	for _, prefix := range []string{"fd:", "/dev/fd/", "/proc/self/fd/"} {
		if rest, ok := strings.CutPrefix(spec, prefix); ok {
			n, err := strconv.ParseUint(rest, 10, 31)
			return int(n), err == nil
		}
	}
	return 0, false
}

func (t *target) dup(n int) error {
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err != nil {
		return fmt.Errorf("descriptor %d: %w", n, err)
	}
	if flags&unix.O_ACCMODE == unix.O_RDONLY || flags&unix.O_PATH != 0 {
		return fmt.Errorf("descriptor %d is not open for writing", n)
	}
	if t.fd, err = unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3); err != nil {
		return fmt.Errorf("descriptor %d: %w", n, err)
	}
	return nil
}

// open refuses a last component that is a link, and a file that has a second name: the
// work folder is the tree's, and an earlier run could have laid either there to have the
// trace appended to a file outside. A FIFO is opened when a reader comes (fifo(7)).
func (t *target) open(path string) error {
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NOFOLLOW
	fd, err := unix.Open(path, flags, 0o600)
	for err == unix.EINTR {
		fd, err = unix.Open(path, flags, 0o600)
	}
	if err == unix.ELOOP {
		if to, e := os.Readlink(path); e == nil {
			return fmt.Errorf("open %s: it is a symbolic link; name the file that it leads to (%s)", Escape(path), Escape(to))
		}
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", Escape(path), err)
	}
	t.fd, t.path = fd, path
	return nil
}

func (t *target) connect(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("connect %s: %w", Escape(path), err)
	}
	if t.fd = fd; !strings.HasPrefix(path, "@") { // an abstract name of others is closed anyway
		t.path = path // who else connects to it could write records of his own
	}
	return nil
}

// classify finds out whether a write can wait for somebody else.
func (t *target) classify() error {
	if err := unix.Fstat(t.fd, &t.stat); err != nil {
		return fmt.Errorf("stat %s: %w", Escape(t.name), err)
	}
	switch t.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if t.path != "" && t.stat.Nlink > 1 {
			return fmt.Errorf("open %s: the file has %d names (hard links); name a file of its own", Escape(t.path), t.stat.Nlink)
		}
	case unix.S_IFIFO, unix.S_IFSOCK:
		t.stream = true
	case unix.S_IFCHR:
		_, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
		t.terminal = err == nil
		// Major 1 is /dev/null, /dev/full and kin (devices.txt): they answer at once.
		t.stream = unix.Major(t.stat.Rdev) != 1
	case unix.S_IFBLK:
	default:
		// Descriptors of the Go runtime (epoll, eventfd) have no type: not inherited ones.
		return fmt.Errorf("%s is not a file, pipe, socket or terminal", Escape(t.name))
	}
	return nil
}

// write writes all of b, going on after partial writes. It returns how much went out.
// One call is one write(2) unless the kernel takes less.
func (t *target) write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Write(t.fd, b[done:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			// Somebody else made the shared description non-blocking.
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLOUT}}, -1); err != nil && err != unix.EINTR {
				return done, err
			}
		case err != nil:
			return done, err
		case n == 0:
			return done, unix.EIO // write(2): for these files 0 is no answer
		default:
			done += n
		}
	}
	return done, nil
}

func (t *target) close() error {
	if t.fd < 0 {
		return nil
	}
	err := unix.Close(t.fd)
	t.fd = -1
	return err
}

// isGone tells errors after which no later write can succeed.
func isGone(err error) bool {
	switch {
	case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.ENOTCONN), errors.Is(err, unix.EBADF), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EINVAL):
		return true
	}
	return false
}
