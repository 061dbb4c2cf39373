// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"net/netip"
	"syscall"

	"ptguard/decode"
	"ptguard/seals"
)

// Request is one question to the policy: may this access happen on this object?
// A system call asks one Request an object (rename asks two). The tracer, `why`,
// `replay` and tests all build Requests and call Policy.Decide; nothing else decides.
//
// A Request holds facts only: everything that needs the machine (resolving, stat,
// who made what) has been done by whoever builds it.
type Request struct {
	// Access is what the act needs; every bit must be granted.
	Access decode.Access
	// File is the object for file accesses, Exec, Map, and for Connect/Bind of a unix
	// path socket (then Addr.Family is AF_UNIX too).
	File File
	// Addr is set for Connect and Bind.
	Addr Addr
	// Argv is the whole argument vector (argv[0] included) when Access has Exec and the
	// policy reads arguments (Policy.NeedsArgv); else nil.
	Argv []string
	// Program is true when Access has Exec and File is the program or script that was
	// asked for; false for a #! interpreter or ELF loader that follows from it.
	Program bool
	// Loader is true when Program is false and File is the ELF loader (PT_INTERP) of a
	// program that may be executed: it needs no entry of its own in a closed exec list.
	Loader bool
	// First marks the exec of CMD itself and what follows from it (its interpreter and
	// loader), which --no-exec lets pass.
	First bool
	// Act tells the acts apart for which the access alone does not decide.
	Act Act
	// Comm is the name of the program that acts. No decision looks at it: hints do.
	Comm string
	// To is the canonical name that a rename or exchange gives to the object.
	To string
	// Scope is the scope of the task that acts; "" is none.
	Scope string
	// Grants are the answers that hold for the run, Once those for the call at hand.
	Grants, Once *Answers
	// Silent: we look for ourselves, so nobody is asked: the answer is what it is without.
	Silent bool
	// NodeType is the S_IFMT part of the mode of mknod; for ActRenameTarget that of the
	// source, where it is a regular file; 0 for every other act.
	NodeType uint32
}

// Act is the kind of act behind a Request, where rules care: who may take the name of a
// write root, which mkdir is granted above one, and what a rename would carry along.
type Act = decode.Act

// The acts, as the table of calls has them.
const (
	ActOther        = decode.ActOther
	ActMkdir        = decode.ActMkdir
	ActMknod        = decode.ActMknod // set NodeType
	ActSymlink      = decode.ActSymlink
	ActLinkSource   = decode.ActLinkSource
	ActLinkTarget   = decode.ActLinkTarget
	ActRenameSource = decode.ActRenameSource
	ActRenameTarget = decode.ActRenameTarget
	ActExchange     = decode.ActExchange
)

// ScopeAPI is the scope of sanctioned programs (docs/manual.md, Scopes).
const ScopeAPI = "api"

// Inode identifies a file system object for the run.
type Inode struct{ Dev, Ino uint64 }

// Owner says whose process a /proc/PID path belongs to.
type Owner uint8

// The owners of a path under a proc file system.
const (
	OwnerNone     Owner = iota // not below /proc/PID
	OwnerTree                  // a process of the guarded tree
	OwnerOutsider              // any other process
	OwnerGuard                 // ptguard itself
	OwnerScoped                // a process of the tree in a scope that the caller cannot reach into
)

// File is a resolved file system object, as internal/resolve found it.
type File struct {
	// Path is the canonical absolute path (raw bytes, no links, no dots) of the object,
	// or of where it would be made. Empty when Nameless.
	Path string
	// Spellings are the other absolute names that led here: the path as given (made
	// absolute, not cleaned) and each link hop. Deny and hide rules hold for these too,
	// exec deny rules look at their base names.
	Spellings []string
	// Exists tells whether the object is there; the fields below are zero if not.
	Exists bool
	Inode  Inode
	Mode   uint32 // st_mode: S_IFMT type and permission bits
	Rdev   uint64 // st_rdev of a device node
	// Born is the time of birth, 0 if unknown, and Above are the inodes of the directories
	// above: for seals, where these ask for it (Set.Pinned, Set.Directories). Unseen: one of these
	// could not be looked at.
	Born   int64
	Above  []seals.Inode
	Unseen bool
	// Nameless: a pipe, socket, memfd, deleted file: no name in the file system.
	Nameless bool
	// Unreachable: Nameless, though it lies in a directory: the name is far longer than PATH_MAX,
	// or of another mount. A rule may cover it, and nobody can tell.
	Unreachable bool
	// Memfd: Nameless, and made by memfd_create (for exec.allow: [memfd]).
	Memfd bool
	// Held is what a descriptor of the tree already allows on this object (reopening of
	// /proc/self/fd/N, /dev/stdout); zero when it was not named through a descriptor.
	Held decode.Access
	// Made: the tree itself made this object, or a directory above it, in this run.
	Made bool
	// Owner is set for paths below /proc/PID.
	Owner Owner
	// Via is the owner of the /proc/PID whose magic link (fd/N, root, cwd, exe, ns/*) was
	// followed on the way here; OwnerNone if none was.
	Via Owner
	// KernelFS: the object lives on a file system of kernel knobs other than a process's
	// own /proc/PID: sysfs, cgroup, debugfs, tracefs, securityfs, efivarfs, bpf, procfs.
	// Paths below /proc and /sys need no such mark.
	KernelFS bool
	// OwnPTY: a /dev/pts entry that a tracee has as its controlling terminal, as one of
	// its descriptors, or opened through ptmx in this run.
	OwnPTY bool
}

// Proto tells stream from datagram, for address rules "tcp" and "udp".
type Proto uint8

// The protocols of address rules. ProtoOther (raw, SCTP, …) is matched by rules that
// name no protocol.
const (
	ProtoOther Proto = iota
	ProtoTCP
	ProtoUDP
)

// Addr is a socket address.
type Addr struct {
	Family   uint16 // AF_INET, AF_INET6, AF_UNIX, …
	Proto    Proto
	IP       netip.Addr // unmapped: ::ffff:a.b.c.d arrives as a.b.c.d
	Port     uint16
	Abstract string // abstract unix name without the leading NUL; File.Path for path sockets
	// Autobind: bind of a unix socket without a name (the kernel picks an abstract one).
	Autobind bool
	// Nameless: an abstract name of no bytes, which is a name like any other.
	Nameless bool
	// Tree: the tree itself bound this address in this run (@tree, abstract names).
	Tree bool
}

// Verdict is the policy's answer. The tracer turns Allow into continue, perform or
// reissue as the call needs; those are mechanics, not policy.
type Verdict uint8

// The verdicts, from mildest to strictest.
const (
	Allow Verdict = iota
	Ask           // to be asked (fence); as Deny where nobody can be asked
	Hide          // answered as if the object did not exist
	Deny
)

// String gives the word of the trace: allow, ask, hide, deny.
func (v Verdict) String() string { return [...]string{"allow", "ask", "hide", "deny"}[v] }

// Decision is the answer to one Request. It is small and made without allocation;
// Policy.Explain turns it into words.
type Decision struct {
	Verdict Verdict
	// Errno is the answer to a refused call: EPERM, or ENOENT for hide; 0 for Allow.
	Errno syscall.Errno
	// Rule is what decided: a rule of a file, flag or preset, a built-in root, or a
	// guard. Never nil.
	Rule *Rule
	// Fresh: it was allowed because the object was not there, so the tree must not put one
	// there before the act.
	Fresh bool
	// Access is the part of Request.Access that Rule decided (for a refusal, what is missing).
	Access decode.Access
	// by is the policy that decided, where a task is in several.
	by *Policy
}

// Refused tells whether the call must not take effect.
func (d Decision) Refused() bool { return d.Verdict != Allow }

// Explanation is a Decision in words, for records, live lines and `why`.
type Explanation struct {
	Rule   string // "policy.yaml:12:5", "flag --deny", "built-in @work", "guard proc-outsider"
	Layer  string // preset, file, flag, seal, guard, builtin, mode
	Reason string // one sentence, no full stop
	Hint   string // what to do
	Fix    string // the smallest flag or YAML line that would allow it; empty if none may
}
