// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

//go:generate sh -c "go run . events --format markdown >../../docs/system-calls.md"

// eventsCmd is "ptguard events": the system call table as the filter and the tracer use it.
type eventsCmd struct {
	Format string `enum:"table,json,markdown" default:"table" help:"How to show it: table, json or markdown (default ${default})."`
}

// Run is called by kong.
func (c *eventsCmd) Run() error {
	if err := writeEvents(os.Stdout, c.Format); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// The ways a call is treated.
const (
	treatJudged   = "judged"   // decoded, resolved and put to the policy
	treatRefused  = "refused"  // by a guard, whatever the policy says
	treatAnswered = "answered" // by ptguard itself, without the policy
	treatUntraced = "untraced" // runs without a stop
)

// eventRow is one way of one system call: a call with several rows has several.
type eventRow struct {
	Syscall string `json:"syscall"`
	// Arch lists the architectures that have the call.
	Arch []string `json:"arch"`
	// Event is the PEP 578 audit event, if CPython raises one.
	Event   string        `json:"event,omitempty"`
	Treated string        `json:"treated"`
	Objects []eventObject `json:"objects,omitempty"`
	// Where is the property of the policy or machine without which the call is not traced.
	Where string `json:"where,omitempty"`
	// When: one of these must hold for the call to stop; none: it always stops.
	When []string `json:"when,omitempty"`
	// Always: under Where it stops whatever When says.
	Always bool   `json:"always,omitempty"`
	Errno  string `json:"errno,omitempty"`
	Guard  string `json:"guard,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Notes: refusals and answers that depend on the words of the call.
	Notes []string `json:"notes,omitempty"`
}

// eventObject is one argument that names something.
type eventObject struct {
	Argument int    `json:"argument"` // from 1
	Kind     string `json:"kind"`
	// Access needed on it; FromFlags: the open flags say (also).
	Access    []string `json:"access,omitempty"`
	FromFlags bool     `json:"from_flags,omitempty"`
	Act       string   `json:"act,omitempty"`
	NoFollow  bool     `json:"nofollow,omitempty"`
}

// events lists every row and every passthrough name, by name.
func events() []eventRow {
	arches := map[string][]string{}
	for _, a := range []*decode.Arch{decode.AMD64, decode.ARM64} {
		for _, name := range a.Names() {
			if !slices.Contains(arches[name], a.Name) {
				arches[name] = append(arches[name], a.Name)
			}
		}
	}
	var out []eventRow
	for i := range decode.Rows {
		out = append(out, judgedRow(&decode.Rows[i]))
	}
	for _, group := range decode.Passthrough {
		for name := range strings.FieldsSeq(group.Names) {
			out = append(out, eventRow{Syscall: name, Treated: treatUntraced, Reason: group.Why})
		}
	}
	for i := range out {
		out[i].Arch = arches[out[i].Syscall]
	}
	slices.SortStableFunc(out, func(a, b eventRow) int { return strings.Compare(a.Syscall, b.Syscall) })
	return out
}

func judgedRow(row *decode.Row) eventRow {
	e := eventRow{Syscall: row.Name, Event: row.Event, Treated: treatJudged, When: conditions(row, row.When)}
	e.Where, e.Always = needWords(row.Need)
	switch {
	case row.Const != nil:
		e.Treated, e.Errno, e.Guard, e.Reason = treatRefused, unix.ErrnoName(row.Const.Errno), row.Const.Guard, row.Const.Reason
		return e
	case row.Special == decode.Untrace:
		e.Treated, e.Reason = treatAnswered, "CLONE_UNTRACED is cleared in the register, so that the child is guarded too"
		return e
	case row.Special == decode.Forks:
		e.Treated, e.Reason = treatAnswered, "it runs while the tree has fewer processes than limits.processes, else EAGAIN"
		return e
	case row.Special == decode.Owns:
		e.Treated, e.Reason = treatAnswered, "it runs, and its process enters no scope after that: others could raise signals in it"
		return e
	case row.Special == decode.Dumpable:
		e.Treated, e.Reason = treatAnswered, "remembered, and without effect: ptguard could not read the arguments of a task that is not dumpable"
		return e
	case row.Special == decode.Affinity:
		e.Treated, e.Reason = treatAnswered, "it runs, when the mask that ptguard gives a task for the moment of its resume is put back"
		return e
	case row.Special == decode.Changes:
		e.Treated, e.Reason = treatAnswered, "it runs; ptguard notes that the task's credentials are to be read anew"
		return e
	case row.Special == decode.Range:
		e.Treated, e.Reason = treatAnswered, "refused on the argument window, else it runs"
		if row.Need == decode.NeedGuard {
			e.When = nil // conditions on addresses say nothing to people
		}
		return e
	case row.Special == decode.Filters:
		e.Treated, e.Reason = treatAnswered, "it runs; ptguard notes that the task has a filter of its own"
		return e
	case row.Special == decode.Listing:
		e.Notes = append(e.Notes, "hidden names are taken out when the call returns")
	case row.Special == decode.Signal:
		e.Notes = append(e.Notes, "a group or -1 reaches the members inside the tree only")
	}
	if row.IPC != decode.NoIPC {
		e.Notes = append(e.Notes, "only what the tree made")
	}
	if row.Need == decode.NeedCores {
		e.Notes = append(e.Notes, "RLIMIT_CORE is 0, and what the program set before is told")
	}
	if row.Name == "setpriority" || row.Name == "ioprio_set" {
		e.Notes = append(e.Notes, "of a group or user the members inside the tree are changed")
	}
	for i, arg := range row.Args {
		if o, ok := objectOf(row, i); ok {
			e.Objects = append(e.Objects, o)
		}
		if note := argNotes()[arg.Kind]; note != "" {
			e.Notes = append(e.Notes, note)
		}
	}
	return e
}

// argNotes: what arguments that name nothing change.
var argNotes = sync.OnceValue(func() map[decode.Kind]string {
	return map[decode.Kind]string{
		decode.ModeType:    "block and character devices are refused (guard devices)",
		decode.RenameFlags: "RENAME_EXCHANGE needs remove and create on both names; RENAME_WHITEOUT is refused (guard devices)",
		decode.AccessMode:  "answers as the act would: R_OK asks for read, W_OK for write, X_OK for exec",
		decode.XattrName:   "reading an attribute outside security.* and system.* needs read",
		decode.Timex:       "setting the clock (modes is not 0) is refused (guard machine)",
		decode.OpenHow:     "flags and RESOLVE_* are read from struct open_how",
	}
})

// objectOf describes argument i of a row, if it names something.
func objectOf(row *decode.Row, i int) (eventObject, bool) {
	arg := row.Args[i]
	o := eventObject{Argument: i + 1, Kind: kindWords()[arg.Kind], Access: arg.Access.Names(), Act: actWords()[arg.Act], NoFollow: arg.NoLink}
	if o.Kind == "" || arg.Kind == decode.FD && arg.Access == 0 {
		return o, false
	}
	switch {
	case arg.Kind == decode.Path && arg.Access == 0 && row.Flags == 0:
		o.FromFlags = true
	case arg.Kind == decode.Path && arg.Access == 0: // creat(2)
		o.Access = (decode.Write | decode.Create).Names()
	}
	if arg.NullFD {
		o.Kind += " or descriptor"
	}
	return o, true
}

// kindWords are the kinds that name an object; the others only shape one.
var kindWords = sync.OnceValue(func() map[decode.Kind]string {
	return map[decode.Kind]string{
		decode.FD: "descriptor", decode.Path: "path", decode.Entry: "entry",
		decode.Sockaddr: "address", decode.Msghdr: "address of the message", decode.Mmsghdr: "address of each message",
		decode.PID: "process", decode.SignalPID: "process or group", decode.ThreadID: "thread", decode.PIDFD: "pidfd",
		decode.PrioWhich: "process, group or user", decode.OwnerArg: "owner of signals", decode.OwnerPtr: "owner of signals",
		decode.IPCKey: "key of an IPC object", decode.IPCID: "IPC object",
		decode.MapFD: "mapped file", decode.MapRange: "mapped file", decode.SocketFD: "socket", decode.ListFD: "directory",
	}
})

var actWords = sync.OnceValue(func() map[decode.Act]string {
	return map[decode.Act]string{
		decode.ActMkdir: "mkdir", decode.ActMknod: "mknod", decode.ActRenameSource: "rename source", decode.ActRenameTarget: "rename target",
		decode.ActLinkSource: "link source", decode.ActLinkTarget: "link target", decode.ActSymlink: "symlink", decode.ActRmdir: "rmdir",
	}
})

// needWords says where a row is traced, and whether its conditions then do not matter.
func needWords(n decode.Need) (where string, always bool) {
	//exhaustive:enforce
	switch n {
	case decode.NeedAlways:
		return "", false
	case decode.NeedReads:
		return "a rule can refuse a read", true
	case decode.NeedReadsOnly:
		return "a rule can refuse a read", false
	case decode.NeedExecMap:
		return "a rule can refuse an executable mapping", false
	case decode.NeedBlind:
		return "ptguard lacks CAP_SYS_PTRACE", false
	case decode.NeedLooks:
		return "a rule can refuse a look", false
	case decode.NeedLists:
		return "a rule hides names", false
	case decode.NeedProbes:
		return "a rule can refuse a look", true
	case decode.NeedRules:
		return "the mode is not open", false
	case decode.NeedStrict:
		return "the mode is strict", false
	case decode.NeedCores:
		return "core dumps go to files and the mode is not open", false
	case decode.NeedScopes:
		return "there are scopes", false
	case decode.NeedNear:
		return "there is more than one CPU", false
	case decode.NeedCopies:
		return "a seal forbids to copy", false
	case decode.NeedGuard:
		return "the kernel lacks mseal(2)", false
	case decode.NeedHardened:
		return "the hardened profile is on", false
	case decode.NeedForks:
		return "processes are limited", false
	case decode.NeedNoUnix, decode.NeedNoInet, decode.NeedNoInet6, decode.NeedNoNetlink:
		return "net.families leaves it out", false
	}
	return "?", false
}

// needs is the objects in one line: "entry: remove (rename source); …".
func (e *eventRow) needs() string {
	var out []string
	for _, o := range e.Objects {
		text := o.Kind + ": " + strings.Join(o.Access, " ")
		if o.FromFlags {
			text += "as the flags say"
		}
		var more []string
		if o.Act != "" {
			more = append(more, o.Act)
		}
		if o.NoFollow {
			more = append(more, "the link itself")
		}
		if len(more) > 0 {
			text += " (" + strings.Join(more, ", ") + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// stops says when the call stops: "always", "if …", "where …".
func (e *eventRow) stops() string {
	when := alternatives(e.When)
	switch {
	case e.Treated == treatUntraced:
		return "never"
	case e.Where == "" && when == "":
		return "always"
	case e.Where == "":
		return "if " + when
	case when == "":
		return "where " + e.Where
	case e.Always && e.Syscall != "open" && e.Syscall != "openat":
		// access(2) without R, W or X only looks.
		return "where " + e.Where + ", else outside mode open if " + when
	case e.Always:
		return "where " + e.Where + ", else if " + when
	}
	return "where " + e.Where + ", if " + when
}

// how is when it stops and what then happens, in one line.
func (e *eventRow) how() string {
	switch e.Treated {
	case treatJudged:
		return strings.Join(append([]string{e.stops()}, e.Notes...), "; ")
	case treatRefused:
		return fmt.Sprintf("%s: %s, guard %s: %s", e.stops(), e.Errno, e.Guard, e.Reason)
	case treatAnswered:
		return e.stops() + ": " + e.Reason
	}
	return e.Reason
}

// name is the call with the architecture, if only one has it.
func (e *eventRow) name() string {
	if len(e.Arch) == 1 {
		return e.Syscall + " (" + e.Arch[0] + ")"
	}
	return e.Syscall
}

func writeEvents(w io.Writer, format string) error {
	all := events()
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(all)
	case "markdown":
		return eventsMarkdown(w, all)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CALL\tTREATED\tEVENT\tNEEDS\tHOW")
	for i := range all {
		e := &all[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", e.name(), e.Treated, dash(e.Event), dash(e.needs()), e.how())
	}
	return t.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// eventsMarkdown is docs/system-calls.md.
func eventsMarkdown(w io.Writer, all []eventRow) error {
	var b strings.Builder
	b.WriteString(systemCallsHead)
	tables := []struct {
		title, text, head string
		treated           []string
		cells             func(e *eventRow) []string
	}{
		{
			"Judged", "The policy is asked about each object. *Stops* says when the call is looked at; else it runs untraced, for no rule can refuse it.",
			"call | audit event | needs | stops | notes",
			[]string{treatJudged},
			func(e *eventRow) []string {
				return []string{e.Event, e.needs(), e.stops(), strings.Join(e.Notes, "; ")}
			},
		},
		{
			"Refused by a guard", "No policy can allow these. ENOSYS is for calls that programs try first and do without.",
			"call | audit event | if | errno | guard | why",
			[]string{treatRefused},
			func(e *eventRow) []string {
				return []string{e.Event, e.stops(), e.Errno, e.Guard, e.Reason}
			},
		},
		{
			"Answered by ptguard", "", "call | audit event | if | what happens",
			[]string{treatAnswered},
			func(e *eventRow) []string { return []string{e.Event, e.stops(), e.Reason} },
		},
	}
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n", t.title)
		if t.text != "" {
			b.WriteString(t.text + "\n\n")
		}
		fmt.Fprintf(&b, "| %s |\n|%s\n", t.head, strings.Repeat("---|", strings.Count(t.head, "|")+1))
		for i := range all {
			e := &all[i]
			if slices.Contains(t.treated, e.Treated) {
				cells := append([]string{"`" + e.Syscall + "`" + strings.TrimPrefix(e.name(), e.Syscall)}, t.cells(e)...)
				for j := range cells {
					cells[j] = strings.ReplaceAll(cells[j], "|", `\|`)
				}
				fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
			}
		}
	}
	b.WriteString("\n## Untraced\n")
	for _, group := range decode.Passthrough {
		names := strings.Fields(group.Names)
		slices.Sort(names)
		fmt.Fprintf(&b, "\n**%s**: %s\n", group.Why, strings.Join(names, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const systemCallsHead = `<!-- Generated by "go generate ./cmd/ptguard"; a test fails when it is stale. -->

# System calls

What ptguard does with each system call of Linux on amd64 and arm64, from the table that the filter and the
tracer use. The same as ` + "`ptguard events`" + `, which also writes JSON. A call that is on no list here, and every
call of another ABI (i386, x32), is refused with ENOSYS and recorded.

The audit events are those of PEP 578 that CPython raises for the call; where it raises none, there is none.
`
