// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/internal/ask"
	"ptguard/internal/policytext"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
	"ptguard/tracer"
)

// asking prepares the questions of a run as the policy wants them. guarded are the files
// that the tree must not change, or it could answer for itself.
//
// folders are those in which the program works, the work folder first.
func (c *runCmd) asking(a rules.Asking, folders []string) (out tracer.Asking, guarded []string, err error) {
	if !a.On {
		return out, nil, nil
	}
	out.Timeout = a.Timeout
	kind, rest, _ := strings.Cut(a.Via, ":")
	switch kind {
	case "tty":
		if err := c.ownTerminal(); err != nil {
			return out, nil, err
		}
		out.Asker = &ask.Terminal{Plain: slices.Contains([]string{"", "dumb"}, os.Getenv("TERM"))}
	case "exec":
		words := strings.Fields(rest)
		here, err := os.Getwd()
		if err != nil {
			return out, nil, fmt.Errorf("find the current directory: %w", errnoOf(err))
		}
		path, err := findProgram(words[0], os.Environ())
		if err == nil {
			path, err = canonicalFile(absolute(here, path), unix.S_IFREG)
		}
		if err != nil {
			// Not wrapped: it is no error about CMD, with a status of its own.
			return out, nil, errors.New("ask via " + record.Escape(a.Via) + ": " + err.Error())
		}
		umask := unix.Umask(0)
		unix.Umask(umask)
		words[0] = path
		out.Asker, guarded = &ask.Program{Argv: words, Umask: umask}, append(guarded, path)
		for _, word := range words[1:] { // the script of an interpreter, its settings
			named := absolute(here, word)
			o, err := resolve.Canonical(named)
			switch {
			case err != nil:
				return out, nil, fmt.Errorf("ask via %s: %w", record.Escape(a.Via), err)
			case o.Errno == unix.ENOENT || o.Errno == 0 && !o.Exists: // or the tree could make it, and answer
			case o.Errno != 0:
				continue
			case o.Stat.Mode&unix.S_IFMT == unix.S_IFDIR:
				// The program could not work without some: `.` is a usual word.
				if slices.ContainsFunc(append(folders, "/dev", "/proc"), func(dir string) bool { return policytext.Contains(o.Path, dir) }) {
					continue
				}
			case o.Stat.Mode&unix.S_IFMT != unix.S_IFREG:
				continue
			}
			guarded = append(guarded, named)
		}
	case "unix":
		path, err := canonicalFile(rest, unix.S_IFSOCK)
		if err != nil {
			return out, nil, fmt.Errorf("ask via %s: %w", record.Escape(a.Via), err)
		}
		out.Asker, guarded = &ask.Socket{Path: path}, append(guarded, rest, path)
	}
	book, err := openApprovals()
	if err != nil {
		return out, nil, err
	}
	where := approvalsOf(a, folders[0])
	kept, err := book.read()
	if err != nil {
		return out, nil, err
	}
	for _, k := range kept {
		if g, ok := k.grant(); ok && k.Where == where {
			out.Kept = append(out.Kept, g)
		}
	}
	out.Keep = func(g rules.Grant) error { return book.add(where, g) }
	out.Always = "in every run with this fence, until ptguard grants revoke"
	if !a.Fenced {
		out.Always = "in every run with this work folder, until ptguard grants revoke"
	}
	return out, guarded, nil
}

// approvalsOf names the runs that an answer "always" is for: those of the same fence, or of
// the same work folder where there is none.
func approvalsOf(a rules.Asking, work string) string {
	switch {
	case a.Fence != "":
		return "fence " + record.Escape(a.Fence) // JSON has no bytes: other names would be the same
	case a.Fenced:
		return "fence '' in " + record.Escape(work)
	}
	return "work folder " + record.Escape(work)
}

// canonicalFile resolves a path that must lead to an object of one type.
func canonicalFile(path string, kind uint32) (string, error) {
	o, err := resolve.Canonical(path)
	switch {
	case err != nil:
		return "", err
	case o.Errno != 0:
		return "", fmt.Errorf("%s: %w", record.Escape(path), o.Errno)
	case !o.Exists:
		return "", fmt.Errorf("%s: %w", record.Escape(path), unix.ENOENT)
	case o.Stat.Mode&unix.S_IFMT != kind && kind == unix.S_IFSOCK:
		return "", fmt.Errorf("%s: not a socket", record.Escape(path))
	case o.Stat.Mode&unix.S_IFMT != kind:
		return "", fmt.Errorf("%s: not a file", record.Escape(path))
	}
	return o.Path, nil
}

// ownTerminal refuses to ask at a terminal whose other side the program would hold: it
// could answer for the person.
func (c *runCmd) ownTerminal() error {
	tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // nobody will be asked
	}
	defer unix.Close(tty)
	dev, err := unix.IoctlGetInt(tty, unix.TIOCGDEV)
	if err != nil {
		return fmt.Errorf("find out which terminal this is: %w", err)
	}
	for _, fd := range append([]int{0, 1, 2}, c.KeepFD...) {
		if n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN); err == nil && unix.Major(uint64(dev)) >= 136 && unix.Minor(uint64(dev)) == uint32(n) {
			return fmt.Errorf("--ask tty: descriptor %d is the other side of this terminal (/dev/pts/%d), so the program could answer for you", fd, n)
		}
	}
	return nil
}

// workFolder is the folder of --work, or that of the fence where nobody named another.
func (c *policyFlags) workFolder(layers []*rules.Source) string {
	if c.Work != "" || c.Fence == nil || *c.Fence == "" {
		return c.Work
	}
	if slices.ContainsFunc(layers, func(s *rules.Source) bool { return s.Work() != "" }) {
		return ""
	}
	dir := *c.Fence
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
		// What ~ means in an allow; without a home there is no such folder, and it is said so.
		if home := cmp.Or(passwdHome(os.Geteuid()), os.Getenv("HOME")); home != "" {
			dir = home + rest
		}
	}
	if strings.HasPrefix(dir, "@") {
		return ""
	}
	return dir
}

// approvals is the file of the answers "always": one JSON object a line. It lies in a
// folder of the user's that nobody else may look into, and neither may have been chosen by
// a repository that brought its own: both modes are checked.
type approvals struct{ dir string }

// openApprovals finds the file's folder: $XDG_STATE_HOME/ptguard, else
// ~/.local/state/ptguard. It need not be there.
func openApprovals() (*approvals, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := cmp.Or(passwdHome(os.Geteuid()), os.Getenv("HOME"))
		if !filepath.IsAbs(home) {
			return nil, errors.New("the approvals file has no place: there is no home folder")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return &approvals{filepath.Join(state, "ptguard")}, nil
}

// approvalsFile is the file to be guarded, in every run: one that asks nothing must not make the
// answers of the next. It is none where there is no home, and no run that asks.
func approvalsFile() []string {
	book, err := openApprovals()
	if err != nil {
		return nil
	}
	return []string{book.file()}
}

func (b *approvals) file() string { return filepath.Join(b.dir, "grants.jsonl") }

// private refuses what belongs to another user or that others may use.
func private(path string, st *unix.Stat_t, kind, mode uint32) error {
	switch {
	case st.Mode&unix.S_IFMT != kind:
		return fmt.Errorf("approvals: %s is of the wrong type", record.Escape(path))
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("approvals: %s belongs to another user (uid %d)", record.Escape(path), st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("approvals: %s may be used by others (mode %#o): chmod %#o it, or remove it", record.Escape(path), st.Mode&0o7777, mode)
	}
	return nil
}

// locked runs f with the folder's descriptor, and nobody else's changes meanwhile. There is
// no error, and no f, if the folder is not there and is not to be made.
func (b *approvals) locked(make bool, f func(dir int) error) error {
	if make {
		if err := os.MkdirAll(b.dir, 0o700); err != nil {
			return fmt.Errorf("approvals: %w", err)
		}
	}
	dir, err := unix.Open(b.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if !make && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)) {
		return nil
	}
	if errors.Is(err, unix.EACCES) && !make {
		return nil // a home that is not ours: there is nothing of ours in it
	}
	if err != nil {
		return fmt.Errorf("approvals: %s: %w", record.Escape(b.dir), err)
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	if err := private(b.dir, &st, unix.S_IFDIR, 0o700); err != nil {
		return err
	}
	if err := unix.Flock(dir, unix.LOCK_EX); err != nil {
		return fmt.Errorf("approvals: lock %s: %w", record.Escape(b.dir), err)
	}
	return f(dir)
}

// read gives what is kept.
func (b *approvals) read() (out []approval, err error) {
	err = b.locked(false, func(dir int) (err error) {
		out, err = b.load(dir)
		return err
	})
	return out, err
}

// add keeps a grant for the runs that where names.
func (b *approvals) add(where string, g rules.Grant) error {
	return b.locked(true, func(dir int) error {
		kept, err := b.load(dir)
		if err != nil {
			return err
		}
		a := newApproval(where, g)
		for _, k := range kept {
			if k.same(&a) {
				return nil
			}
		}
		return b.store(dir, append(kept, a))
	})
}

// revoke takes out the approvals with these ids, or all of them; it gives those taken.
func (b *approvals) revoke(ids []string, all bool) (gone []approval, err error) {
	err = b.locked(false, func(dir int) error {
		kept, err := b.load(dir)
		if err != nil {
			return err
		}
		var left []approval
		for _, k := range kept {
			if all || slices.Contains(ids, k.ID) {
				gone = append(gone, k)
			} else {
				left = append(left, k)
			}
		}
		if len(gone) == 0 {
			return nil
		}
		return b.store(dir, left)
	})
	return gone, err
}

const grantsName = "grants.jsonl"

// load reads the file through the folder's descriptor.
func (b *approvals) load(dir int) ([]approval, error) {
	fd, err := unix.Openat(dir, grantsName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("approvals: %s: %w", record.Escape(b.file()), err)
	}
	file := os.NewFile(uintptr(fd), b.file())
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	if err := private(b.file(), &st, unix.S_IFREG, 0o600); err != nil {
		return nil, err
	}
	return readApprovals(file, b.file())
}

// store puts the file in its place as a whole.
func (b *approvals) store(dir int, list []approval) error {
	name := grantsName + "." + strconv.Itoa(os.Getpid())
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("approvals: %s: %w", record.Escape(b.dir), err)
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.Write(approvalLines(list))
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = unix.Renameat(dir, name, dir, grantsName)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, name, 0)
		return fmt.Errorf("approvals: write %s: %w", record.Escape(b.file()), err)
	}
	return nil
}
