// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"math"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/internal/intern"
)

// Object is one thing that a call touches, as the call names it; package resolve finds
// out what that is.
type Object struct {
	Kind   Kind // Path, Entry, FD, Sockaddr, PID, MapFD, MapRange
	Access Access
	Act    Act

	// Path, Entry: the name as given and where it starts; FD, MapFD: Dirfd is the descriptor.
	Dirfd int32
	Path  string
	// NoFollow, EmptyPath, MayCreate, Exclusive, Directory, TmpFile: from the flags.
	NoFollow, EmptyPath            bool
	MayCreate, Exclusive           bool
	Directory, TmpFile, PathOnly   bool
	Beneath, InRoot, NoLinks       bool // RESOLVE_* of openat2(2)
	NoMagicLinks, NoXDev, Truncate bool

	Addr SockAddr // Sockaddr
	// Index is the element of a message vector (sendmmsg).
	Index int
	// Start, Len: MapRange.
	Start, Len uint64
	// Mode is the mode argument of an open, How the RESOLVE_* flags of openat2(2).
	Mode, How uint64
	// PID: the process argument: PID, SignalPID (0 own group, -1 all, -N a group), ThreadID,
	// GroupID, UserID, IPCKey, IPCID, or, for PIDFD, the descriptor.
	PID int32
	// Opens: open(2) and kin. NoReplace: RENAME_NOREPLACE.
	Opens, NoReplace bool
	// Probe: the act is only asked about (access(2)).
	Probe bool
}

// Call is a decoded system call. It is reused from stop to stop: keep no reference.
type Call struct {
	Row     *Row
	Args    [6]uint64
	Event   string
	Objects []Object
	// Flags are the open flags, for records; valid if HasFlags.
	Flags    uint64
	HasFlags bool
	Argv     []string
	// Text is the name of the extended attribute that is read.
	Text string
	// Header is the struct msghdr of sendmsg(2), or of the first message of sendmmsg(2), as it
	// was read; valid if HasHeader.
	Header    [sizeOfMsghdr]byte
	HasHeader bool
	// Owner is what F_SETOWN_EX, FIOSETOWN or SIOCSPGRP points at.
	Owner []byte
	// Refuse is set when the words of the call alone forbid it (a device node, a whiteout).
	Refuse *Answer

	buf  [pathMax]byte
	kept intern.Strings
}

// Decode fills c for a call of row with the six argument words of the stop. wantArgv: read
// the argument vector too. The error is a *Fault.
func Decode(c *Call, row *Row, args [6]uint64, m Memory, wantArgv bool) error {
	c.Row, c.Args, c.Event = row, args, row.Event
	c.Objects, c.Argv, c.Refuse, c.Owner, c.HasHeader = c.Objects[:0], nil, nil, nil, false
	c.Flags, c.HasFlags = uint64(row.Flags), row.Flags != 0
	if err := c.check(m); err != nil {
		return err
	}
	dir := int32(unix.AT_FDCWD)
	for i, arg := range row.Args {
		if err := c.argument(i, arg, &dir, m, wantArgv); err != nil {
			return err
		}
	}
	if row.Name == "inotify_add_watch" && uint32(args[2])&unix.IN_DONT_FOLLOW != 0 {
		c.Objects[0].NoFollow = true
	}
	if row.Flags != 0 {
		c.openFlags(uint64(row.Flags))
	}
	return nil
}

// argument decodes argument i; dir is the dirfd for the next path.
func (c *Call) argument(i int, arg Arg, dir *int32, m Memory, wantArgv bool) error {
	word := c.Args[i]
	switch arg.Kind {
	case Word:
	case Dirfd:
		*dir = int32(word)
	case Path, Entry:
		o := Object{Kind: arg.Kind, Access: arg.Access, Act: arg.Act, Dirfd: *dir, NoFollow: arg.NoLink, EmptyPath: arg.EmptyOK}
		*dir = unix.AT_FDCWD
		if word == 0 && arg.NullFD {
			o.Kind = FD
			c.Objects = append(c.Objects, o)
			return c.nullPath()
		}
		text, err := c.readString(m, word, "path")
		if err != nil {
			return err
		}
		o.Path = text
		c.Objects = append(c.Objects, o)
	case FD:
		if arg.Access != 0 {
			c.Objects = append(c.Objects, Object{Kind: FD, Access: arg.Access, Dirfd: int32(word)})
		}
	case MapFD:
		c.Objects = append(c.Objects, Object{Kind: MapFD, Access: arg.Access, Dirfd: int32(word)})
	case MapRange:
		c.Objects = append(c.Objects, Object{Kind: MapRange, Access: arg.Access, Start: word, Len: c.Args[i+1]})
	case PID:
		if int32(word) != 0 {
			c.process(PID, arg.Access, int32(word))
		}
	case SignalPID, ThreadID, PIDFD:
		c.process(arg.Kind, arg.Access, int32(word))
	case PrioWhich:
		return c.priority(uint32(word), int32(c.Args[i+1]), arg.Access)
	case GroupID, UserID: // of no argument
	case IPCKey, IPCID:
		if arg.Kind == IPCKey || int32(word) >= 0 { // no object has a negative number
			c.process(arg.Kind, arg.Access, int32(word))
		}
	case OwnerArg:
		return c.owner(uint32(c.Args[i-1]), word, arg.Access, m)
	case OwnerPtr:
		return c.ownerAt(word, arg.Access, m)
	case SocketFD, ListFD:
		c.Objects = append(c.Objects, Object{Kind: arg.Kind, Access: arg.Access, Dirfd: int32(word)})
	case Timex:
		return c.timex(word, m)
	case XattrName:
		return c.xattrName(word, m)
	case OpenFlags:
		c.Flags, c.HasFlags = uint64(uint32(word)), true
		c.openFlags(c.Flags)
	case OpenHow:
		return c.openHow(word, c.Args[i+1], m)
	case AtFlags:
		const execFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EMPTY_PATH | 0x10000 // AT_EXECVE_CHECK, Linux 6.14
		if o := c.path(); c.Row.Name == "execveat" && o != nil && o.Path != "" && uint32(word)&^execFlags != 0 {
			return invalid("unknown flags") // after the name is read, unlike other calls
		}
		c.atFlags(uint32(word), arg.NoLink)
	case Mode:
		if o := c.path(); o != nil {
			o.Mode = word & 0xffff // umode_t
		}
	case AccessMode:
		c.accessMode(uint32(word))
	case RenameFlags:
		c.renameFlags(uint32(word))
	case ModeType:
		if t := uint32(word) & unix.S_IFMT; t == unix.S_IFBLK || t == unix.S_IFCHR {
			c.Refuse = devices
		}
	case Argv:
		if wantArgv {
			argv, err := readArgv(m, word)
			if err != nil {
				return err
			}
			c.Argv = argv
		}
	case Sockaddr:
		return c.address(word, c.Args[i+1], arg.Access, c.Row.Name == "sendto", 0, m)
	case Msghdr:
		return c.message(word, 0, m)
	case Mmsghdr:
		return c.messages(word, c.Args[i+1], m)
	}
	return nil
}

var devices = refuse("devices", "a device node reaches hardware or the kernel behind every rule")

// nullPath: utimensat(2) and futimesat(2) take NULL for the descriptor itself; others only
// with AT_EMPTY_PATH (Linux 6.11).
func (c *Call) nullPath() error {
	for i, arg := range c.Row.Args {
		if arg.Kind == AtFlags && c.Event != "os.utime" && uint32(c.Args[i])&unix.AT_EMPTY_PATH == 0 {
			return &Fault{Errno: syscall.EFAULT, Plain: true, What: "path"}
		}
	}
	return nil
}

// path is the last path-like object so far.
func (c *Call) path() *Object {
	if len(c.Objects) == 0 {
		return nil
	}
	return &c.Objects[len(c.Objects)-1]
}

// openFlags gives the path the access that open(2)'s flags ask for.
func (c *Call) openFlags(flags uint64) {
	o := c.path()
	if o == nil {
		return
	}
	o.Opens = true
	o.NoFollow = flags&unix.O_NOFOLLOW != 0
	o.Directory = flags&unix.O_DIRECTORY != 0
	if flags&unix.O_PATH != 0 { // all flags but O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC are ignored
		o.Access, o.PathOnly = Look, true
		return
	}
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		o.Access = Read
	case unix.O_WRONLY:
		o.Access = Write
	default: // O_RDWR, and 3: checked for both by the kernel
		o.Access = Read | Write
	}
	if flags&unix.O_TRUNC != 0 {
		o.Access |= Write
		o.Truncate = true
	}
	if flags&tmpFile != 0 {
		o.TmpFile, o.Directory = true, true
		o.Access |= Create
		return
	}
	if flags&unix.O_CREAT != 0 {
		o.MayCreate = true
		o.Exclusive = flags&unix.O_EXCL != 0
		if o.Exclusive {
			o.NoFollow = true
		}
	}
}

// tmpFile is __O_TMPFILE of asm-generic/fcntl.h, the bit that tells O_TMPFILE from O_DIRECTORY.
const tmpFile = 0x400000

// sizeOfHow is OPEN_HOW_SIZE_VER0 of linux/openat2.h.
const sizeOfHow = 24

// openHow reads struct open_how by copy_struct_from_user's rules.
func (c *Call) openHow(addr, size uint64, m Memory) error {
	if size < sizeOfHow {
		return &Fault{Errno: syscall.EINVAL, Plain: true, What: "size of open_how"}
	}
	if size > pageSize {
		return &Fault{Errno: syscall.E2BIG, Plain: true, What: "size of open_how"}
	}
	raw := c.buf[:size]
	if err := readFull(m, raw, addr, "open_how"); err != nil {
		return err
	}
	for _, b := range raw[sizeOfHow:] {
		if b != 0 {
			return &Fault{Errno: syscall.E2BIG, Plain: true, What: "unknown fields of open_how"}
		}
	}
	c.Flags, c.HasFlags = binary.NativeEndian.Uint64(raw), true
	how := binary.NativeEndian.Uint64(raw[16:])
	if err := checkHow(c.Flags, binary.NativeEndian.Uint64(raw[8:]), how); err != nil {
		return err
	}
	c.openFlags(c.Flags)
	if o := c.path(); o != nil {
		o.Mode, o.How = binary.NativeEndian.Uint64(raw[8:]), how
		o.NoXDev = how&unix.RESOLVE_NO_XDEV != 0
		o.NoMagicLinks = how&unix.RESOLVE_NO_MAGICLINKS != 0
		o.NoLinks = how&unix.RESOLVE_NO_SYMLINKS != 0
		o.Beneath = how&unix.RESOLVE_BENEATH != 0
		o.InRoot = how&unix.RESOLVE_IN_ROOT != 0
	}
	return nil
}

// atFlags applies AT_* flags to the path of the call (for linkat(2) that is its source).
// noLink: links are followed only with AT_SYMLINK_FOLLOW (name_to_handle_at(2)).
func (c *Call) atFlags(flags uint32, noLink bool) {
	for i := range c.Objects {
		o := &c.Objects[i]
		switch {
		case o.Kind == Path:
			o.EmptyPath = flags&unix.AT_EMPTY_PATH != 0
			if noLink {
				o.NoFollow = flags&unix.AT_SYMLINK_FOLLOW == 0
			}
			if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
				o.NoFollow = true
			}
			if flags&unix.AT_SYMLINK_FOLLOW != 0 && o.Act == ActLinkSource {
				o.NoFollow = false
			}
		case o.Act == ActOther && flags&unix.AT_REMOVEDIR != 0: // unlinkat(2)
			o.Act = ActRmdir
			c.Event = "os.rmdir"
		}
	}
}

// accessMode turns R_OK, W_OK and X_OK into what the act itself would need.
func (c *Call) accessMode(mode uint32) {
	o := c.path()
	o.Probe = true
	for _, asked := range [...]struct {
		bit    uint32
		access Access
	}{{unix.R_OK, Read}, {unix.W_OK, Write}, {unix.X_OK, Exec}} {
		if mode&asked.bit != 0 {
			o.Access |= asked.access
		}
	}
}

// xattrName: reading user.* and trusted.* is reading what somebody put there; labels and
// access control lists describe the object as its mode does, and ls -l asks for them.
func (c *Call) xattrName(addr uint64, m Memory) error {
	name, err := ReadXattrName(m, addr)
	if err != nil {
		return err
	}
	c.Text = name
	if o := c.path(); o != nil && !strings.HasPrefix(name, "security.") && !strings.HasPrefix(name, "system.") {
		o.Access = Read
	}
	return nil
}

// process adds a process argument.
func (c *Call) process(kind Kind, access Access, pid int32) {
	c.Objects = append(c.Objects, Object{Kind: kind, Access: access, PID: pid})
}

// priority reads setpriority(2)'s and ioprio_set(2)'s pair: a process, of which 0 is the
// caller, a process group, or all processes of a user.
func (c *Call) priority(which uint32, id int32, access Access) error {
	first := uint32(unix.PRIO_PROCESS)
	if c.Row.Name == "ioprio_set" {
		first = ioprioProcess
	}
	switch which - first {
	case 0:
		if id != 0 {
			c.process(PID, access, id)
		}
	case 1:
		c.process(GroupID, access, id)
	case 2:
		c.process(UserID, access, id)
	default:
		return invalid("neither process, group nor user")
	}
	return nil
}

// ownerGroup is F_OWNER_PGRP of asm-generic/fcntl.h.
const ownerGroup = 2

// owner reads the argument of F_SETOWN (a number) or F_SETOWN_EX (struct f_owner_ex).
func (c *Call) owner(cmd uint32, word uint64, access Access, m Memory) error {
	if cmd == unix.F_SETOWN {
		c.ownerPID(int32(word), access)
		return nil
	}
	var raw [8]byte
	if err := readFull(m, raw[:], word, "f_owner_ex"); err != nil {
		return err
	}
	c.Owner = raw[:]
	kind, pid := binary.NativeEndian.Uint32(raw[:]), int32(binary.NativeEndian.Uint32(raw[4:]))
	if kind == ownerGroup {
		pid = -pid
	}
	c.ownerPID(pid, access)
	return nil
}

// ownerAt reads the int that FIOSETOWN and SIOCSPGRP point at.
func (c *Call) ownerAt(addr uint64, access Access, m Memory) error {
	var raw [4]byte
	if err := readFull(m, raw[:], addr, "owner"); err != nil {
		return err
	}
	c.Owner = raw[:]
	c.ownerPID(int32(binary.NativeEndian.Uint32(raw[:])), access)
	return nil
}

// ownerPID: 0 takes the owner away.
func (c *Call) ownerPID(pid int32, access Access) {
	if pid == math.MinInt32 {
		return // EINVAL of the kernel's, which does not negate it
	}
	if pid != 0 {
		c.process(SignalPID, access, pid)
	}
}

// timex refuses to set the clock (adjtimex(2): modes is the first field).
func (c *Call) timex(addr uint64, m Memory) error {
	var raw [4]byte
	if err := readFull(m, raw[:], addr, "timex"); err != nil {
		return err
	}
	if binary.NativeEndian.Uint32(raw[:]) != 0 {
		c.Refuse = machine
	}
	return nil
}

func (c *Call) renameFlags(flags uint32) {
	if flags&unix.RENAME_WHITEOUT != 0 {
		c.Refuse = devices // leaves a character device behind
	}
	for i := range c.Objects {
		c.Objects[i].NoReplace = flags&unix.RENAME_NOREPLACE != 0
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		for i := range c.Objects {
			c.Objects[i].Access, c.Objects[i].Act = Remove|Create, ActExchange
		}
	}
}

func (c *Call) address(addr, length uint64, access Access, send bool, index int, m Memory) error {
	a, ok, err := c.readSockaddr(m, addr, length, access, send)
	if err != nil || !ok {
		return err
	}
	c.Objects = append(c.Objects, Object{Kind: Sockaddr, Access: access, Dirfd: int32(c.Args[0]), Addr: a, Path: a.Path, Index: index})
	return nil
}

// The sizes of struct msghdr and struct mmsghdr on 64-bit Linux.
const (
	sizeOfMsghdr  = 56
	sizeOfMmsghdr = 64
	maxMessages   = 1024 // UIO_MAXIOV: sendmmsg(2) caps vlen to it
)

func (c *Call) message(addr uint64, index int, m Memory) error {
	raw := c.buf[:sizeOfMsghdr]
	if err := readFull(m, raw, addr, "msghdr"); err != nil {
		return err
	}
	if index == 0 {
		c.Header, c.HasHeader = [sizeOfMsghdr]byte(raw), true
	}
	name, length := binary.NativeEndian.Uint64(raw), uint64(binary.NativeEndian.Uint32(raw[8:]))
	if name == 0 || length == 0 {
		return nil
	}
	// The kernel caps a longer msg_namelen instead of refusing it (copy_msghdr_from_user).
	if int32(length) > maxSockaddr {
		length = maxSockaddr
	}
	return c.address(name, length, Connect, true, index, m)
}

func (c *Call) messages(addr, count uint64, m Memory) error {
	n := min(uint64(uint32(count)), maxMessages)
	for i := range n {
		if err := c.message(addr+i*sizeOfMmsghdr, int(i), m); err != nil {
			if i > 0 {
				return nil // the kernel sends those before it, and we the first one
			}
			return err
		}
	}
	return nil
}
