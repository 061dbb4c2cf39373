// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

//go:embed report/report.html
var reportHTML string

//go:embed report/report.css
var reportCSS string

//go:embed report/report.js
var reportJS string

// Limits of a report: records it lists, and of these what is no refusal.
const (
	reportRows    = 200_000
	reportAllowed = 150_000
)

// Report is a Renderer of one HTML page that needs nothing else: no network, no other file.
// It keeps its records in memory, as the page does; beyond 200 000 it only counts them.
//
// What a tree chose (names, arguments) is text of a JSON block in which no '<' occurs, and
// the page's script makes text nodes of it. A content security policy allows that script
// and that style by their digests, and nothing else.
type Report struct {
	w    io.Writer
	name string
	// Bad is how many lines of the trace could not be read, for a note on the page.
	Bad int

	page    reportPage
	rows    reportRowLists
	strings table1
	who     tableN[[6]int]
	what    tableN[[4]int]
	why     tableN[[8]int]
	runs    map[string]int
	last    time.Time // of the last row
	lastSeq int64
}

// NewReport returns a Report of the trace called name.
func NewReport(w io.Writer, name string) *Report {
	p := &Report{w: w, name: name, runs: make(map[string]int)}
	p.strings.of("") // index 0 is nothing
	return p
}

// reportPage is the data block of the page; report.js reads it.
type reportPage struct {
	Title   string         `json:"title"`
	Name    string         `json:"name"`
	Base    float64        `json:"base"` // milliseconds since 1970 of time 0
	Total   int            `json:"total"`
	Denials uint64         `json:"denials"`
	Bad     int            `json:"bad"`
	Kinds   []Kind         `json:"refusals"` // the kinds that are refusals
	Runs    []*reportRun   `json:"runs"`
	Strings []string       `json:"strings"`
	Who     [][6]int       `json:"who"`  // run, pid, ppid, exe, comm, argv
	What    [][4]int       `json:"what"` // event, syscall, access, flags
	Why     [][8]int       `json:"why"`  // kind, verdict, rule, layer, reason, hint, fix, errno
	Rows    reportRowLists `json:"rows"`
}

// reportRowLists are the records: one column a list. Times and numbers are differences to
// the row before, which makes them short.
type reportRowLists struct {
	Time  []int64  `json:"t"` // microseconds
	Seq   []int64  `json:"seq"`
	Who   []int    `json:"who"`
	What  []int    `json:"what"`
	Why   []int    `json:"why"`
	Obj   []int    `json:"obj"`
	Path  []int    `json:"path"` // as given, where it is not the object
	Count []uint64 `json:"count"`
}

type reportRun struct {
	ID    string  `json:"id"`
	T0    float64 `json:"t0"` // microseconds since Base
	T1    float64 `json:"t1"`
	Start *Start  `json:"start,omitempty"`
	End   *End    `json:"end,omitempty"`

	first, last time.Time
}

// table1 and tableN give each different value an index.
type table1 struct {
	list  []string
	index map[string]int
}

func (t *table1) of(s string) int {
	if i, known := t.index[s]; known {
		return i
	}
	if t.index == nil {
		t.index = make(map[string]int)
	}
	i := len(t.list)
	clean := EscapeText(s) // a stranger's file
	t.list = append(t.list, clean)
	t.index[strings.Clone(s)] = i
	return i
}

type tableN[T comparable] struct {
	list  []T
	index map[T]int
}

func (t *tableN[T]) of(v T) int {
	if i, known := t.index[v]; known {
		return i
	}
	if t.index == nil {
		t.index = make(map[T]int)
	}
	i := len(t.list)
	t.list = append(t.list, v)
	t.index[v] = i
	return i
}

// Add takes one record.
func (p *Report) Add(r *Record, _ []byte) error {
	p.page.Total++
	run := p.run(r)
	if r.Kind.Refusal() {
		p.page.Denials += max(r.Count, 1)
	}
	if n := len(p.rows.Time); n >= reportRows || n >= reportAllowed && r.Kind == KindDecision {
		return nil
	}
	s := p.strings.of
	object := Object(r)
	given := 0
	if r.Path != object {
		given = s(r.Path)
	}
	argv := r.Argv
	if r.Start != nil {
		argv = r.Start.Command
	}
	reason := r.Reason
	if r.End != nil {
		reason = cmp.Or(reason, endText(r.End))
	}
	if p.last.IsZero() {
		p.last = r.Time
		p.page.Base = float64(r.Time.UnixMicro()) / 1000
	}
	rows := &p.rows
	rows.Time = append(rows.Time, r.Time.UnixMicro()-p.last.UnixMicro())
	rows.Seq = append(rows.Seq, int64(r.Seq)-p.lastSeq)
	p.last, p.lastSeq = r.Time, int64(r.Seq)
	rows.Who = append(rows.Who, p.who.of([6]int{run, r.PID, r.PPID, s(r.Exe), s(r.Comm), s(strings.Join(argv, " "))}))
	rows.What = append(rows.What, p.what.of([4]int{s(r.Event), s(r.Syscall), s(strings.Join(r.Access, ", ")), s(strings.Join(r.Flags, " "))}))
	rows.Why = append(rows.Why, p.why.of([8]int{s(string(r.Kind)), s(r.Verdict), s(r.Rule), s(r.Layer), s(reason), s(r.Hint), s(r.Fix), s(r.Errno)}))
	rows.Obj, rows.Path = append(rows.Obj, s(object)), append(rows.Path, given)
	rows.Count = append(rows.Count, r.Count)
	return nil
}

// run gives the index of the record's run; a file holds few.
func (p *Report) run(r *Record) int {
	i, known := p.runs[r.Run]
	if !known {
		i = len(p.page.Runs)
		p.runs[strings.Clone(r.Run)] = i
		p.page.Runs = append(p.page.Runs, &reportRun{ID: EscapeText(r.Run), first: r.Time, last: r.Time})
	}
	run := p.page.Runs[i]
	if r.Time.Before(run.first) {
		run.first = r.Time
	}
	if r.Time.After(run.last) {
		run.last = r.Time
	}
	if r.Start != nil {
		run.Start = r.Start
	}
	if r.End != nil {
		run.End = r.End
	}
	return i
}

// Close writes the page.
func (p *Report) Close() error {
	page := &p.page
	page.Name, page.Bad = EscapeText(p.name), p.Bad
	page.Title = "ptguard report: " + page.Name
	page.Strings, page.Who, page.What, page.Why, page.Rows = p.strings.list, p.who.list, p.what.list, p.why.list, p.rows
	for _, k := range Kinds {
		if k.Refusal() {
			page.Kinds = append(page.Kinds, k)
		}
	}
	base := int64(page.Base * 1000)
	for _, run := range page.Runs {
		run.T0, run.T1 = float64(run.first.UnixMicro()-base), float64(run.last.UnixMicro()-base)
	}
	if len(page.Runs) == 0 {
		return fmt.Errorf("the trace has no records")
	}
	w := bufio.NewWriterSize(p.w, 256<<10)
	rest := reportHTML
	for _, part := range []struct {
		mark  string
		write func() error
	}{
		{"{{csp}}", func() error { return text(w, html.EscapeString(reportCSP())) }},
		{"{{title}}", func() error { return text(w, html.EscapeString(page.Title)) }},
		{"{{css}}", func() error { return text(w, reportCSS) }},
		// Go's encoder writes <, > and & as escapes: nothing in it can end the block.
		{"{{data}}", func() error { return json.NewEncoder(w).Encode(page) }},
		{"{{js}}", func() error { return text(w, reportJS) }},
	} {
		before, after, found := strings.Cut(rest, part.mark)
		if !found {
			return fmt.Errorf("report: the page has no %s", part.mark)
		}
		if err := text(w, before); err != nil {
			return err
		}
		if err := part.write(); err != nil {
			return err
		}
		rest = after
	}
	if err := text(w, rest); err != nil {
		return err
	}
	return w.Flush()
}

func text(w *bufio.Writer, s string) error {
	_, err := w.WriteString(s)
	return err
}

// reportCSP allows the page's own script and style, and nothing else: no network, no frames,
// no forms.
func reportCSP() string {
	digest := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + digest(reportJS) + "; style-src " + digest(reportCSS) + "; base-uri 'none'; form-action 'none'"
}
