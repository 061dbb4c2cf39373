// SPDX-License-Identifier: Apache-2.0

package landlock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Access is a set of LANDLOCK_ACCESS_FS_* bits.
type Access uint64

const (
	// WriteFile is opening a file for writing.
	WriteFile Access = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	// MakeSock is binding a unix socket to a new name.
	MakeSock Access = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	// Contents are the rights to change what is in a file, which a rule can give for one file
	// alone. Truncate came with ABI 3 (Linux 6.2).
	Contents = WriteFile | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// Names are the rights to make, remove and move names of every kind but devices, which a
	// rule can give for a directory only. They hold for all beneath it.
	Names = MakeSock | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	// Devices are the rights to make device nodes.
	Devices Access = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// Changes is everything that changes files or names. Modes, owners, times, attributes and
	// ioctl(2) are not in it: Landlock has no right for them.
	Changes = Contents | Names | Devices
)

// The first ABI that has a right, and its kernel. Below referABI a domain that handles any
// file access refuses every move and link between directories (EXDEV), wherever they are.
const (
	referABI    = 2
	referSince  = "5.19"
	truncateABI = 3
)

// Grant gives rights on a directory and all beneath it, or on one file. It is tied to the
// object, not to its name: what is made later under the same name has nothing.
type Grant struct {
	// Path is a canonical path (a link in its last component is not followed), "" for the
	// object of FD.
	Path string
	FD   int
	// Access is what is given; on what is no directory only its part of Contents.
	Access Access
}

// Ruleset is one layer of Landlock.
type Ruleset struct {
	Scope Scope
	// Files: what Changes names is refused with EACCES (moves between directories in some
	// cases with EXDEV) but where Grants give it. Files that are open already are not
	// concerned, nor those that are in no directory: pipes, sockets, memfds.
	Files  bool
	Grants []Grant
}

// Handled gives the part of Changes that an ABI can refuse; 0 where no set of rules would
// leave moves between directories alone.
func Handled(abi int) Access {
	switch {
	case abi < referABI:
		return 0
	case abi < truncateABI:
		return Changes &^ unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	return Changes
}

// Restrict puts the calling thread, and whatever it starts from now on, into a new domain
// with these rules; RestrictScoped says what any domain means for ptrace(2). A grant whose
// path is not there, or lies in no mounted file system, is left out.
//
// Precondition and errors: as RestrictScoped; below ABI 2 Files is a *NotSupportedError,
// and E2BIG means that the thread is in as many domains as the kernel allows (16).
func (r *Ruleset) Restrict() error {
	abi, err := ABI()
	if err != nil {
		return err
	}
	return r.restrict(abi)
}

// restrict is Restrict on a kernel with at least this ABI, as if it had no later one.
func (r *Ruleset) restrict(abi int) error {
	d, err := r.make(abi)
	if err != nil {
		return err
	}
	// The descriptor is close-on-exec by itself, but a caller may never exec.
	defer func() { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, d.ruleset, 0, 0) }()
	return d.Enter()
}

// Domain is a Ruleset whose grants have been tied to their objects, for several threads to enter.
type Domain struct{ ruleset uintptr }

// Make gives the domain of the rules as Restrict would make it now. Errors: as Restrict.
func (r *Ruleset) Make() (*Domain, error) {
	abi, err := ABI()
	if err != nil {
		return nil, err
	}
	return r.make(abi)
}

// Enter puts the calling thread into a layer of its own with the rules; precondition as Restrict.
func (d *Domain) Enter() error {
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, d.ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// FD is the descriptor of the rules, close-on-exec, for landlock_restrict_self(2).
func (d *Domain) FD() int { return int(d.ruleset) }

// Close gives the descriptor back; whoever has entered stays inside.
func (d *Domain) Close() { _, _, _ = unix.RawSyscall(unix.SYS_CLOSE, d.ruleset, 0, 0) }

func (r *Ruleset) make(abi int) (*Domain, error) {
	switch {
	case r.Scope != 0 && abi < scopedABI:
		return nil, &NotSupportedError{Feature: "landlock scopes", Since: scopedSince, ABI: abi}
	case r.Files && abi < referABI:
		return nil, &NotSupportedError{Feature: "landlock moves between directories", Since: referSince, ABI: abi}
	case r.Scope == 0 && !r.Files:
		return nil, fmt.Errorf("landlock_create_ruleset of no scope: %w", unix.ENOMSG)
	}
	attr := rulesetAttr{scoped: uint64(r.Scope)}
	grants := r.Grants
	if r.Files {
		attr.handledAccessFS = uint64(Handled(abi))
	} else {
		// A layer that does not handle REFER makes the kernel refuse every move between
		// directories once the program adds a layer of its own that handles files; so it is
		// handled, and allowed beneath the root.
		attr.handledAccessFS = unix.LANDLOCK_ACCESS_FS_REFER
		grants = []Grant{{Path: "/", Access: unix.LANDLOCK_ACCESS_FS_REFER}}
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("landlock_create_ruleset files %#x scoped %#x: %w", attr.handledAccessFS, attr.scoped, errno)
	}
	for _, g := range grants {
		if err := g.add(fd, Access(attr.handledAccessFS)); err != nil {
			_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
			return nil, err
		}
	}
	return &Domain{fd}, nil
}

// rulesetAttr is struct landlock_ruleset_attr as ABI 6 has it. An older kernel takes it as
// long as what it does not know is zero.
type rulesetAttr struct {
	handledAccessFS  uint64
	handledAccessNet uint64
	scoped           uint64
}

// add makes the rule of a grant.
func (g *Grant) add(ruleset uintptr, handled Access) error {
	fd := g.FD
	if g.Path != "" {
		var err error
		fd, err = unix.Open(g.Path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EACCES):
			return nil
		case err != nil:
			return fmt.Errorf("open %s for landlock: %w", g.Path, err)
		}
		defer unix.Close(fd)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("look at %s for landlock: %w", g.Path, err)
	}
	access := g.Access & handled
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= Contents
	}
	if access == 0 {
		return nil
	}
	// struct landlock_path_beneath_attr is packed: 12 bytes.
	var rule [12]byte
	binary.NativeEndian.PutUint64(rule[:], uint64(access))
	binary.NativeEndian.PutUint32(rule[8:], uint32(fd))
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno == unix.EBADFD { // in no mounted file system: nobody is refused it
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("landlock_add_rule %s: %w", g.Path, errno)
	}
	return nil
}

// OnOwnThread runs f on an OS thread that ends with f, and with it whatever f has restricted
// it to. Go parks the first thread of a process instead of ending it, so that one will not do.
func OnOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and no unlock: that ends the thread
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		inner := make(chan struct{})
		go func() { // runs elsewhere, for this thread is taken
			defer close(inner)
			runtime.LockOSThread()
			f()
		}()
		<-inner
		runtime.UnlockOSThread()
	}()
	<-done
}
