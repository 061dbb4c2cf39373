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
	{Name: "open", Event: "open", Args: args(path(0), openFlags, mode), Need: NeedReads, When: opensThat(1)},
	{Name: "openat", Event: "open", Args: args(dirfd, path(0), openFlags, mode), Need: NeedReads, When: opensThat(2)},
	{Name: "openat2", Event: "open", Args: args(dirfd, path(0), openHow, word)},
	{Name: "creat", Event: "open", Args: args(path(0), mode), Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC},

	// execve(2), execveat(2): the #! chain and the loader are added by the tracer.
	{Name: "execve", Event: "os.exec", Args: args(path(Exec), argv, word)},
	{Name: "execveat", Event: "os.exec", Args: args(dirfd, path(Exec), argv, word, atFlags)},
	{Name: "mmap", Special: Range, Need: NeedGuard, When: fixedNearWindow},
	// A PROT_EXEC mapping of a denied program is the loader trick (techniques E2).
	{Name: "mmap", Args: args(word, word, word, word, mapFD, word), Need: NeedExecMap, When: mapsCode},
	{Name: "mprotect", Special: Range, Need: NeedGuard, When: nearWindow(0, 1)},
	{Name: "pkey_mprotect", Special: Range, Need: NeedGuard, When: nearWindow(0, 1)},
	{Name: "mprotect", Args: args(mapRange, word, word), Need: NeedExecMap, When: []Test{{Arg: 2, Op: AnyBit, Bits: unix.PROT_EXEC}}},
	{Name: "pkey_mprotect", Args: args(mapRange, word, word, word), Need: NeedExecMap, When: []Test{{Arg: 2, Op: AnyBit, Bits: unix.PROT_EXEC}}},

	// Calls that only look: traced when some rule hides or refuses a look. access(2) answers
	// as the act itself would, so it is traced wherever an act can be refused.
	{Name: "stat", Need: NeedLooks, Args: args(path(Look), word)},
	{Name: "lstat", Need: NeedLooks, Args: args(lpath(Look), word)},
	{Name: "newfstatat", Need: NeedLooks, Args: args(dirfd, pathOrFD(Look), word, atFlags)},
	{Name: "fstatat", Need: NeedLooks, Args: args(dirfd, pathOrFD(Look), word, atFlags)}, // arm64's name
	{Name: "statx", Need: NeedLooks, Args: args(dirfd, pathOrFD(Look), atFlags, word, word)},
	{Name: "access", Need: NeedProbes, Args: args(path(Look), accessMode), When: probes(1)},
	{Name: "faccessat", Need: NeedProbes, Args: args(dirfd, path(Look), accessMode), When: probes(2)},
	{Name: "faccessat2", Need: NeedProbes, Args: args(dirfd, path(Look), accessMode, atFlags), When: probes(2)},
	{Name: "readlink", Need: NeedLooks, Args: args(lpath(Look), word, word)},
	{Name: "readlinkat", Need: NeedLooks, Args: args(dirfd, readlinkPath, word, word)},
	{Name: "chdir", Event: "os.chdir", Need: NeedLooks, Args: args(path(Look))},
	{Name: "statfs", Need: NeedLooks, Args: args(path(Look), word)},
	{Name: "listxattr", Event: "os.listxattr", Need: NeedLooks, Args: args(path(Look), word, word)},
	{Name: "llistxattr", Event: "os.listxattr", Need: NeedLooks, Args: args(lpath(Look), word, word)},
	{Name: "listxattrat", Event: "os.listxattr", Need: NeedLooks, Args: args(dirfd, pathOrFD(Look), atFlags, word, word)},
	{Name: "getxattr", Event: "os.getxattr", Need: NeedReadsOnly, Args: args(path(Look), xattrName, word, word)},
	{Name: "lgetxattr", Event: "os.getxattr", Need: NeedReadsOnly, Args: args(lpath(Look), xattrName, word, word)},
	{Name: "getxattrat", Event: "os.getxattr", Need: NeedReadsOnly, Args: args(dirfd, pathOrFD(Look), atFlags, xattrName, word, word)},
	{Name: "file_getattr", Need: NeedLooks, Args: args(dirfd, pathOrFD(Look), word, word, atFlags)},
	{Name: "name_to_handle_at", Need: NeedLooks, Args: args(dirfd, path(Look), word, word, handleFlags)},
	{Name: "inotify_add_watch", Need: NeedLooks, Args: args(word, path(Look), word)},
	// A listing leaves out what is hidden; the names are taken out when the call returns.
	{Name: "getdents", Event: "os.listdir", Need: NeedLists, Special: Listing, Args: args(listFD, word, word)},
	{Name: "getdents64", Event: "os.listdir", Need: NeedLists, Special: Listing, Args: args(listFD, word, word)},

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
	{Name: "setxattrat", Event: "os.setxattr", Args: args(dirfd, pathOrFD(Attr), atFlags, word, word, word)},
	{Name: "removexattrat", Event: "os.removexattr", Args: args(dirfd, pathOrFD(Attr), atFlags, word)},
	{Name: "file_setattr", Args: args(dirfd, pathOrFD(Attr), word, word, atFlags)},

	// Metadata through a descriptor that may have been opened for reading only (C25).
	{Name: "fchmod", Event: "os.chmod", Args: args(fd(Attr), word)},
	{Name: "fchown", Event: "os.chown", Args: args(fd(Attr), word, word)},
	{Name: "fsetxattr", Event: "os.setxattr", Args: args(fd(Attr), word, word, word, word)},
	{Name: "fremovexattr", Event: "os.removexattr", Args: args(fd(Attr), word)},
	{Name: "ioctl", Event: "fcntl.ioctl", Args: args(fd(Attr), word, word), When: any(
		equal(1, fsIocSetflags), equal(1, fsIocFssetxattr), equal(1, fsIocSetVersion), equal(1, ext4SetVersion), equal(1, unix.FS_IOC_ENABLE_VERITY),
		equal(1, unix.FS_IOC_SET_ENCRYPTION_POLICY), equal(1, fatSetAttributes))},
	{Name: "ioctl", Event: "fcntl.ioctl", Const: machine, When: machineIoctls()},
	{Name: "ioctl", Event: "fcntl.ioctl", Const: refuse("terminal", "would put words into the terminal as if they were typed"), When: any(
		equal(1, unix.TIOCSTI), equal(1, tiocLinux), equal(1, unix.TIOCSETD))},
	{Name: "ioctl", Event: "fcntl.ioctl", Const: refuse("dedupe", "compares and merges the contents of files that may not be readable"), When: any(equal(1, unix.FIDEDUPERANGE))},
	{Name: "ioctl", Event: "fcntl.ioctl", Const: refuse("userfaultfd", "lets a program hold up and change what is read from its memory"), When: any(equal(1, userfaultfdNew))},
	// Who gets the signals of a descriptor: SIGIO reaches any process without kill(2).
	{Name: "ioctl", Event: "fcntl.ioctl", Args: args(word, word, ownerPtr), When: any(equal(1, fioSetOwn), equal(1, siocSpgrp))},
	// What makes the caller the owner by itself: it matters to a program that enters a scope.
	{Name: "fcntl", Event: "fcntl.fcntl", Need: NeedScopes, Special: Owns, When: any(
		equal(1, unix.F_SETLEASE), equal(1, unix.F_NOTIFY), both(equal(1, unix.F_SETFL), Test{Arg: 2, Op: AnyBit, Bits: unix.O_ASYNC}))},
	{Name: "ioctl", Event: "fcntl.ioctl", Need: NeedScopes, Special: Owns, When: any(equal(1, fioAsync))},
	// Copies that never pass through the program: a seal's letter C is about the source.
	{Name: "copy_file_range", Need: NeedCopies, Args: args(fd(Copy), word, word, word, word, word)},
	{Name: "sendfile", Need: NeedCopies, Args: args(word, fd(Copy), word, word)},
	{Name: "splice", Need: NeedCopies, Args: args(fd(Copy), word, word, word, word, word)},
	{Name: "ioctl", Event: "fcntl.ioctl", Need: NeedCopies, Args: args(word, word, fd(Copy)), When: any(equal(1, unix.FICLONE))},
	{Name: "ioctl", Event: "fcntl.ioctl", Need: NeedCopies, When: any(equal(1, unix.FICLONERANGE)), Const: &Answer{
		Errno: syscall.EOPNOTSUPP, Guard: "clone-range", Reason: "its source lies in memory that another thread can change; programs fall back to copy_file_range",
	}},
	{Name: "fcntl", Event: "fcntl.fcntl", Args: args(word, word, ownerArg), When: any(equal(1, unix.F_SETOWN), equal(1, unix.F_SETOWN_EX))},

	// Addresses, and sockets that could move without one.
	{
		Name: "socket", Event: "socket.__new__", Need: NeedRules, When: any(equal(0, unix.AF_PACKET), both(equal(0, unix.AF_INET), rawType), both(equal(0, unix.AF_INET6), rawType), both(equal(0, unix.AF_INET), packetType)),
		Const: &Answer{Errno: syscall.EPERM, Guard: "raw-sockets", Reason: "raw and packet sockets reach addresses without naming them"},
	},
	{
		Name: "socket", Event: "socket.__new__", Need: NeedRules, Const: &Answer{Errno: syscall.EAFNOSUPPORT, Guard: "families", Reason: "an address family that no rule can judge (unix, inet, inet6 and netlink-route are)"},
		When: any(both(otherThan(0, unix.AF_UNIX), otherThan(0, unix.AF_INET), otherThan(0, unix.AF_INET6), otherThan(0, unix.AF_NETLINK)),
			both(equal(0, unix.AF_NETLINK), otherThan(2, unix.NETLINK_ROUTE))),
	},
	{
		Name: "socketpair", Need: NeedRules, Const: &Answer{Errno: syscall.EAFNOSUPPORT, Guard: "families", Reason: "an address family that no rule can judge (unix is)"},
		When: any(otherThan(0, unix.AF_UNIX)),
	},
	// Families that the policy leaves out (net.families).
	{Name: "socket", Event: "socket.__new__", Need: NeedNoUnix, Const: leftOut, When: any(equal(0, unix.AF_UNIX))},
	{Name: "socketpair", Need: NeedNoUnix, Const: leftOut, When: any(equal(0, unix.AF_UNIX))},
	{Name: "socket", Event: "socket.__new__", Need: NeedNoInet, Const: leftOut, When: any(equal(0, unix.AF_INET))},
	{Name: "socket", Event: "socket.__new__", Need: NeedNoInet6, Const: leftOut, When: any(equal(0, unix.AF_INET6))},
	{Name: "socket", Event: "socket.__new__", Need: NeedNoNetlink, Const: leftOut, When: any(equal(0, unix.AF_NETLINK))},
	{Name: "listen", Need: NeedRules, Args: args(socketFD, word)},
	{Name: "setsockopt", Const: refuse("socket-options", "sends packets elsewhere than the address says"), When: any(
		option(unix.IPPROTO_IP, unix.IP_OPTIONS), option(unix.IPPROTO_IP, unix.IP_TRANSPARENT), option(unix.IPPROTO_IPV6, unix.IPV6_RTHDR),
		option(unix.IPPROTO_IPV6, ipv6OldRthdr), option(unix.IPPROTO_IPV6, ipv6OldOptions), option(unix.IPPROTO_IPV6, unix.IPV6_TRANSPARENT), option(unix.SOL_SOCKET, unix.SO_BINDTODEVICE),
		option(unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX), option(unix.IPPROTO_TCP, unix.TCP_REPAIR),
		option(unix.IPPROTO_SCTP, sctpBindxAdd), option(unix.IPPROTO_SCTP, sctpBindxRem), option(unix.IPPROTO_SCTP, sctpConnectxOld), option(unix.IPPROTO_SCTP, sctpConnectx))},
	{Name: "connect", Event: "socket.connect", Args: args(fd(0), sockaddr(Connect), word)},
	{Name: "bind", Event: "socket.bind", Args: args(fd(0), sockaddr(Bind), word)},
	{Name: "sendto", Event: "socket.sendto", Args: args(fd(0), word, word, word, sockaddr(Connect), word), When: []Test{{Arg: 4, Op: NonNull}}},
	{Name: "sendmsg", Event: "socket.sendmsg", Args: args(fd(0), msghdr, word)},
	{Name: "sendmmsg", Event: "socket.sendmsg", Args: args(fd(0), mmsghdr, word, word)},

	// Processes. CLONE_UNTRACED is cleared by the tracer, namespaces are refused.
	{Name: "clone", Event: "os.fork", Const: refuse("namespaces", "a namespace of its own would change what every path and address means"), When: []Test{{Arg: 0, Op: AnyBit, Bits: namespaces}}},
	{Name: "clone", Event: "os.fork", Special: Untrace, When: []Test{{Arg: 0, Op: AnyBit, Bits: unix.CLONE_UNTRACED}}},
	{Name: "fork", Event: "os.fork", Need: NeedForks, Special: Forks},
	{Name: "vfork", Event: "os.fork", Need: NeedForks, Special: Forks},
	{Name: "clone", Event: "os.fork", Need: NeedForks, Special: Forks, When: []Test{{Arg: 0, Op: NoBit, Bits: unix.CLONE_THREAD}}},
	{Name: "clone3", Const: noSuch("clone3", "its flags lie in memory that another thread can change; libc falls back to clone")},
	{Name: "unshare", Const: refuse("namespaces", "a namespace of its own would change what every path and address means"), When: []Test{{Arg: 0, Op: AnyBit, Bits: namespaces | unix.CLONE_NEWTIME}}},
	{Name: "setns", Const: refuse("namespaces", "another namespace would change what every path and address means")},
	// The hardened profile: what sandboxes refuse by custom, though a tree could do no harm with it.
	{Name: "mbind", Need: NeedHardened, Const: hardened},
	{Name: "get_mempolicy", Need: NeedHardened, Const: hardened},
	{Name: "set_mempolicy", Need: NeedHardened, Const: hardened},
	{Name: "set_mempolicy_home_node", Need: NeedHardened, Const: hardened},
	{Name: "migrate_pages", Need: NeedHardened, Const: hardened},
	{Name: "move_pages", Need: NeedHardened, Const: hardened},
	{Name: "ustat", Need: NeedHardened, Const: hardened},
	{Name: "sysfs", Need: NeedHardened, Const: hardened},
	{Name: "kcmp", Need: NeedHardened, Const: hardened},
	{Name: "process_vm_readv", Need: NeedHardened, Const: hardened},
	{Name: "pidfd_getfd", Need: NeedHardened, Const: hardened},
	{Name: "syslog", Need: NeedHardened, Const: hardened},
	// Other processes: those of the tree may be reached, no others. Landlock, where it is
	// active, keeps signals inside as well.
	{Name: "kill", Event: "os.kill", Special: Signal, Args: args(signalPID, word)},
	{Name: "rt_sigqueueinfo", Special: Signal, Args: args(signalPID, word, word)},
	{Name: "tkill", Special: Signal, Args: args(thread, word)},
	{Name: "tgkill", Event: "signal.pthread_kill", Special: Signal, Args: args(thread, thread, word)},
	{Name: "rt_tgsigqueueinfo", Special: Signal, Args: args(thread, thread, word, word)},
	{Name: "pidfd_send_signal", Special: Signal, Args: args(pidfd, word, word, word)},
	{Name: "pidfd_open", Args: args(pid, word)},
	{Name: "pidfd_getfd", Args: args(pidfd, word, word)},
	{Name: "process_mrelease", Args: args(pidfd, word)},
	{Name: "process_vm_readv", Args: args(pid, word, word, word, word, word)},
	{Name: "kcmp", Args: args(pid, pid, word, word, word)},
	// The kernel writes a core dump where no rule is asked: the limit is 0, and these tell of
	// another one.
	{Name: "getrlimit", Need: NeedCores, Args: args(word, word), When: []Test{equal(0, unix.RLIMIT_CORE)}},
	{Name: "setrlimit", Event: "resource.setrlimit", Need: NeedCores, Args: args(word, word), When: []Test{equal(0, unix.RLIMIT_CORE)}},
	{Name: "prlimit64", Event: "resource.prlimit", Need: NeedCores, Args: args(pid, word, word, word), When: []Test{equal(1, unix.RLIMIT_CORE)}},
	{Name: "prlimit64", Event: "resource.prlimit", Args: args(pid, word, word, word), When: others()},
	{Name: "sched_setaffinity", Args: args(pid, word, word), When: others()},
	// While a task is resumed, its mask may be ptguard's.
	{Name: "sched_setaffinity", Special: Affinity, Need: NeedNear},
	{Name: "sched_getaffinity", Special: Affinity, Need: NeedNear},
	{Name: "sched_setattr", Args: args(pid, word, word), When: others()},
	{Name: "sched_setparam", Args: args(pid, word), When: others()},
	{Name: "sched_setscheduler", Args: args(pid, word, word), When: others()},
	{Name: "migrate_pages", Args: args(pid, word, word, word), When: others()},
	{Name: "move_pages", Args: args(pid, word, word, word, word, word), When: others()},
	{Name: "setpriority", Args: args(prioWhich, word, word), When: any(otherThan(0, unix.PRIO_PROCESS), otherThan(1, 0))},
	{Name: "ioprio_set", Args: args(prioWhich, word, word), When: any(otherThan(0, ioprioProcess), otherThan(1, 0))},
	{Name: "prctl", Const: refuse("proc", "fakes what /proc tells of a process"), When: any(equal(0, unix.PR_SET_MM))},
	{Name: "prctl", Const: refuse("proc", "ties the scheduling of another process to its own"), When: any(both(equal(0, unix.PR_SCHED_CORE), otherThan(2, 0)))},
	{Name: "prctl", Special: Dumpable, Need: NeedBlind, When: any(both(equal(0, unix.PR_SET_DUMPABLE), equal(1, 0)), equal(0, unix.PR_GET_DUMPABLE))},
	{Name: "seccomp", Const: refuse("listener", "a filter with a listener of its own would overrule ptguard's"), When: []Test{{Arg: 1, Op: AnyBit, Bits: unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}}},
	// A filter of the tree's own may not know the calls that ptguard puts in the place of others.
	{Name: "seccomp", Special: Filters, When: any(equal(0, unix.SECCOMP_SET_MODE_STRICT), equal(0, unix.SECCOMP_SET_MODE_FILTER))},
	{Name: "prctl", Special: Filters, When: any(equal(0, unix.PR_SET_SECCOMP))},
	{Name: "ptrace", Const: &Answer{
		Errno: syscall.EPERM, Guard: "ptrace", Reason: "a process has one tracer, and inside ptguard that is ptguard",
		Hint: "run debuggers and strace outside; for LeakSanitizer set ASAN_OPTIONS=detect_leaks=0",
	}},
	{Name: "process_vm_writev", Const: refuse("memory", "memory of another process may not be written")},
	{Name: "process_madvise", Const: refuse("memory", "memory of another process may not be changed")},

	// Without mseal(2) the argument window is kept in its place by looking at every call
	// that could put something else there. They come before the rows that judge mmap's file.
	{Name: "munmap", Special: Range, Need: NeedGuard, When: nearWindow(0, 1)},
	{Name: "mremap", Special: Range, Need: NeedGuard, When: append(nearWindow(0, 1), nearWindow(4, 2)...)},
	{Name: "remap_file_pages", Special: Range, Need: NeedGuard, When: nearWindow(0, 1)},
	{Name: "shmat", Special: Range, Need: NeedGuard, When: any(both(Test{Arg: 2, Op: AnyBit, Bits: shmRemap}))},

	// System V IPC and POSIX message queues: objects of the machine, under names that everybody
	// may try. As /dev/shm they are open but in mode strict, where the tree uses those that it
	// made. Only looking (IPC_STAT and kin) passes: /proc/sysvipc shows as much.
	{Name: "shmget", Need: NeedStrict, IPC: SharedMemory, Args: args(ipcKey, word, word)},
	{Name: "shmat", Need: NeedStrict, IPC: SharedMemory, Args: args(ipcID, word, word)},
	{Name: "shmctl", Need: NeedStrict, IPC: SharedMemory, IPCCommand: 1, Args: args(ipcID, word, word), When: any(equal(1, unix.IPC_RMID), equal(1, unix.IPC_SET), equal(1, shmLock), equal(1, shmUnlock))},
	{Name: "semget", Need: NeedStrict, IPC: Semaphores, Args: args(ipcKey, word, word)},
	{Name: "semop", Need: NeedStrict, IPC: Semaphores, Args: args(ipcID, word, word)},
	{Name: "semtimedop", Need: NeedStrict, IPC: Semaphores, Args: args(ipcID, word, word, word)},
	{Name: "semctl", Need: NeedStrict, IPC: Semaphores, IPCCommand: 2, Args: args(ipcID, word, word, word), When: any(equal(2, unix.IPC_RMID), equal(2, unix.IPC_SET),
		equal(2, semGetPID), equal(2, semGetVal), equal(2, semGetAll), equal(2, semGetNCount), equal(2, semGetZCount), equal(2, semSetVal), equal(2, semSetAll))},
	{Name: "msgget", Need: NeedStrict, IPC: MessageQueue, Args: args(ipcKey, word)},
	{Name: "msgsnd", Need: NeedStrict, IPC: MessageQueue, Args: args(ipcID, word, word, word)},
	{Name: "msgrcv", Need: NeedStrict, IPC: MessageQueue, Args: args(ipcID, word, word, word, word)},
	{Name: "msgctl", Need: NeedStrict, IPC: MessageQueue, IPCCommand: 1, Args: args(ipcID, word, word), When: any(equal(1, unix.IPC_RMID), equal(1, unix.IPC_SET))},
	{Name: "mq_open", Need: NeedStrict, Const: refuse("message-queues", "POSIX message queues are shared with every process of the machine")},
	{Name: "mq_unlink", Need: NeedStrict, Const: refuse("message-queues", "POSIX message queues are shared with every process of the machine")},

	// What the caller is, and what files it makes are: allowed, and noted.
	{Name: "setuid", Special: Changes},
	{Name: "setgid", Special: Changes},
	{Name: "setreuid", Special: Changes},
	{Name: "setregid", Special: Changes},
	{Name: "setresuid", Special: Changes},
	{Name: "setresgid", Special: Changes},
	{Name: "setfsuid", Special: Changes},
	{Name: "setfsgid", Special: Changes},
	{Name: "setgroups", Special: Changes},
	{Name: "capset", Special: Changes},
	// What an exec, or a setuid(2), makes of the capabilities.
	{Name: "prctl", Special: Changes, When: any(equal(0, unix.PR_CAPBSET_DROP), equal(0, unix.PR_SET_SECUREBITS), equal(0, unix.PR_SET_KEEPCAPS), equal(0, unix.PR_CAP_AMBIENT))},
	{Name: "landlock_restrict_self", Special: Changes},
	{Name: "madvise", Const: machine, When: any(equal(2, unix.MADV_HWPOISON), equal(2, madvSoftOffline))}, // takes memory from the machine
	// A fork must not lack the argument window: something else could lie in its place.
	{Name: "madvise", Special: Range, When: any(equal(2, unix.MADV_DONTFORK))},

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

	{Name: "mount", Const: mounts},
	{Name: "umount2", Const: mounts},
	{Name: "pivot_root", Const: mounts},
	{Name: "open_tree", Const: mounts},
	{Name: "open_tree_attr", Const: mounts},
	{Name: "move_mount", Const: mounts},
	{Name: "fsopen", Const: mounts},
	{Name: "fsconfig", Const: mounts},
	{Name: "fsmount", Const: mounts},
	{Name: "fspick", Const: mounts},
	{Name: "mount_setattr", Const: mounts},
	{Name: "chroot", Const: refuse("chroot", "another root would change what every path means")},

	{Name: "swapon", Const: machine},
	{Name: "swapoff", Const: machine},
	{Name: "acct", Const: machine},
	{Name: "quotactl", Const: machine},
	{Name: "quotactl_fd", Const: machine},
	{Name: "uselib", Const: machine},
	{Name: "init_module", Const: machine},
	{Name: "finit_module", Const: machine},
	{Name: "delete_module", Const: machine},
	{Name: "kexec_load", Const: machine},
	{Name: "kexec_file_load", Const: machine},
	{Name: "reboot", Const: machine},
	{Name: "sethostname", Event: "socket.sethostname", Const: machine},
	{Name: "setdomainname", Const: machine},
	{Name: "vhangup", Const: machine},
	{Name: "settimeofday", Const: machine},
	{Name: "clock_settime", Const: machine},
	{Name: "iopl", Const: machine},
	{Name: "ioperm", Const: machine},
	{Name: "syslog", Const: machine, When: any(both(otherThan(0, 3), otherThan(0, 9), otherThan(0, 10)))}, // reading all, and sizes, pass
	{Name: "adjtimex", Args: args(timex)},
	{Name: "clock_adjtime", Args: args(word, timex)},
	{Name: "modify_ldt", Const: machine, When: any(otherThan(0, 0))}, // reading passes
	{
		Name: "personality", Need: NeedExecMap, Const: refuse("read-implies-exec", "would make every mapping executable without a call that can be judged"),
		When: []Test{{Arg: 0, Op: Masked, Mask: readImpliesExec, Bits: readImpliesExec}},
	},

	{Name: "lookup_dcookie", Const: machine},
	{Name: "nfsservctl", Const: noSuch("removed", "removed from Linux")},
	{Name: "uretprobe", Const: noSuch("probe", "only for the kernel's own trampoline")},
	{Name: "uprobe", Const: noSuch("probe", "only for the kernel's own trampoline")},
}

// Constants that x/sys lacks, from the kernel's uapi headers.
const (
	fioAsync        = 0x5452 // asm-generic/ioctls.h
	fioSetOwn       = 0x8901 // asm-generic/sockios.h
	siocSpgrp       = 0x8902
	ipv6OldRthdr    = 5   // linux/in6.h IPV6_2292RTHDR
	ipv6OldOptions  = 6   // IPV6_2292PKTOPTIONS, which may hold the former
	sctpBindxAdd    = 100 // linux/sctp.h
	sctpBindxRem    = 101
	sctpConnectxOld = 107
	sctpConnectx    = 110
	shmLock         = 11 // linux/shm.h SHM_LOCK
	shmUnlock       = 12 // SHM_UNLOCK
	semGetPID       = 11 // linux/sem.h GETPID
	semGetVal       = 12
	semGetAll       = 13
	semGetNCount    = 14
	semGetZCount    = 15
	semSetVal       = 16
	semSetAll       = 17
	shmRemap        = 0x4000     // asm/shmbuf.h SHM_REMAP
	madvSoftOffline = 101        // asm-generic/mman-common.h
	ioprioProcess   = 1          // linux/ioprio.h IOPRIO_WHO_PROCESS
	readImpliesExec = 0x400000   // linux/personality.h
	fsIocFssetxattr = 0x401c5820 // linux/fs.h FS_IOC_FSSETXATTR
	fsIocSetflags   = 0x40086602 // linux/fs.h FS_IOC_SETFLAGS, _IOW('f', 2, long)
	tiocLinux       = 0x541c     // asm-generic/ioctls.h
	userfaultfdNew  = 0xaa00     // linux/userfaultfd.h USERFAULTFD_IOC_NEW, on /dev/userfaultfd

	// Attributes of an inode that a descriptor opened for reading may set.
	fsIocSetVersion  = 0x40087602 // linux/fs.h FS_IOC_SETVERSION
	ext4SetVersion   = 0x40086604 // linux/ext4.h EXT4_IOC_SETVERSION
	fatSetAttributes = 0x40047211 // linux/msdos_fs.h FAT_IOCTL_SET_ATTRIBUTES
)

// machineIoctls are the ioctl(2) commands that change a whole file system, a volume, a
// network interface, or a terminal for others, through whatever descriptor is at hand. Those of btrfs make and
// remove names without a path.
func machineIoctls() []Test {
	var tests []Test
	for _, command := range []uint32{
		0xc0045877, 0xc0045878, 0xc0185879, // linux/fs.h FIFREEZE FITHAW FITRIM
		0x8004587d, 0x41009432, // FS_IOC_SHUTDOWN FS_IOC_SETFSLABEL
		0xc038586b, 0x4048587b, // XFS_IOC_OPEN_BY_HANDLE ATTRMULTI_BY_HANDLE
		0x4010586e, 0x4008586f, 0x40105870, // XFS_IOC_FSGROWFSDATA FSGROWFSLOG FSGROWFSRT
		0x6611, 0x40086610, 0x40086607, 0x40286608, 0x4008662c, // linux/ext4.h SWAP_BOOT RESIZE_FS GROUP_EXTEND GROUP_ADD SETFSUUID
		// linux/btrfs.h SNAP_CREATE RESIZE ADD_DEV RM_DEV SUBVOL_CREATE SNAP_DESTROY DEFAULT_SUBVOL SNAP_CREATE_V2
		// SUBVOL_CREATE_V2 SUBVOL_SETFLAGS SET_RECEIVED_SUBVOL SNAP_DESTROY_V2
		0x50009401, 0x50009403, 0x5000940a, 0x5000940b, 0x5000940e, 0x5000940f, 0x40089413, 0x50009417, 0x50009418, 0x4008941a, 0xc0c89425, 0x5000943f,
		0x5437, 0x541d, 0x541f, // asm-generic/ioctls.h TIOCVHANGUP TIOCCONS TIOCSSERIAL
		// linux/kd.h, what the keys of all consoles type: KDSKBENT KDSKBSENT KDSKBDIACR KDSKBDIACRUC KDSETKEYCODE
		0x4b47, 0x4b49, 0x4b4b, 0x4bfb, 0x4b4d,
		// linux/sockios.h, netdevice(7): ADDRT DELRT, then SIOCSIF*: FLAGS ADDR DSTADDR BRDADDR NETMASK METRIC MTU NAME
		// HWADDR, DIFADDR TXQLEN DARP SARP
		0x890b, 0x890c, 0x8914, 0x8916, 0x8918, 0x891a, 0x891c, 0x891e, 0x8922, 0x8923, 0x8924, 0x8936, 0x8943, 0x8953, 0x8955,
	} {
		tests = append(tests, equal(1, command))
	}
	return tests
}

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
	// What the hardened profile adds.
	hardened = &Answer{Errno: syscall.EPERM, Guard: "hardened", Reason: "the hardened profile refuses this call", Hint: "hardened: false in the policy, or --no-hardened, allows it"}
	leftOut  = &Answer{Errno: syscall.EAFNOSUPPORT, Guard: "families", Reason: "net.families of the policy leaves this address family out", Hint: "name the family under net.families"}

	word        = Arg{}
	dirfd       = Arg{Kind: Dirfd}
	openFlags   = Arg{Kind: OpenFlags}
	openHow     = Arg{Kind: OpenHow}
	atFlags     = Arg{Kind: AtFlags}
	mode        = Arg{Kind: Mode}
	argv        = Arg{Kind: Argv}
	modeType    = Arg{Kind: ModeType}
	renameFlags = Arg{Kind: RenameFlags}
	msghdr      = Arg{Kind: Msghdr, Access: Connect}
	mmsghdr     = Arg{Kind: Mmsghdr, Access: Connect}
	pid         = Arg{Kind: PID, Access: Reach}
	accessMode  = Arg{Kind: AccessMode}
	handleFlags = Arg{Kind: AtFlags, NoLink: true} // name_to_handle_at follows only with AT_SYMLINK_FOLLOW
	signalPID   = Arg{Kind: SignalPID, Access: Reach}
	thread      = Arg{Kind: ThreadID, Access: Reach}
	ipcKey      = Arg{Kind: IPCKey, Access: Reach}
	ipcID       = Arg{Kind: IPCID, Access: Reach}
	pidfd       = Arg{Kind: PIDFD, Access: Reach}
	prioWhich   = Arg{Kind: PrioWhich, Access: Reach}
	ownerArg    = Arg{Kind: OwnerArg, Access: Reach}
	ownerPtr    = Arg{Kind: OwnerPtr, Access: Reach}
	socketFD    = Arg{Kind: SocketFD, Access: Bind}
	listFD      = Arg{Kind: ListFD, Access: List}
	xattrName   = Arg{Kind: XattrName}
	timex       = Arg{Kind: Timex}
	// readlinkat(2) takes "" for the link that its descriptor is (O_PATH|O_NOFOLLOW).
	readlinkPath = Arg{Kind: Path, Access: Look, NoLink: true, EmptyOK: true}
	// AF_INET with SOCK_PACKET is a packet socket, too (packet(7)).
	packetType = Test{Arg: 1, Op: Masked, Mask: 0xf, Bits: unix.SOCK_PACKET}
	rawType    = Test{Arg: 1, Op: Masked, Mask: 0xf, Bits: unix.SOCK_RAW}
	mapFD      = Arg{Kind: MapFD, Access: Map}
	mapRange   = Arg{Kind: MapRange, Access: Map}
	// A new name must not give what the old one does not (POLICY 2).
	linkSource = Arg{Kind: Path, Access: Read | Write | Attr, Act: ActLinkSource, NoLink: true}

	fixedNearWindow = func() (out []Test) {
		for _, t := range nearWindow(0, 1) {
			out = append(out, both(Test{Arg: 3, Op: AnyBit, Bits: unix.MAP_FIXED}, t))
		}
		return out
	}()
	mapsCode = []Test{both(Test{Arg: 2, Op: AnyBit, Bits: unix.PROT_EXEC}, Test{Arg: 3, Op: NoBit, Bits: unix.MAP_ANONYMOUS})}
)

func args(a ...Arg) []Arg          { return a }
func any(t ...Test) []Test         { return t }
func path(a Access) Arg            { return Arg{Kind: Path, Access: a} }
func lpath(a Access) Arg           { return Arg{Kind: Path, Access: a, NoLink: true} }
func pathOrFD(a Access) Arg        { return Arg{Kind: Path, Access: a, NullFD: true} }
func entry(a Access, act Act) Arg  { return Arg{Kind: Entry, Access: a, Act: act} }
func fd(a Access) Arg              { return Arg{Kind: FD, Access: a} }
func sockaddr(a Access) Arg        { return Arg{Kind: Sockaddr, Access: a} }
func equal(arg int, v uint32) Test { return Test{Arg: arg, Op: Equal, Bits: v} }

// nearWindow: the range that starts at argument addr could reach the argument window, which
// lies somewhere in the 16 GiB from WindowFirst on: it starts there or up to 4 GiB before, or
// is 4 GiB long or longer.
func nearWindow(addr, length int) []Test {
	return []Test{
		{Arg: addr, Op: High, Mask: ^uint32(7), Bits: WindowFirst >> 32},
		{Arg: addr, Op: High, Mask: ^uint32(0), Bits: WindowFirst>>32 - 1},
		{Arg: length, Op: HighSet},
	}
}

// WindowFirst is the lowest address that the argument window is given: a multiple of
// 32 GiB inside what thread and address sanitizers let programs map.
const WindowFirst = 0x7e8000000000

func otherThan(arg int, v uint32) Test { return Test{Arg: arg, Op: NotEqual, Bits: v} }
func option(level, name uint32) Test   { return both(equal(1, level), equal(2, name)) }
func others() []Test                   { return []Test{otherThan(0, 0)} } // the first argument names another process
func probes(n int) []Test {
	return []Test{{Arg: n, Op: AnyBit, Bits: unix.R_OK | unix.W_OK | unix.X_OK}}
}

// both joins conditions: all must hold.
func both(tests ...Test) Test {
	first := tests[0]
	if len(tests) > 1 {
		rest := both(tests[1:]...)
		first.And = &rest
	}
	return first
}

func refuse(guard, why string) *Answer {
	return &Answer{Errno: syscall.EPERM, Guard: guard, Reason: why}
}

func noSuch(guard, why string) *Answer {
	return &Answer{Errno: syscall.ENOSYS, Guard: guard, Reason: why}
}

// opensThat is the test for an open(2) whose flags are argument n: with no rule that can
// refuse a read, only opens that change something stop (Row.Conditions).
func opensThat(n int) []Test { return []Test{{Arg: n, Op: AnyBit, Bits: openChanges}} }
