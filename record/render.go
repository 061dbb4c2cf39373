// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Renderer shows records as they are read. Add takes one; Close writes what it kept back.
// Records come from a Reader: names are escaped, and whatever else a stranger's file may
// hold is made safe for a terminal here.
type Renderer interface {
	Add(r *Record, raw []byte) error
	Close() error
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

// NewTable returns a Renderer of aligned columns. width is that of the terminal in
// columns: longer lines are cut. 0 keeps them whole.
func NewTable(w io.Writer, width int) Renderer {
	return &table{w: bufio.NewWriterSize(w, 64<<10), width: width}
}

type table struct {
	w      *bufio.Writer
	width  int
	rows   [][]string // held back; nil once widths are known
	widths []int
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
			t.widths[i] = max(t.widths[i], min(utf8.RuneCountInString(cell), 60))
		}
	}
	for _, row := range rows {
		if err := t.print(row); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) print(row []string) error {
	b := t.line[:0]
	for i, cell := range row {
		b = append(b, cell...)
		for n := utf8.RuneCountInString(cell); n < t.widths[i]+2; n++ {
			b = append(b, ' ')
		}
	}
	line := strings.TrimRight(string(b), " ")
	if t.width > 0 && utf8.RuneCountInString(line) > t.width {
		line = string([]rune(line)[:t.width-1]) + "…"
	}
	t.line = append(append(b[:0], line...), '\n')
	_, err := t.w.Write(t.line)
	return err
}

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
	if r.Kind == KindDenial {
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
	if r.PID != 0 {
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
	return fmt.Sprintf("%s, %d denials, %d folded, %d lost, run %s",
		status, e.Denials, e.Folded, e.Lost, duration(time.Duration(e.WallMS)*time.Millisecond))
}

// Limits of the summary: names it counts, names it shows.
const (
	summaryNames = 100_000
	summaryTop   = 20
)

// NewSummary returns a Renderer that counts refusals: the most frequent ones, and by
// program, by rule and by event. Close writes it.
func NewSummary(w io.Writer) Renderer {
	return &summary{w: w, kinds: newCounter(), programs: newCounter(), rules: newCounter(), events: newCounter()}
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
	if r.Kind != KindDenial {
		return nil
	}
	n := max(r.Count, 1)
	s.denials += n
	s.kinds.add(strings.Join([]string{cmp.Or(r.Verdict, "deny"), cmp.Or(strings.Join(r.Access, ","), "call"), cmp.Or(Object(r), r.Syscall)}, " "), n)
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
	for _, part := range []struct {
		title string
		c     *counter
	}{{"refusals", s.kinds}, {"by program", s.programs}, {"by rule", s.rules}, {"by event", s.events}} {
		part.c.write(b, part.title)
	}
	return b.Flush()
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
