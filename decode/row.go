// SPDX-License-Identifier: Apache-2.0

package decode

import "syscall"

// Kind says how one argument of a call is read. Relations are by position, stated once:
// a path is resolved against the dirfd just before it, else the cwd; openFlags, openHow
// and atFlags speak of the path (or entry) before them; a length follows its pointer.
type Kind uint8

// The kinds of argument.
const (
	Word        Kind = iota // a number or pointer that nothing depends on
	FD                      // descriptor (int32) whose object needs Arg.Access; 0 access: not judged
	Dirfd                   // directory descriptor (int32) of the next path, AT_FDCWD allowed
	Path                    // pathname, last link followed
	Entry                   // pathname whose last component is the directory entry itself
	OpenFlags               // open(2) flags (int)
	OpenHow                 // struct open_how * of openat2(2); its size is the next argument
	AtFlags                 // AT_* flags (int)
	Mode                    // mode_t of the path before it
	Argv                    // char *const argv[]
	ModeType                // mode_t whose S_IFMT bits say what mknod makes
	Sockaddr                // struct sockaddr *; the length is the next argument
	Msghdr                  // struct msghdr *: its msg_name
	Mmsghdr                 // struct mmsghdr[]: every msg_name; the count is the next argument
	PID                     // pid_t of another process, 0 meaning the caller
	RenameFlags             // renameat2(2) flags
	MapFD                   // descriptor of an mmap(2)
	MapRange                // address of a mapping; the length is the next argument
	AccessMode              // R_OK, W_OK, X_OK of access(2), for the path before it
	SignalPID               // pid_t of kill(2): a process, 0 the own group, -1 all, -N a group
	ThreadID                // thread or process id, always of another task or the caller by number
	PIDFD                   // descriptor of a process (pidfd_open(2))
	PrioWhich               // PRIO_PROCESS or IOPRIO_WHO_PROCESS, else a group; the id is the next argument
	OwnerArg                // fcntl(2) F_SETOWN: a pid, or a group as -N; F_SETOWN_EX: struct f_owner_ex *
	OwnerPtr                // ioctl(2) FIOSETOWN, SIOCSPGRP: int * with a pid, or a group as -N
	SocketFD                // descriptor of a socket that listen(2) may bind to every interface
	Timex                   // struct timex *: a modes field other than 0 sets the clock
	XattrName               // name of an extended attribute that is read: user.* is content, the rest describes
	ListFD                  // descriptor of a directory whose listing is filtered
	GroupID                 // of an Object only: a process group, 0 the own one (PrioWhich)
	IPCKey                  // key_t of shmget(2), semget(2), msgget(2)
	IPCID                   // number of a segment, set or queue
	UserID                  // of an Object only: the processes of a user, 0 the own one (PrioWhich)
)

// Arg is one argument of a Row.
type Arg struct {
	Kind   Kind
	Access Access
	Act    Act
	NoLink bool // Path: the last link is not followed (lchown, link, l*xattr)
	NullFD bool // Path: a NULL pointer means the dirfd itself (utimensat, statx)
	// EmptyOK: Path: "" means the dirfd's object without AT_EMPTY_PATH (readlinkat).
	EmptyOK bool
}

// Act is what a call does to a directory entry, where the access alone does not say it.
type Act uint8

// The acts that rules tell apart.
const (
	ActOther        Act = iota
	ActMkdir            // mkdir
	ActMknod            // mknod
	ActRenameSource     // a name is taken away by rename
	ActRenameTarget     // a name is made by rename
	ActExchange         // both, RENAME_EXCHANGE
	ActLinkSource       // gets a second name
	ActLinkTarget       // is the second name
	ActSymlink          // symlink
	ActRmdir            // rmdir
)

// Test is a condition on one argument under which the call stops; the seccomp filter is
// compiled from it. Low 32 bits only, as the kernel truncates int arguments (techniques
// K7), except NonNull, which looks at the whole word, and those that look at addresses.
type Test struct {
	Arg  int
	Op   TestOp
	Bits uint32 // AnyBit, NoBit: the mask; Equal, Masked: the value
	Mask uint32 // Masked only
	// And: a second condition that must hold too.
	And *Test
}

// TestOp is the comparison of a Test.
type TestOp uint8

// The comparisons.
const (
	AnyBit   TestOp = iota // arg & Bits != 0
	NoBit                  // arg & Bits == 0
	Equal                  // arg == Bits
	NotEqual               // arg != Bits
	NonNull                // arg != 0, all 64 bits
	Masked                 // arg & Mask == Bits
	High                   // arg>>32 & Mask == Bits
	HighSet                // arg>>32 != 0
)

// Need names a property of the policy without which a row is not traced at all.
type Need uint8

// The needs. A row with need NeedAlways is always traced.
const (
	NeedAlways    Need = iota
	NeedReads          // stops always if some rule can refuse a read, else only under When
	NeedExecMap        // PROT_EXEC mappings: only with exec rules
	NeedBlind          // only if ptguard lacks CAP_SYS_PTRACE (PR_SET_DUMPABLE)
	NeedLooks          // only if some rule can refuse a look
	NeedLists          // only if a listing may have to leave names out
	NeedReadsOnly      // only if some rule can refuse a read
	NeedProbes         // access(2): under When if an act can be refused, always with NeedLooks
	NeedGuard          // only where mseal(2) is missing: the argument window must not be unmapped
	NeedRules          // dropped in mode open, where only guards and seals hold
	NeedStrict         // only in mode strict
	NeedCores          // only where a core dump is a file that the kernel writes past every rule
	NeedHardened       // only in the hardened profile
	NeedForks          // only with a limit of processes
	NeedNoUnix         // only if the policy leaves the address family out of net.families
	NeedNoInet
	NeedNoInet6
	NeedNoNetlink
	NeedCopies // only if a seal forbids to copy
	NeedScopes // only with scopes
	NeedNear   // only where ptguard keeps a serial tree on its own CPU
)

// Answer is a constant refusal: the row is judged without the policy.
type Answer struct {
	Errno  syscall.Errno
	Guard  string // name of the guard, shown as rule "guard NAME"
	Reason string // one sentence
	Hint   string // what to do instead, if anything
}

// Row is one system call that the tracer looks at. There is no number and no arch column:
// numbers come from the arch tables (see numbers.go).
type Row struct {
	Name  string
	Event string // PEP 578 audit event where CPython raises one, else ""
	Args  []Arg
	// When: the call stops only if one of these holds; empty: it always stops.
	When []Test
	Need Need
	// Const is set for constant refusals.
	Const *Answer
	// Special is set where the tracer answers by itself.
	Special Special
	// IPC is the kind of System V object, IPCCommand the argument of its *ctl(2) command.
	IPC        IPC
	IPCCommand int
	// Flags: what creat(2) and the like imply: open flags of a call without the argument.
	Flags int
}

// IPC is a kind of System V object.
type IPC uint8

// The kinds.
const (
	NoIPC IPC = iota
	SharedMemory
	Semaphores
	MessageQueue
)

// String names the kind as ipcs(1) does.
func (k IPC) String() string {
	return [...]string{"no object", "shared memory segment", "semaphore array", "message queue"}[k]
}

// Special marks the rows that the tracer answers by itself.
type Special uint8

// The special rows.
const (
	NotSpecial Special = iota
	Untrace            // clone(2) with CLONE_UNTRACED: the bit is cleared in the register
	Listing            // getdents: hidden names are taken out when the call returns
	Signal             // a signal: refused to outsiders, fanned out in a group
	Changes            // credentials or umask of the caller: what is known of them is forgotten
	Filters            // the caller loads a seccomp filter of its own
	Range              // a range of memory that the argument window must not lie in
	Forks              // makes a process: refused beyond the limit
	Owns               // the caller becomes the owner of a descriptor's signals: noted
	Dumpable           // PR_SET_DUMPABLE 0, PR_GET_DUMPABLE: answered without taking effect
	Affinity           // a CPU affinity is read or set: not while it is ptguard's
)

// Policy tells which needs of rows a policy has.
type Policy struct {
	Reads   bool // some rule can refuse a read
	ExecMap bool // some rule can refuse an executable mapping
	Blind   bool // ptguard cannot look into non-dumpable tasks
	Looks   bool // some rule can refuse a look
	Lists   bool // some name may have to be left out of a listing
	Guard   bool // mseal(2) is missing
	Rules   bool // there are rules at all: not mode open
	Strict  bool // the mode is strict
	Cores   bool // there are rules, and core dumps go to files
	// Hardened: the hardened profile is on. Forks: processes are counted.
	Hardened, Forks bool
	// Scopes: there are scopes. Near: there is more than one CPU.
	Scopes, Near bool
	// The address families that the policy leaves out.
	NoUnix, NoInet, NoInet6, NoNetlink bool
	Seals                              bool // there are seals, in whatever mode
	Copies                             bool // some seal forbids to copy
}

// Conditions gives the tests under which a call of this row stops with policy p. traced
// false: never; traced with no tests: always.
func (r *Row) Conditions(p Policy) (tests []Test, traced bool) {
	switch r.Need {
	case NeedReads:
		if p.Reads {
			return nil, true
		}
	case NeedExecMap:
		return r.When, p.ExecMap
	case NeedBlind:
		return r.When, p.Blind
	case NeedLooks:
		return r.When, p.Looks
	case NeedLists:
		return r.When, p.Lists
	case NeedReadsOnly:
		return r.When, p.Reads
	case NeedProbes:
		if p.Looks {
			return nil, true
		}
		return r.When, p.Rules || p.Seals
	case NeedCopies:
		return r.When, p.Copies
	case NeedScopes:
		return r.When, p.Scopes
	case NeedNear:
		return r.When, p.Near
	case NeedRules:
		return r.When, p.Rules
	case NeedGuard:
		return r.When, p.Guard
	case NeedCores:
		return r.When, p.Cores
	case NeedHardened:
		return r.When, p.Hardened
	case NeedForks:
		return r.When, p.Forks
	case NeedNoUnix:
		return r.When, p.NoUnix
	case NeedNoInet:
		return r.When, p.NoInet
	case NeedNoInet6:
		return r.When, p.NoInet6
	case NeedNoNetlink:
		return r.When, p.NoNetlink
	case NeedStrict:
		return r.When, p.Strict
	case NeedAlways:
	}
	return r.When, true
}

// Holds tells whether the test is true of the six argument words.
func (t Test) Holds(args *[6]uint64) bool {
	low, ok := uint32(args[t.Arg]), false
	switch t.Op {
	case AnyBit:
		ok = low&t.Bits != 0
	case NoBit:
		ok = low&t.Bits == 0
	case Equal:
		ok = low == t.Bits
	case NotEqual:
		ok = low != t.Bits
	case NonNull:
		ok = args[t.Arg] != 0
	case Masked:
		ok = low&t.Mask == t.Bits
	case High:
		ok = uint32(args[t.Arg]>>32)&t.Mask == t.Bits
	case HighSet:
		ok = args[t.Arg]>>32 != 0
	}
	return ok && (t.And == nil || t.And.Holds(args))
}
