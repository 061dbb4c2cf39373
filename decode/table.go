// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Rows is the table of every system call that is judged or refused, by kernel name. A
// name that one architecture lacks is left out there. To add a call, add a row (and take
// the name out of passthrough.go); see docs/adding-a-syscall.md.
var Rows = []Row{
	// open(2), openat(2), openat2(2), creat(2). The access comes from the flags.
	{Name: "open", Event: "open", Args: args(path(0), openFlags, word), Need: NeedReads, When: opensThat(1)},
	{Name: "openat", Event: "open", Args: args(dirfd, path(0), openFlags, word), Need: NeedReads, When: opensThat(2)},
	{Name: "openat2", Event: "open", Args: args(dirfd, path(0), openHow, word)},
	{Name: "creat", Event: "open", Args: args(path(0), word), Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC},

	// execve(2), execveat(2): the #! chain and the loader are added by the tracer.
	{Name: "execve", Event: "os.exec", Args: args(path(Exec), argv, word)},
	{Name: "execveat", Event: "os.exec", Args: args(dirfd, path(Exec), argv, word, atFlags)},
	// A PROT_EXEC mapping of a denied program is the loader trick (techniques E2).
	{Name: "mmap", Args: args(word, word, word, word, mapFD, word), Need: NeedExecMap, When: mapsCode},
	{Name: "mprotect", Args: args(mapRange, word, word), Need: NeedExecMap, When: []Test{{Arg: 2, Op: AnyBit, Bits: unix.PROT_EXEC}}},
	{Name: "pkey_mprotect", Args: args(mapRange, word, word, word), Need: NeedExecMap, When: []Test{{Arg: 2, Op: AnyBit, Bits: unix.PROT_EXEC}}},

	// Names that go, come or move.
	{Name: "unlink", Event: "os.remove", Args: args(entry(Remove, ActOther))},
	{Name: "unlinkat", Event: "os.remove", Args: args(dirfd, entry(Remove, ActOther), atFlags)},
	{Name: "rmdir", Event: "os.rmdir", Args: args(entry(Remove, ActRmdir))},
	{Name: "rename", Event: "os.rename", Args: args(entry(Remove, ActRenameSource), entry(Create, ActRenameTarget))},
	{Name: "renameat", Event: "os.rename", Args: args(dirfd, entry(Remove, ActRenameSource), dirfd, entry(Create, ActRenameTarget))},
	{Name: "renameat2", Event: "os.rename", Args: args(dirfd, entry(Remove, ActRenameSource), dirfd, entry(Create, ActRenameTarget), renameFlags)},
	{Name: "mkdir", Event: "os.mkdir", Args: args(entry(Create, ActMkdir), word)},
	{Name: "mkdirat", Event: "os.mkdir", Args: args(dirfd, entry(Create, ActMkdir), word)},
	{Name: "link", Event: "os.link", Args: args(linkSource, entry(Create, ActLinkTarget))},
	{Name: "linkat", Event: "os.link", Args: args(dirfd, linkSource, dirfd, entry(Create, ActLinkTarget), atFlags)},
	{Name: "symlink", Event: "os.symlink", Args: args(word, entry(Create, ActSymlink))},
	{Name: "symlinkat", Event: "os.symlink", Args: args(word, dirfd, entry(Create, ActSymlink))},
	{Name: "mknod", Args: args(entry(Create, ActMknod), modeType, word)},
	{Name: "mknodat", Args: args(dirfd, entry(Create, ActMknod), modeType, word)},

	// Content and metadata by name.
	{Name: "truncate", Event: "os.truncate", Args: args(path(Write), word)},
	{Name: "chmod", Event: "os.chmod", Args: args(path(Attr), word)},
	{Name: "fchmodat", Event: "os.chmod", Args: args(dirfd, path(Attr), word)},
	{Name: "fchmodat2", Event: "os.chmod", Args: args(dirfd, path(Attr), word, atFlags)},
	{Name: "chown", Event: "os.chown", Args: args(path(Attr), word, word)},
	{Name: "lchown", Event: "os.chown", Args: args(lpath(Attr), word, word)},
	{Name: "fchownat", Event: "os.chown", Args: args(dirfd, path(Attr), word, word, atFlags)},
	{Name: "utime", Event: "os.utime", Args: args(path(Attr), word)},
	{Name: "utimes", Event: "os.utime", Args: args(path(Attr), word)},
	{Name: "futimesat", Event: "os.utime", Args: args(dirfd, pathOrFD(Attr), word)},
	{Name: "utimensat", Event: "os.utime", Args: args(dirfd, pathOrFD(Attr), word, atFlags)},
	{Name: "setxattr", Event: "os.setxattr", Args: args(path(Attr), word, word, word, word)},
	{Name: "lsetxattr", Event: "os.setxattr", Args: args(lpath(Attr), word, word, word, word)},
	{Name: "removexattr", Event: "os.removexattr", Args: args(path(Attr), word)},
	{Name: "lremovexattr", Event: "os.removexattr", Args: args(lpath(Attr), word)},
	{Name: "setxattrat", Event: "os.setxattr", Args: args(dirfd, path(Attr), atFlags, word, word, word)},
	{Name: "removexattrat", Event: "os.removexattr", Args: args(dirfd, path(Attr), atFlags, word)},
	{Name: "file_setattr", Args: args(dirfd, path(Attr), word, word, atFlags)},

	// Metadata through a descriptor that may have been opened for reading only (C25).
	{Name: "fchmod", Event: "os.chmod", Args: args(fd(Attr), word)},
	{Name: "fchown", Event: "os.chown", Args: args(fd(Attr), word, word)},
	{Name: "fsetxattr", Event: "os.setxattr", Args: args(fd(Attr), word, word, word, word)},
	{Name: "fremovexattr", Event: "os.removexattr", Args: args(fd(Attr), word)},
	{Name: "ioctl", Event: "fcntl.ioctl", Args: args(fd(Attr), word, word), When: any(equal(1, fsIocSetflags), equal(1, fsIocFssetxattr))},
	{Name: "ioctl", Event: "fcntl.ioctl", Const: refuse("terminal", "would put words into the terminal as if they were typed"), When: any(
		equal(1, unix.TIOCSTI), equal(1, tiocLinux), equal(1, unix.TIOCSETD))},

	// Addresses.
	{Name: "connect", Event: "socket.connect", Args: args(fd(0), sockaddr(Connect), word)},
	{Name: "bind", Event: "socket.bind", Args: args(fd(0), sockaddr(Bind), word)},
	{Name: "sendto", Event: "socket.sendto", Args: args(fd(0), word, word, word, sockaddr(Connect), word), When: []Test{{Arg: 4, Op: NonNull}}},
	{Name: "sendmsg", Event: "socket.sendmsg", Args: args(fd(0), msghdr, word)},
	{Name: "sendmmsg", Event: "socket.sendmsg", Args: args(fd(0), mmsghdr, word, word)},

	// Processes. CLONE_UNTRACED is cleared by the tracer, namespaces are refused.
	{Name: "clone", Event: "os.fork", Const: refuse("namespaces", "a namespace of its own would change what every path and address means"), When: []Test{{Arg: 0, Op: AnyBit, Bits: namespaces}}},
	{Name: "clone", Event: "os.fork", Special: Untrace, When: []Test{{Arg: 0, Op: AnyBit, Bits: unix.CLONE_UNTRACED}}},
	{Name: "clone3", Const: noSuch("clone3", "its flags lie in memory that another thread can change; libc falls back to clone")},
	{Name: "unshare", Const: refuse("namespaces", "a namespace of its own would change what every path and address means"), When: []Test{{Arg: 0, Op: AnyBit, Bits: namespaces}}},
	{Name: "setns", Const: refuse("namespaces", "another namespace would change what every path and address means")},
	{Name: "prlimit64", Event: "resource.prlimit", Args: args(pid, word, word, word), When: []Test{{Arg: 0, Op: NotEqual, Bits: 0}}},
	{Name: "prctl", Const: refuse("proc", "fakes what /proc tells of a process"), When: any(equal(0, unix.PR_SET_MM))},
	{Name: "prctl", Special: Dumpable, Need: NeedBlind, When: any(both(equal(0, unix.PR_SET_DUMPABLE), equal(1, 0)), equal(0, unix.PR_GET_DUMPABLE))},
	{Name: "seccomp", Const: refuse("listener", "a filter with a listener of its own would overrule ptguard's"), When: []Test{{Arg: 1, Op: AnyBit, Bits: unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}}},
	{Name: "ptrace", Const: &Answer{
		Errno: syscall.EPERM, Guard: "ptrace", Reason: "a process has one tracer, and inside ptguard that is ptguard",
		Hint: "run debuggers and strace outside; for LeakSanitizer set ASAN_OPTIONS=detect_leaks=0",
	}},
	{Name: "process_vm_readv", Const: refuse("memory", "memory of another process may not be read")},
	{Name: "process_vm_writev", Const: refuse("memory", "memory of another process may not be written")},
	{Name: "process_madvise", Const: refuse("memory", "memory of another process may not be changed")},
	{Name: "pidfd_getfd", Const: refuse("descriptors", "descriptors of another process may not be taken")},
	{Name: "kcmp", Const: refuse("descriptors", "compares the insides of other processes")},

	// Ways around the filter, around names, into the kernel or the machine.
	{Name: "io_uring_setup", Const: noSuch("io_uring", "its operations run without a filter; programs fall back")},
	{Name: "io_uring_enter", Const: noSuch("io_uring", "its operations run without a filter; programs fall back")},
	{Name: "io_uring_register", Const: noSuch("io_uring", "its operations run without a filter; programs fall back")},
	{Name: "memfd_secret", Const: noSuch("secret-memory", "ptguard could not read arguments in it")},
	{Name: "userfaultfd", Const: refuse("userfaultfd", "lets a program hold up and change what is read from its memory")},
	{Name: "open_by_handle_at", Const: refuse("handles", "opens files without a path")},
	{Name: "bpf", Const: refuse("bpf", "loads programs into the kernel")},
	{Name: "perf_event_open", Const: refuse("perf", "observes other programs and the kernel")},
	{Name: "keyctl", Const: refuse("keys", "the kernel's key rings are outside the tree")},
	{Name: "add_key", Const: refuse("keys", "the kernel's key rings are outside the tree")},
	{Name: "request_key", Const: refuse("keys", "starts a helper outside the tree")},
	{Name: "fanotify_init", Const: refuse("fanotify", "watches and holds up file accesses of the whole machine")},
	{Name: "fanotify_mark", Const: refuse("fanotify", "watches and holds up file accesses of the whole machine")},

	{Name: "mount", Const: mounts}, {Name: "umount2", Const: mounts}, {Name: "pivot_root", Const: mounts},
	{Name: "open_tree", Const: mounts}, {Name: "open_tree_attr", Const: mounts}, {Name: "move_mount", Const: mounts},
	{Name: "fsopen", Const: mounts}, {Name: "fsconfig", Const: mounts}, {Name: "fsmount", Const: mounts},
	{Name: "fspick", Const: mounts}, {Name: "mount_setattr", Const: mounts},
	{Name: "chroot", Event: "os.chroot", Const: refuse("chroot", "another root would change what every path means")},

	{Name: "swapon", Const: machine}, {Name: "swapoff", Const: machine}, {Name: "acct", Const: machine},
	{Name: "quotactl", Const: machine}, {Name: "quotactl_fd", Const: machine}, {Name: "uselib", Const: machine},
	{Name: "init_module", Const: machine}, {Name: "finit_module", Const: machine}, {Name: "delete_module", Const: machine},
	{Name: "kexec_load", Const: machine}, {Name: "kexec_file_load", Const: machine}, {Name: "reboot", Const: machine},
	{Name: "sethostname", Const: machine}, {Name: "setdomainname", Const: machine}, {Name: "vhangup", Const: machine},
	{Name: "settimeofday", Const: machine}, {Name: "clock_settime", Const: machine},
	{Name: "iopl", Const: machine}, {Name: "ioperm", Const: machine}, {Name: "syslog", Const: machine},
	{Name: "lookup_dcookie", Const: machine}, {Name: "nfsservctl", Const: noSuch("removed", "removed from Linux")},
	{Name: "uretprobe", Const: noSuch("probe", "only for the kernel's own trampoline")},
	{Name: "uprobe", Const: noSuch("probe", "only for the kernel's own trampoline")},
}

// Constants that x/sys lacks, from the kernel's uapi headers.
const (
	fsIocFssetxattr = 0x401c5820 // linux/fs.h FS_IOC_FSSETXATTR
	fsIocSetflags   = 0x40086602 // linux/fs.h FS_IOC_SETFLAGS, _IOW('f', 2, long)
	tiocLinux       = 0x541c     // asm-generic/ioctls.h
)

// namespaces are the CLONE_NEW* bits (clone(2), unshare(2)); CLONE_NEWTIME shares its bit
// with the signal number of clone(2), where it cannot be asked for.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// openChanges are the open flags that make an open more than a read. 0x400000 is
// __O_TMPFILE; access mode 3 (ioctl only) asks for both rights and counts as a write.
const openChanges = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC | 0x400000

var (
	mounts  = refuse("mounts", "a mount would change what every path means")
	machine = refuse("machine", "changes the machine outside the tree")

	word        = Arg{}
	dirfd       = Arg{Kind: Dirfd}
	openFlags   = Arg{Kind: OpenFlags}
	openHow     = Arg{Kind: OpenHow}
	atFlags     = Arg{Kind: AtFlags}
	argv        = Arg{Kind: Argv}
	modeType    = Arg{Kind: ModeType}
	renameFlags = Arg{Kind: RenameFlags}
	msghdr      = Arg{Kind: Msghdr, Access: Connect}
	mmsghdr     = Arg{Kind: Mmsghdr, Access: Connect}
	pid         = Arg{Kind: PID, Access: Reach}
	mapFD       = Arg{Kind: MapFD, Access: Map}
	mapRange    = Arg{Kind: MapRange, Access: Map}
	// A new name must not give what the old one does not (POLICY 2).
	linkSource = Arg{Kind: Path, Access: Read | Write | Attr, Act: ActLinkSource, NoLink: true}

	mapsCode = []Test{both(Test{Arg: 2, Op: AnyBit, Bits: unix.PROT_EXEC}, Test{Arg: 3, Op: NoBit, Bits: unix.MAP_ANONYMOUS})}
)

func args(a ...Arg) []Arg              { return a }
func any(t ...Test) []Test             { return t }
func path(a Access) Arg                { return Arg{Kind: Path, Access: a} }
func lpath(a Access) Arg               { return Arg{Kind: Path, Access: a, NoLink: true} }
func pathOrFD(a Access) Arg            { return Arg{Kind: Path, Access: a, NullFD: true} }
func entry(a Access, act Act) Arg      { return Arg{Kind: Entry, Access: a, Act: act} }
func fd(a Access) Arg                  { return Arg{Kind: FD, Access: a} }
func sockaddr(a Access) Arg            { return Arg{Kind: Sockaddr, Access: a} }
func equal(arg int, v uint32) Test     { return Test{Arg: arg, Op: Equal, Bits: v} }
func both(t, and Test) Test            { t.And = &and; return t }
func refuse(guard, why string) *Answer { return &Answer{Errno: syscall.EPERM, Guard: guard, Reason: why} }
func noSuch(guard, why string) *Answer { return &Answer{Errno: syscall.ENOSYS, Guard: guard, Reason: why} }

// opensThat is the test for an open(2) whose flags are argument n: with no rule that can
// refuse a read, only opens that change something stop (Row.Conditions).
func opensThat(n int) []Test { return []Test{{Arg: n, Op: AnyBit, Bits: openChanges}} }
