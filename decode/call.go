// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
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
	// PID: the process argument.
	PID int32
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
	// Refuse is set when the words of the call alone forbid it (a device node, a whiteout).
	Refuse *Answer

	buf [pathMax]byte
}

// Decode fills c for a call of row with the six argument words of the stop. wantArgv: read
// the argument vector too. The error is a *Fault.
func Decode(c *Call, row *Row, args [6]uint64, m Memory, wantArgv bool) error {
	c.Row, c.Args, c.Event = row, args, row.Event
	c.Objects, c.Argv, c.Refuse = c.Objects[:0], nil, nil
	c.Flags, c.HasFlags = uint64(row.Flags), row.Flags != 0
	dir := int32(unix.AT_FDCWD)
	for i, arg := range row.Args {
		if err := c.argument(i, arg, &dir, m, wantArgv); err != nil {
			return err
		}
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
		o := Object{Kind: arg.Kind, Access: arg.Access, Act: arg.Act, Dirfd: *dir, NoFollow: arg.NoLink}
		*dir = unix.AT_FDCWD
		if word == 0 && arg.NullFD {
			o.Kind = FD
			c.Objects = append(c.Objects, o)
			return nil
		}
		text, err := readString(m, c.buf[:], word, pathMax, "path")
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
			c.Objects = append(c.Objects, Object{Kind: PID, Access: arg.Access, PID: int32(word)})
		}
	case OpenFlags:
		c.Flags, c.HasFlags = uint64(uint32(word)), true
		c.openFlags(c.Flags)
	case OpenHow:
		return c.openHow(word, c.Args[i+1], m)
	case AtFlags:
		c.atFlags(uint32(word))
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
	raw := make([]byte, size)
	if err := readFull(m, raw, addr, "open_how"); err != nil {
		return err
	}
	for _, b := range raw[sizeOfHow:] {
		if b != 0 {
			return &Fault{Errno: syscall.E2BIG, Plain: true, What: "unknown fields of open_how"}
		}
	}
	c.Flags, c.HasFlags = binary.NativeEndian.Uint64(raw), true
	c.openFlags(c.Flags)
	how := binary.NativeEndian.Uint64(raw[16:])
	if o := c.path(); o != nil {
		o.NoXDev = how&unix.RESOLVE_NO_XDEV != 0
		o.NoMagicLinks = how&unix.RESOLVE_NO_MAGICLINKS != 0
		o.NoLinks = how&unix.RESOLVE_NO_SYMLINKS != 0
		o.Beneath = how&unix.RESOLVE_BENEATH != 0
		o.InRoot = how&unix.RESOLVE_IN_ROOT != 0
	}
	return nil
}

// atFlags applies AT_* flags to the path of the call (for linkat(2) that is its source).
func (c *Call) atFlags(flags uint32) {
	for i := range c.Objects {
		o := &c.Objects[i]
		switch {
		case o.Kind == Path:
			o.EmptyPath = flags&unix.AT_EMPTY_PATH != 0
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

func (c *Call) renameFlags(flags uint32) {
	if flags&unix.RENAME_WHITEOUT != 0 {
		c.Refuse = devices // leaves a character device behind
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		for i := range c.Objects {
			c.Objects[i].Access, c.Objects[i].Act = Remove|Create, ActExchange
		}
	}
}

func (c *Call) address(addr, length uint64, access Access, send bool, index int, m Memory) error {
	a, ok, err := readSockaddr(m, addr, length, access, send)
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
	var raw [16]byte // msg_name, msg_namelen
	if err := readFull(m, raw[:], addr, "msghdr"); err != nil {
		return err
	}
	name, length := binary.NativeEndian.Uint64(raw[:]), uint64(binary.NativeEndian.Uint32(raw[8:]))
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
			return err
		}
	}
	return nil
}
