// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

// ecsVersion is the version of the Elastic Common Schema whose names and values are used.
const ecsVersion = "8.11.0"

// NewECS returns a Renderer of one JSON object a line with the names of the Elastic Common
// Schema (elastic.co/guide/en/ecs); what that has no name for stands beneath "ptguard".
func NewECS(w io.Writer) Renderer {
	e := &ecs{w: bufio.NewWriterSize(w, 64<<10)}
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false) // <, > and & are ordinary in paths
	return e
}

type ecs struct {
	w    *bufio.Writer
	enc  *json.Encoder
	buf  bytes.Buffer
	line []byte
}

type ecsLine struct {
	Time        string       `json:"@timestamp"`
	ECS         ecsECS       `json:"ecs"`
	Event       ecsEvent     `json:"event"`
	Message     string       `json:"message"`
	Log         *ecsLog      `json:"log,omitempty"`
	Process     *ecsProcess  `json:"process,omitempty"`
	File        *ecsFile     `json:"file,omitempty"`
	Destination *ecsEndpoint `json:"destination,omitempty"`
	Server      *ecsEndpoint `json:"server,omitempty"`
	Network     *ecsNetwork  `json:"network,omitempty"`
	Rule        *ecsRule     `json:"rule,omitempty"`
	Own         ecsOwn       `json:"ptguard"`
}

type ecsECS struct {
	Version string `json:"version"`
}

type ecsEvent struct {
	Kind     string   `json:"kind"`
	Category []string `json:"category,omitempty"`
	Type     []string `json:"type,omitempty"`
	Action   string   `json:"action,omitempty"`
	Outcome  string   `json:"outcome,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Sequence uint64   `json:"sequence"`
	ID       string   `json:"id"`
	Module   string   `json:"module"`
	Dataset  string   `json:"dataset"`
	Duration int64    `json:"duration,omitempty"` // nanoseconds
}

type ecsLog struct {
	Level string `json:"level"`
}

type ecsProcess struct {
	PID        int        `json:"pid,omitempty"`
	Name       string     `json:"name,omitempty"`
	Executable string     `json:"executable,omitempty"`
	Args       []string   `json:"args,omitempty"`
	ArgsCount  int        `json:"args_count,omitempty"`
	Parent     *ecsParent `json:"parent,omitempty"`
	Thread     *ecsThread `json:"thread,omitempty"`
}

type ecsParent struct {
	PID int `json:"pid"`
}

type ecsThread struct {
	ID int `json:"id"`
}

type ecsFile struct {
	Path      string `json:"path"`
	Name      string `json:"name,omitempty"`
	Directory string `json:"directory,omitempty"`
}

type ecsEndpoint struct {
	Address string `json:"address"`
	IP      string `json:"ip,omitempty"`
	Port    int    `json:"port,omitempty"`
}

type ecsNetwork struct {
	Type string `json:"type"`
}

type ecsRule struct {
	Name    string `json:"name"`
	Ruleset string `json:"ruleset,omitempty"`
}

// ecsOwn is what the common names do not cover, by the names of the trace.
type ecsOwn struct {
	Run     string   `json:"run"`
	Kind    Kind     `json:"kind"`
	Verdict string   `json:"verdict,omitempty"`
	Event   string   `json:"event,omitempty"`
	Access  []string `json:"access,omitempty"`
	Flags   []string `json:"flags,omitempty"`
	Path    string   `json:"path,omitempty"`
	Family  string   `json:"family,omitempty"`
	Errno   string   `json:"errno,omitempty"`
	Hint    string   `json:"hint,omitempty"`
	Fix     string   `json:"fix,omitempty"`
	Scope   string   `json:"scope,omitempty"`
	Count   uint64   `json:"count,omitempty"`
	Stops   int      `json:"stops,omitempty"`
	Start   *Start   `json:"start,omitempty"`
	End     *End     `json:"end,omitempty"`
}

func (e *ecs) Add(r *Record, _ []byte) error {
	e.buf.Reset()
	if err := e.enc.Encode(ecsOf(r)); err != nil {
		return err
	}
	e.line = append(appendSafeJSON(e.line[:0], e.buf.Bytes()), '\n')
	_, err := e.w.Write(e.line)
	return err
}

func (e *ecs) Flush() error { return e.w.Flush() }
func (e *ecs) Close() error { return e.w.Flush() }

func ecsOf(r *Record) *ecsLine {
	out := &ecsLine{
		Time: r.Time.UTC().Format(timeLayout), ECS: ecsECS{ecsVersion}, Message: ecsMessage(r),
		Event: ecsEvent{
			Kind: "event", Action: r.Syscall, Reason: r.Reason, Sequence: r.Seq, ID: r.Run + "-" + strconv.FormatUint(r.Seq, 10),
			Module: "ptguard", Dataset: "ptguard.trace", Duration: r.TookUS * 1000,
		},
		Own: ecsOwn{
			Run: r.Run, Kind: r.Kind, Verdict: r.Verdict, Event: r.Event, Access: r.Access, Flags: r.Flags, Path: r.Path, Family: r.Family,
			Errno: r.Errno, Hint: r.Hint, Fix: r.Fix, Scope: r.Scope, Count: r.Count, Stops: r.Stops, Start: r.Start, End: r.End,
		},
	}
	if out.Event.Action == "" {
		out.Event.Action = string(r.Kind)
	}
	out.classify(r)
	if r.PID != 0 || r.Exe != "" || r.Comm != "" {
		p := &ecsProcess{PID: r.PID, Name: r.Comm, Executable: r.Exe, Args: r.Argv, ArgsCount: len(r.Argv)}
		if r.PPID != 0 {
			p.Parent = &ecsParent{r.PPID}
		}
		if r.TID != 0 {
			p.Thread = &ecsThread{r.TID}
		}
		out.Process = p
	}
	if strings.HasPrefix(r.Resolved, "/") {
		out.File = &ecsFile{Path: r.Resolved, Name: path.Base(r.Resolved), Directory: path.Dir(r.Resolved)}
	}
	if r.Addr != "" {
		out.address(r)
	}
	if r.Rule != "" {
		out.Rule = &ecsRule{Name: r.Rule, Ruleset: r.Layer}
	}
	return out
}

// classify fills in the categories and types; those of one line are an allowed pair of the
// schema's page "Categorization fields".
func (l *ecsLine) classify(r *Record) {
	e := &l.Event
	switch r.Kind {
	case KindStart:
		e.Category, e.Type = []string{"session"}, []string{"start"}
	case KindEnd:
		e.Category, e.Type = []string{"session"}, []string{"end"}
	case KindExec:
		e.Category, e.Type, e.Outcome = []string{"process"}, []string{"start"}, "success"
	case KindExit:
		e.Category, e.Type = []string{"process"}, []string{"end"}
	case KindGrant:
		e.Category, e.Type = []string{"configuration"}, []string{"change"}
	case KindWarning:
		l.Log = &ecsLog{"warning"}
	case KindDenial, KindSeal, KindScope, KindFence, KindDecision:
		l.act(r)
	}
}

// act classifies a judged call.
func (l *ecsLine) act(r *Record) {
	e := &l.Event
	has := func(word string) bool { return slices.Contains(r.Access, word) }
	refused := r.Kind.Refusal()
	verdict := "allowed"
	e.Outcome = "success"
	if refused || r.Errno != "" {
		e.Outcome = "failure"
	}
	if refused {
		verdict = "denied"
	}
	switch {
	case has("connect"):
		e.Category, e.Type = []string{"network"}, []string{"connection", verdict}
	case has("bind"):
		e.Category, e.Type = []string{"network"}, []string{"info", verdict}
	case has("exec"):
		e.Category, e.Type = []string{"process"}, []string{"start"}
	case has("reach"):
		e.Category, e.Type = []string{"process"}, []string{"access"}
	case len(r.Access) == 0:
		e.Category, e.Type = []string{"process"}, []string{"info"}
	default:
		e.Category = []string{"file"}
		for _, t := range []struct{ word, is string }{{"create", "creation"}, {"remove", "deletion"}, {"write", "change"}, {"attr", "change"}} {
			if has(t.word) && !slices.Contains(e.Type, t.is) {
				e.Type = append(e.Type, t.is)
			}
		}
		if has("read") || has("look") || has("list") || has("map") || len(e.Type) == 0 {
			e.Type = append(e.Type, "access")
		}
	}
	if refused {
		// denied is no type of files and processes; it is one of detections.
		e.Kind = "alert"
		e.Category = append(e.Category, "intrusion_detection")
		if !slices.Contains(e.Type, verdict) {
			e.Type = append(e.Type, verdict)
		}
	}
}

func (l *ecsLine) address(r *Record) {
	to := &ecsEndpoint{Address: r.Addr, Port: r.Port}
	if ip, err := netip.ParseAddr(r.Addr); err == nil {
		to.IP = ip.WithZone("").String()
		l.Network = &ecsNetwork{"ipv6"}
		if ip.Is4() {
			l.Network.Type = "ipv4"
		}
	}
	if slices.Contains(r.Access, "bind") {
		l.Server = to
	} else {
		l.Destination = to
	}
}

func ecsMessage(r *Record) string {
	switch {
	case r.Start != nil:
		return "run started: " + strings.Join(r.Start.Command, " ")
	case r.End != nil:
		return "run ended: " + endText(r.End)
	case r.Kind.Refusal() || r.Kind == KindDecision:
		return refusalText(r)
	case r.Reason != "":
		return string(r.Kind) + ": " + r.Reason
	}
	return string(r.Kind) + ": " + strings.Join(r.Argv, " ")
}
