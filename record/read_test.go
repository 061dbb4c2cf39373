// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// outcome reads everything and lists seq numbers and bad lines in the order they came:
// "1 2 !3 4 cut5".
func outcome(t testing.TB, in io.Reader) string {
	t.Helper()
	r, err := NewReader(in)
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for {
		rec, err := r.Next()
		var le *LineError
		switch {
		case err == nil:
			out = append(out, fmt.Sprint(rec.Seq))
		case errors.As(err, &le) && le.Cut:
			out = append(out, fmt.Sprint("cut", le.Line))
		case errors.As(err, &le):
			out = append(out, fmt.Sprint("!", le.Line))
		case errors.Is(err, io.EOF):
			return strings.Join(out, " ")
		default:
			return strings.Join(append(out, "error: "+err.Error()), " ")
		}
	}
}

func zipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReader(t *testing.T) {
	long := fmt.Sprintf(`{"seq":2,"path":"%s"}`, strings.Repeat("x", 5<<20))
	tooLong := fmt.Sprintf(`{"seq":2,"path":"%s"}`, strings.Repeat("x", maxLine))
	for name, c := range map[string]struct{ in, want string }{
		"empty":         {"", ""},
		"blank lines":   {"\n\r\n{\"seq\":1}\r\n\n", "1"},
		"two":           {"{\"seq\":1}\n{\"seq\":2}\n", "1 2"},
		"no newline":    {"{\"seq\":1}\n{\"seq\":2}", "1 2"},
		"cut":           {"{\"seq\":1}\n{\"seq\":2,\"pa", "1 cut2"},
		"corrupt":       {"{\"seq\":1}\n{\"seq\":2\x00\n{\"seq\":3}\n", "1 !2 3"},
		"zeros":         {"{\"seq\":1}\n\x00\x00\x00\x00", "1 cut2"},
		"no object":     {"null\n[]\n7\n\"x\"\n{\"seq\":1}\n", "!1 !2 !3 !4 1"},
		"wrong type":    {"{\"seq\":\"x\"}\n{\"seq\":1}\n", "!1 1"},
		"torn":          {"{\"seq\":1,\"k\n{\"seq\":2}\n", "!1 2"},
		"two in one":    {"{\"seq\":1}{\"seq\":2}\n{\"seq\":3}\n", "!1 3"},
		"unknown":       {"{\"v\":9,\"seq\":1,\"kind\":\"new\",\"more\":{\"a\":[1]}}\n", "1"},
		"text":          {"hello\nworld\n", "!1 !2"},
		"long":          {"{\"seq\":1}\n" + long + "\n{\"seq\":3}\n", "1 2 3"},
		"long at end":   {"{\"seq\":1}\n" + long, "1 2"},
		"too long":      {"{\"seq\":1}\n" + tooLong + "\n{\"seq\":3}\n", "1 !2 3"},
		"too long, end": {"{\"seq\":1}\n" + tooLong, "1 cut2"},
		"gzip":          {zipped(t, "{\"seq\":1}\n{\"seq\":2}\n"), "1 2"},
		"gzip twice":    {zipped(t, "{\"seq\":1}\n") + zipped(t, "{\"seq\":2}\n"), "1 2"},
		"gzip header":   {"\x1f\x8b\x08", "error: read trace: unexpected EOF"},
		"one byte":      {"{", "cut1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcome(t, strings.NewReader(c.in)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	whole := zipped(t, "{\"seq\":1}\n{\"seq\":2}\n")
	if got := outcome(t, strings.NewReader(whole[:len(whole)-4])); got != "1 2 cut3" {
		t.Errorf("a gzip file without its end: %q", got)
	}
	in := io.MultiReader(strings.NewReader("{\"seq\":1}\n{\"se"), iotest.ErrReader(errors.New("disk on fire")))
	if got := outcome(t, in); got != "1 cut2 error: read trace: line 2: disk on fire" {
		t.Errorf("an input that fails: %q", got)
	}
	if got := outcome(t, iotest.OneByteReader(strings.NewReader("{\"seq\":1}\n{\"seq\":2}\n"))); got != "1 2" {
		t.Errorf("byte by byte: %q", got)
	}
}

// What the Sink writes the Reader reads, byte for byte.
func TestRoundTrip(t *testing.T) {
	want := filled(t)
	line := AppendLine(nil, want)
	r, err := NewReader(bytes.NewReader(append(line, line...)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.Raw()) + "\n"; got != string(line) || r.Line() != i+1 {
			t.Errorf("line %d: %q", r.Line(), got)
		}
		if again := AppendLine(nil, rec); string(again) != string(line) {
			t.Errorf("got %s want %s", again, line)
		}
	}
}

// A million records: seconds, and memory that does not grow with them.
func TestReadMillion(t *testing.T) {
	n := million
	line := AppendLine(nil, denial("/etc/hosts"))
	pr, pw := io.Pipe()
	go func() {
		block := bytes.Repeat(line, 1000)
		for range n / 1000 {
			if _, err := pw.Write(block); err != nil {
				break
			}
		}
		_ = pw.Close()
	}()
	start := time.Now()
	r, err := NewReader(pr)
	if err != nil {
		t.Fatal(err)
	}
	count, peak := 0, uint64(0)
	var m runtime.MemStats
	for {
		if _, err := r.Next(); err != nil {
			break
		}
		if count++; count%(n/10) == 0 {
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	t.Logf("%d records (%d MB) in %v, live heap %d KiB", count, count*len(line)>>20, time.Since(start), peak>>10)
	if count != n || peak > 64<<20 {
		t.Errorf("%d records, live heap %d", count, peak)
	}
}

func FuzzRead(f *testing.F) {
	line := string(AppendLine(nil, denial("/etc/\xff")))
	f.Add([]byte(line + line[:40]))
	f.Add([]byte("{}\n\x00{\"argv\":[null,1]}\n"))
	f.Add([]byte(zipped(f, line)))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := NewReader(bytes.NewReader(in))
		if err != nil {
			return
		}
		table, sum, lines := NewTable(io.Discard, 80, true), NewSummary(io.Discard, nil, ""), new(bytes.Buffer)
		copied := NewJSONL(lines)
		steps, good := 0, 0
		for {
			// Each step takes a line; a bomb in gzip may hold many.
			if steps++; steps > 10_000 {
				return
			}
			rec, err := r.Next()
			if _, ok := errors.AsType[*LineError](err); ok {
				continue
			}
			if err != nil {
				break
			}
			good++
			(&Filter{Paths: []string{"/etc/**"}}).Match(rec)
			for _, s := range []Renderer{table, sum, copied} {
				if err := s.Add(rec, r.Raw()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range []Renderer{table, sum, copied} {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if EscapeText(strings.ReplaceAll(lines.String(), "\n", "")) != strings.ReplaceAll(lines.String(), "\n", "") {
			t.Fatalf("not safe to print: %q", lines)
		}
		// The copy is a trace with the same records.
		if n := len(readAll(t, lines)); n != good {
			t.Fatalf("%d records copied, %d read back", good, n)
		}
	})
}

func TestFilter(t *testing.T) {
	base := *denial("/etc/ho\\xffsts") // as read: the name is /etc/ho<ff>sts
	base.Time = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	base.Path, base.TID = "ho\\xffsts", 4243
	now := base.Time.Add(time.Minute)
	since := func(s string) time.Time {
		at, err := ParseSince(s, now)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for name, c := range map[string]struct {
		f    Filter
		want bool
	}{
		"zero":         {Filter{}, true},
		"event":        {Filter{Events: []string{"os.rename", "open"}}, true},
		"syscall":      {Filter{Events: []string{"openat"}}, true},
		"other event":  {Filter{Events: []string{"os.rename"}}, false},
		"path":         {Filter{Paths: []string{"/etc/ho\xffsts"}}, true},
		"star":         {Filter{Paths: []string{"/etc/*"}}, true},
		"star is one":  {Filter{Paths: []string{"/*"}}, false},
		"double star":  {Filter{Paths: []string{"/usr/**", "/**"}}, true},
		"as given":     {Filter{Paths: []string{"ho?sts"}}, true},
		"other path":   {Filter{Paths: []string{"/usr/**"}}, false},
		"pid":          {Filter{PIDs: []int{1, 4242}}, true},
		"tid":          {Filter{PIDs: []int{4243}}, true},
		"other pid":    {Filter{PIDs: []int{1}}, false},
		"verdict":      {Filter{Verdicts: []string{"deny"}}, true},
		"other":        {Filter{Verdicts: []string{"hide", "kill"}}, false},
		"all must":     {Filter{Verdicts: []string{"deny"}, PIDs: []int{1}}, false},
		"since":        {Filter{Since: since("2026-03-01T12:00:00Z")}, true},
		"since zone":   {Filter{Since: since("2026-03-01T14:00:00.5+02:00")}, false},
		"ago":          {Filter{Since: since("60s")}, true},
		"too long ago": {Filter{Since: since("59s")}, false},
	} {
		if err := c.f.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.f.Match(&base); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := (&Filter{Paths: []string{"/a/[x"}}).Check(); err == nil {
		t.Error("a malformed pattern passes")
	}
	for _, bad := range []string{"yesterday", "", "-5m", "10"} {
		if _, err := ParseSince(bad, now); err == nil {
			t.Errorf("since %q passes", bad)
		}
	}
	if (&Filter{Paths: []string{"**"}}).Match(&Record{}) {
		t.Error("a record without a path matches")
	}
}

var golden = filepath.Join("testdata", "trace.jsonl")

// TestGolden renders testdata/trace.jsonl; PTGUARD_UPDATE=1 rewrites what is expected.
func TestGolden(t *testing.T) {
	for name, make := range map[string]func(io.Writer) Renderer{
		"trace.table":   func(w io.Writer) Renderer { return NewTable(w, 0, false) },
		"trace.80":      func(w io.Writer) Renderer { return NewTable(w, 80, false) },
		"trace.summary": func(w io.Writer) Renderer { return NewSummary(w, nil, "") },
		"trace.copy":    NewJSONL,
	} {
		f, err := os.Open(golden)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		show := make(&got)
		r, err := NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
			if err := show.Add(rec, r.Raw()); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(show.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name)
		if os.Getenv("PTGUARD_UPDATE") != "" {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, &got, want)
		}
	}
}

// The table streams: rows after the first batch keep its widths, none is lost.
func TestTableBatches(t *testing.T) {
	var b bytes.Buffer
	table := NewTable(&b, 0, false)
	for i := range 2*tableBatch + 7 {
		r := denial("/x")
		r.Seq = uint64(i)
		if err := table.Add(r, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(rows) != 2*tableBatch+8 {
		t.Fatalf("%d lines", len(rows))
	}
	for _, row := range rows {
		if strings.Index(row, "SYSCALL") != strings.Index(rows[0], "SYSCALL") && strings.Index(row, "openat") != strings.Index(rows[0], "SYSCALL") {
			t.Fatalf("not aligned: %q", row)
		}
	}
}

func TestCounterIsBounded(t *testing.T) {
	var b bytes.Buffer
	s := NewSummary(&b, nil, "")
	r := denial("")
	for i := range summaryNames + 50 {
		r.Resolved = fmt.Sprint("/", i)
		if err := s.Add(r, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d  more than %d others\n", summaryNames+50-summaryTop, summaryNames-summaryTop); !strings.Contains(b.String(), want) {
		t.Errorf("no %q in %s", want, &b)
	}
}

// A cell that is wider than its column does not run into the next one.
func TestTableWideCell(t *testing.T) {
	var b bytes.Buffer
	table := NewTable(&b, 0, false)
	for _, n := range []int{cellWidth - 1, cellWidth, cellWidth + 1, cellWidth + 2, 3 * cellWidth} {
		if err := table.Add(denial("/"+strings.Repeat("x", n)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "x python3")+strings.Count(b.String(), "x  python3")+strings.Count(b.String(), "x   python3") != 5 {
		t.Errorf("cells touch:\n%s", &b)
	}
}
