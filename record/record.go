// SPDX-License-Identifier: Apache-2.0

// Package record is the denial trace: one Record a line, written by the tracer and read
// by dump, why, learn, replay and report. It knows nothing of policies or ptrace.
package record

import "time"

// Version is the schema version written to every record as v.
const Version = 1

// Kind says what a Record tells.
type Kind string

// The kinds of record.
const (
	KindStart    Kind = "start"
	KindDenial   Kind = "denial"
	KindDecision Kind = "decision"
	KindGrant    Kind = "grant" // an answer that allowed something
	KindAsk      Kind = "ask"   // a question: told to whoever answers, not written to a trace
	KindSeal     Kind = "seal"  // a refusal by a seal
	KindScope    Kind = "scope" // a refusal by the scope of a task
	KindFence    Kind = "fence" // a refusal by the fence
	KindExec     Kind = "exec"
	KindExit     Kind = "exit"
	KindWarning  Kind = "warning"
	KindEnd      Kind = "end"
)

// Refusal tells whether records of the kind are refusals: denials by a rule or guard, and
// those that have a kind of their own.
func (k Kind) Refusal() bool {
	return k == KindDenial || k == KindSeal || k == KindScope || k == KindFence
}

// Record is one line of the trace. Whoever builds one for Sink.Put or Live.Refused fills in
// names and arguments as the kernel has them: AppendLine escapes names (what is not UTF-8
// or not printable becomes \xNN, a backslash \\; see Escape) and masks secrets in Argv.
// Escaping before would escape twice. In a Record from a Reader names are escaped.
type Record struct {
	V    int       `json:"v"`
	Run  string    `json:"run"`
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`

	Event   string `json:"event,omitempty"`   // PEP 578 audit event, where CPython has one
	Syscall string `json:"syscall,omitempty"` // kernel name

	PID  int      `json:"pid,omitempty"`
	TID  int      `json:"tid,omitempty"`
	PPID int      `json:"ppid,omitempty"`
	Exe  string   `json:"exe,omitempty"`
	Comm string   `json:"comm,omitempty"`
	Argv []string `json:"argv,omitempty"`

	Scope string `json:"scope,omitempty"`

	Path     string   `json:"path,omitempty"`
	Resolved string   `json:"resolved,omitempty"`
	Access   []string `json:"access,omitempty"`
	Flags    []string `json:"flags,omitempty"`

	// The rest of what was asked, so that another policy can be asked the same (`why
	// TRACE:SEQ`, `replay`, `learn`).
	Need   []string `json:"need,omitempty"`   // all accesses of the request, where Access is a part of them
	Act    string   `json:"act,omitempty"`    // mkdir, rename-source …, where the access does not say it
	Type   string   `json:"type,omitempty"`   // reg dir lnk fifo sock chr blk, absent, nameless
	Device string   `json:"device,omitempty"` // MAJOR:MINOR of a device node
	Held   []string `json:"held,omitempty"`   // what a descriptor of the tree allows on it
	Names  []string `json:"names,omitempty"`  // links that were followed
	Facts  []string `json:"facts,omitempty"`  // made own outsider guard kernel-fs own-pty memfd program loader first …

	Addr   string `json:"addr,omitempty"`
	Port   int    `json:"port,omitempty"`
	Family string `json:"family,omitempty"`
	Proto  string `json:"proto,omitempty"` // tcp, udp

	Verdict string `json:"verdict,omitempty"` // allow deny hide ask-allow ask-deny kill
	Errno   string `json:"errno,omitempty"`   // EPERM, ENOENT, ENOSYS
	Rule    string `json:"rule,omitempty"`
	Layer   string `json:"layer,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Fix     string `json:"fix,omitempty"`
	// Agent says to a program that reads refusals by itself what to make of one, see Advise.
	Agent string `json:"agent,omitempty"`

	// Audit marks what would have been refused: nothing was (`run --audit`).
	Audit bool `json:"audit,omitempty"`

	// Count is how many identical refusals this record stands for beyond those already
	// written (folded); 0 for a record of its own.
	Count uint64 `json:"count,omitempty"`

	TookUS int64 `json:"took_us,omitempty"`
	Stops  int   `json:"stops,omitempty"`

	Ask   *Ask   `json:"ask,omitempty"`
	Start *Start `json:"start,omitempty"`
	End   *End   `json:"end,omitempty"`
}

// Start is what the first record of a run tells besides the common fields.
type Start struct {
	Version      string   `json:"version"`
	PolicyDigest string   `json:"policy_digest"`
	SealDigests  []string `json:"seal_digests,omitempty"`
	// Scopes are the scopes of the run with the digest of each policy; Scope is the one that
	// the program was started in.
	Scopes  []string `json:"scopes,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Tier    string   `json:"tier"`
	Kernel  string   `json:"kernel"`
	Command []string `json:"command"`
	Work    string   `json:"work"`
	Mode    string   `json:"mode"`
	// Tmp is the temp folder that the run made for itself, empty if it made none.
	Tmp string `json:"tmp,omitempty"`
	// Cwd and Flags, the policy's part of the command line, are what the policy is made of.
	Cwd    string   `json:"cwd,omitempty"`
	Flags  []string `json:"flags,omitempty"`
	Audit  bool     `json:"audit,omitempty"`  // nothing was enforced
	Lifted []string `json:"lifted,omitempty"` // preset denies that a file or flag lifted
	// Fence is the folder of the fence, '' for one without, empty if there is no fence. Ask
	// is who is asked, empty if nobody. Grants are the answers of earlier runs that hold.
	Fence  string   `json:"fence,omitempty"`
	Ask    string   `json:"ask,omitempty"`
	Grants []string `json:"grants,omitempty"`
}

// Ask is what a question tells besides the common fields.
type Ask struct {
	TimeoutMS int64 `json:"timeout_ms"`
	// Waiting is how many calls wait for the answer.
	Waiting int `json:"waiting"`
	// Answers are the words that may be answered. Once and Kept are what once, and run or
	// always, would allow, such as "read /srv/data".
	Answers []string `json:"answers"`
	Once    string   `json:"once"`
	Kept    string   `json:"kept,omitempty"`
}

// End is the closing record.
type End struct {
	Status    int               `json:"status"`
	Signal    string            `json:"signal,omitempty"`
	Stops     uint64            `json:"stops"`
	Decisions uint64            `json:"decisions"`
	Denials   uint64            `json:"denials"`
	ByEvent   map[string]uint64 `json:"by_event,omitempty"`
	Folded    uint64            `json:"folded"`
	Lost      uint64            `json:"lost"`
	WallMS    int64             `json:"wall_ms"`
	TreeCPUMS int64             `json:"tree_cpu_ms"`
	OwnCPUMS  int64             `json:"own_cpu_ms"`
}
