// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Renderer shows records as they are read. Add takes one; Close writes what it kept back.
// Records come from a Reader: names are escaped, and whatever else a stranger's file may
// hold is made safe for a terminal here.
type Renderer interface {
	Add(r *Record, raw []byte) error
	Close() error
}

// Flush writes what r holds back, as far as it can: a file that is followed is shown as it
// grows.
func Flush(r Renderer) error {
	if f, ok := r.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil // a summary, a tree: there is nothing to show before the end
}

// NewJSONL returns a Renderer that copies lines as they are, unknown fields included;
// characters that would act on a terminal become JSON escapes of the same text.
func NewJSONL(w io.Writer) Renderer { return &jsonl{w: bufio.NewWriterSize(w, 64<<10)} }

type jsonl struct {
	w   *bufio.Writer
	buf []byte
}

func (j *jsonl) Add(_ *Record, raw []byte) error {
	j.buf = append(appendSafeJSON(j.buf[:0], raw), '\n')
	_, err := j.w.Write(j.buf)
	return err
}

func (j *jsonl) Flush() error { return j.w.Flush() }
func (j *jsonl) Close() error { return j.w.Flush() }

// appendSafeJSON replaces invisible characters, which in valid JSON occur only in strings,
// by \u escapes. Invalid UTF-8 becomes U+FFFD, as every JSON reader takes it.
func appendSafeJSON(dst, line []byte) []byte {
	for i := 0; i < len(line); {
		if c := line[i]; c < utf8.RuneSelf {
			if c == 0x7f {
				dst = append(dst, `\u007f`...)
			} else if c >= 0x20 { // below is white space between tokens
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		switch {
		case visible(r, size):
			dst = append(dst, line[i:i+size]...)
		case size == 1:
			dst = append(dst, `\ufffd`...)
		case r > 0xffff:
			r -= 0x10000
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
		i += size
	}
	return dst
}

// tableBatch is how many rows are held back to find the widths of columns. Later rows use
// these widths; one that does not fit pushes the rest of its line.
const tableBatch = 500

var tableHead = []string{"SEQ", "TIME", "VERDICT", "ACCESS", "OBJECT", "PROGRAM", "SYSCALL", "TIMES", "RULE", "REASON"}

// giveUp lists the columns that a narrow terminal does without, first to go first.
var giveUp = []int{8, 1, 6, 9} // RULE TIME SYSCALL REASON

// Widths: of the widest cell that sets a column's width, and what REASON needs to be of use.
const (
	cellWidth   = 60
	reasonWidth = 20
)

// NewTable returns a Renderer of aligned columns. width is that of the terminal in
// columns: columns that do not fit are left out, lines still too long are cut. 0 keeps
// everything. colour marks verdicts.
func NewTable(w io.Writer, width int, colour bool) Renderer {
	return &table{w: bufio.NewWriterSize(w, 64<<10), width: width, colour: colour}
}

type table struct {
	w      *bufio.Writer
	width  int
	colour bool
	rows   [][]string // held back until widths are known
	widths []int      // -1 for a column left out
	line   []byte
}

func (t *table) Add(r *Record, _ []byte) error {
	row := tableRow(r)
	if t.widths != nil {
		return t.print(row)
	}
	if t.rows = append(t.rows, row); len(t.rows) < tableBatch {
		return nil
	}
	return t.release()
}

// release finds the widths and prints the rows held back.
func (t *table) release() error {
	rows := append([][]string{tableHead}, t.rows...)
	t.rows = nil
	t.widths = make([]int, len(tableHead))
	for _, row := range rows {
		for i, cell := range row {
			t.widths[i] = max(t.widths[i], min(columns(cell), cellWidth))
		}
	}
	for _, i := range giveUp {
		if t.width > 0 && t.need() > t.width {
			t.widths[i] = -1
		}
	}
	for _, row := range rows {
		if err := t.print(row); err != nil {
			return err
		}
	}
	return nil
}

// need is how wide a line is at least.
func (t *table) need() int {
	sum := -2
	for i, w := range t.widths {
		if i == len(t.widths)-1 {
			w = min(w, reasonWidth)
		}
		if w >= 0 {
			sum += w + 2
		}
	}
	return sum
}

func (t *table) print(row []string) error {
	b := t.line[:0]
	from, to := 0, 0 // the verdict
	for i, cell := range row {
		if t.widths[i] < 0 {
			continue
		}
		if i == verdictColumn {
			from, to = len(b), len(b)+len(cell)
		}
		b = append(b, cell...)
		for n := min(columns(cell), t.widths[i]+1); n < t.widths[i]+2; n++ { // a cell that is too wide keeps its distance
			b = append(b, ' ')
		}
	}
	b = bytes.TrimRight(b, " ")
	if t.width > 0 {
		b = cutColumns(b, t.width)
	}
	if code := verdictColour()[row[verdictColumn]]; t.colour && code != "" && to <= len(b) {
		b = slices.Insert(b, to, []byte("\x1b[0m")...)
		b = slices.Insert(b, from, []byte(code)...)
	}
	t.line = append(b, '\n')
	_, err := t.w.Write(t.line)
	return err
}

// verdictColumn is the index of VERDICT; its cells have a colour on a terminal.
const verdictColumn = 2

var verdictColour = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"deny": "\x1b[31m", "kill": "\x1b[1;31m", "hide": "\x1b[35m", "ask-deny": "\x1b[31m", "allow": "\x1b[32m", "ask-allow": "\x1b[32m",
	}
})

// cutColumns shortens a line to width columns; an ellipsis is the last of them.
func cutColumns(line []byte, width int) []byte {
	sum, keep := 0, 0
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if sum += runeColumns(r); sum > width {
			return append(line[:keep], "…"...)
		}
		if i += size; sum < width {
			keep = i
		}
	}
	return line
}

// wide counts the columns of a terminal that a character takes: wcwidth(3), without the
// doubts of old East Asian terminals.
var wide = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

func runeColumns(r rune) int {
	if r < 0x300 {
		return 1
	}
	return wide.RuneWidth(r)
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// Flush fixes the widths by the rows that are there.
func (t *table) Flush() error { return t.Close() }

func (t *table) Close() error {
	if len(t.rows) > 0 {
		if err := t.release(); err != nil {
			return err
		}
	}
	return t.w.Flush()
}

// tableRow makes the cells; no cell but the last is empty.
func tableRow(r *Record) []string {
	verdict, object, times := r.Verdict, Object(r), ""
	if verdict == "" {
		verdict = string(r.Kind)
	}
	if r.Kind.Refusal() {
		times = strconv.FormatUint(max(r.Count, 1), 10)
	}
	reason := r.Reason
	switch {
	case r.Start != nil:
		object = strings.Join(r.Start.Command, " ")
		reason = fmt.Sprintf("ptguard %s, %s, Linux %s", r.Start.Version, r.Start.Tier, r.Start.Kernel)
	case r.End != nil:
		reason = endText(r.End)
	case object == "" && len(r.Argv) > 0:
		object = strings.Join(r.Argv, " ")
	}
	who := ""
	if r.Comm == "" && r.Exe == "" && (r.Kind == KindStart || r.Kind == KindEnd || r.Kind == KindWarning) {
		who = "ptguard" // tells of itself
	} else if r.PID != 0 {
		who = fmt.Sprintf("%s[%d]", program(r), r.PID)
	} else if r.Comm != "" || r.Exe != "" {
		who = program(r)
	}
	row := []string{
		strconv.FormatUint(r.Seq, 10), r.Time.Format("15:04:05.000"), verdict, strings.Join(r.Access, ","),
		object, who, r.Syscall, times, r.Rule, reason,
	}
	for i, cell := range row {
		if row[i] = EscapeText(cell); cell == "" && i < len(row)-1 {
			row[i] = "-"
		}
	}
	return row
}

func endText(e *End) string {
	status := fmt.Sprintf("status %d", e.Status)
	if e.Signal != "" {
		status = "killed by " + e.Signal
	}
	denials := "denials"
	if e.Denials == 1 {
		denials = "denial"
	}
	return fmt.Sprintf("%s, %d %s, %d folded, %d lost, run %s",
		status, e.Denials, denials, e.Folded, e.Lost, duration(time.Duration(e.WallMS)*time.Millisecond))
}

// Limits of the summary: names it counts, names it shows.
const (
	summaryNames = 100_000
	summaryTop   = 20
)

// NewSummary returns a Renderer that counts refusals: the most frequent ones, and by
// program, by rule and by event. With known it also tells what is new since that trace, which
// is called old, and what is gone. Close writes it.
func NewSummary(w io.Writer, known *Known, old string) Renderer {
	return &summary{w: w, known: known, old: old, fresh: newCounter(), kinds: newCounter(), programs: newCounter(), rules: newCounter(), events: newCounter()}
}

type summary struct {
	w                              io.Writer
	records, denials               uint64
	first, last                    time.Time
	run                            string
	runs                           int
	start                          *Start
	end                            *End
	kinds, programs, rules, events *counter
	known                          *Known
	old                            string
	fresh                          *counter
}

func (s *summary) Add(r *Record, _ []byte) error {
	s.records++
	if !r.Time.IsZero() {
		if s.first.IsZero() || r.Time.Before(s.first) {
			s.first = r.Time
		}
		if r.Time.After(s.last) {
			s.last = r.Time
		}
	}
	if r.Run != s.run || s.runs == 0 {
		s.run = r.Run
		s.runs++
	}
	if r.Start != nil {
		s.start = r.Start
	}
	if r.End != nil {
		s.end = r.End
	}
	if !r.Kind.Refusal() {
		return nil
	}
	n := max(r.Count, 1)
	s.denials += n
	s.kinds.add(strings.Join([]string{cmp.Or(r.Verdict, "deny"), cmp.Or(strings.Join(r.Access, ","), "call"), cmp.Or(Object(r), r.Syscall)}, " "), n)
	if s.known != nil && s.known.New(r) {
		s.fresh.add(kindOfRefusal(r), n)
	}
	s.programs.add(cmp.Or(r.Exe, r.Comm, "?"), n)
	s.rules.add(cmp.Or(r.Rule, "?"), n)
	s.events.add(cmp.Or(r.Event, r.Syscall, "?"), n)
	return nil
}

func (s *summary) Close() error {
	b := bufio.NewWriter(s.w)
	if s.runs > 1 {
		fmt.Fprintf(b, "%d runs in one file\n", s.runs)
	} else if s.start != nil {
		fmt.Fprintf(b, "command   %s\n", EscapeText(strings.Join(s.start.Command, " ")))
		fmt.Fprintf(b, "ptguard   %s, mode %s, %s, Linux %s\n", EscapeText(s.start.Version), EscapeText(s.start.Mode), EscapeText(s.start.Tier), EscapeText(s.start.Kernel))
	}
	if !s.first.IsZero() {
		fmt.Fprintf(b, "time      %s to %s\n", s.first.Format(time.RFC3339), s.last.Format(time.RFC3339))
	}
	fmt.Fprintf(b, "records   %d\n", s.records)
	fmt.Fprintf(b, "denials   %d\n", s.denials)
	if s.end != nil && s.runs == 1 {
		fmt.Fprintf(b, "end       %s\n", EscapeText(endText(s.end)))
		if s.end.Denials != s.denials {
			fmt.Fprintf(b, "note      the end record counts %d denials: the others are lost, or left out by a filter\n", s.end.Denials)
		}
	}
	if s.known != nil {
		s.compare(b)
	}
	for _, part := range []struct {
		title string
		c     *counter
	}{{"refusals", s.kinds}, {"by program", s.programs}, {"by rule", s.rules}, {"by event", s.events}} {
		part.c.write(b, part.title)
	}
	return b.Flush()
}

// compare writes what is new and what is gone since the other trace.
func (s *summary) compare(b *bufio.Writer) {
	gone := newCounter()
	for kind, n := range s.known.kinds {
		if !s.known.met[kind] {
			gone.add(kind, n)
		}
	}
	fmt.Fprintf(b, "new       %d kinds of refusal that %s does not have\n", len(s.fresh.n), EscapeText(s.old))
	fmt.Fprintf(b, "gone      %d kinds that only %s has\n", len(gone.n), EscapeText(s.old))
	s.fresh.write(b, "new refusals")
	gone.write(b, "gone refusals")
}

// counter counts names, at most summaryNames different ones.
type counter struct {
	n      map[string]uint64
	others uint64
}

func newCounter() *counter { return &counter{n: make(map[string]uint64)} }

func (c *counter) add(name string, n uint64) {
	if _, known := c.n[name]; !known && len(c.n) >= summaryNames {
		c.others += n
		return
	}
	c.n[name] += n
}

func (c *counter) write(b *bufio.Writer, title string) {
	if len(c.n) == 0 {
		return
	}
	names := make([]string, 0, len(c.n))
	for name := range c.n {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.n[b], c.n[a]), strings.Compare(a, b))
	})
	rest, left := c.others, 0
	if len(names) > summaryTop {
		for _, name := range names[summaryTop:] {
			rest += c.n[name]
		}
		left = len(names) - summaryTop
		names = names[:summaryTop]
	}
	fmt.Fprintf(b, "\n%s\n", title)
	width := len(strconv.FormatUint(max(c.n[names[0]], rest), 10))
	for _, name := range names {
		fmt.Fprintf(b, "  %*d  %s\n", width, c.n[name], EscapeText(name))
	}
	if c.others > 0 {
		fmt.Fprintf(b, "  %*d  more than %d others\n", width, rest, left)
	} else if left > 0 {
		fmt.Fprintf(b, "  %*d  %d others\n", width, rest, left)
	}
}
