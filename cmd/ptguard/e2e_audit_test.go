// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// auditItem is what CPython's hook was told of one object (testdata/audit/events.py).
type auditItem struct {
	PID       int    `json:"pid"`
	TID       int    `json:"tid"`
	Event     string `json:"event"`
	Qualifier string `json:"qualifier"`
	Path      string `json:"path"`
	More      int    `json:"more"` // objects of the same act that follow
}

func (i auditItem) key() string {
	if i.Qualifier == "" {
		return i.Event
	}
	return i.Event + "/" + i.Qualifier
}

// allowed is testdata/audit/allow.txt.
type allowed struct {
	steps map[string][]string // of an event of Python: the events of the trace
	extra []extra
	used  map[string]bool
	some  map[string]bool // entries that not every machine needs
}

type extra struct{ event, glob string }

// readAllowed reads the list of differences; an entry without a reason fails the test.
func readAllowed(t *testing.T, path string) *allowed {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &allowed{steps: map[string][]string{}, used: map[string]bool{}, some: map[string]bool{}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		rule, reason, ok := strings.Cut(line, " : ")
		left, right, ok2 := strings.Cut(rule, " -> ")
		if !ok || !ok2 || strings.TrimSpace(reason) == "" {
			t.Fatalf("%s: %q is not EVENT -> EVENTS : REASON", path, line)
		}
		left, some := strings.CutPrefix(strings.TrimSpace(left), "? ")
		fields := strings.Fields(right)
		key := left
		if left == "nothing" {
			a.extra = append(a.extra, extra{fields[0], fields[1]})
			key = "nothing " + strings.Join(fields, " ")
		} else if a.steps[left] != nil {
			t.Fatalf("%s: %s twice", path, left)
		} else {
			a.steps[left] = fields
		}
		if some {
			a.some[key] = true
		}
	}
	return a
}

// isExtra tells whether CPython is known not to tell of this record.
func (a *allowed) isExtra(r auditRecord) bool {
	for _, e := range a.extra {
		if ok, _ := doublestar.Match(e.glob, r.path); ok && e.event == r.event {
			a.used["nothing "+e.event+" "+e.glob] = true
			return true
		}
	}
	return false
}

// auditRecord is what the trace says of one object.
type auditRecord struct {
	event, path, errno, call string
	seq                      uint64
}

func (r auditRecord) String() string {
	return fmt.Sprintf("%s %s (%s, record %d, %s)", r.event, r.path, r.call, r.seq, r.errno)
}

// The object of a record in the words of events.py.
func objectPath(r *record.Record) string {
	switch {
	case strings.HasPrefix(r.Event, "socket.") && (r.Family == "inet" || r.Family == "inet6"):
		return fmt.Sprintf("%s:%d", r.Addr, r.Port)
	case strings.HasPrefix(r.Event, "socket.") && r.Addr != "":
		return r.Addr
	case r.Resolved != "":
		return r.Resolved
	}
	return r.Path
}

// TestAuditHookAndTrace runs CPython with an audit hook of its own under ptguard, on a
// script that raises every file, process and socket event, and compares what both saw: in
// each thread the same events in the same order, with the same paths after resolution.
// They may differ only as testdata/audit/allow.txt says.
func TestAuditHookAndTrace(t *testing.T) {
	folder := filepath.Join(ktest.ModuleRoot(), "testdata", "audit")
	script, err := os.ReadFile(filepath.Join(folder, "events.py"))
	if err != nil {
		t.Fatal(err)
	}
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "events.py", string(script)) // where another user can read it
		for i := range 5 {
			b.Write(t, fmt.Sprintf("work/hidden/%d", i), "secret\n")
		}
	})
	which := b.Bare(t, "python3", "-c", "import sys; print(sys.executable, *sys.version_info[:2])")
	python, version, _ := strings.Cut(strings.TrimSpace(which.Stdout), " ")
	if which.Status != 0 || python == "" {
		t.Fatalf("find python3: %v", which)
	}
	t.Logf("%s, version %s", python, version)
	out := b.Path("work/out")
	r := b.Guard(t, []string{"--trace-level", "decisions", "--hide", b.Path("work/hidden")},
		python, "-I", "-B", b.Path("events.py"), out, b.Outside)
	if r.Status != 0 {
		t.Fatalf("the script failed: %v", r)
	}
	allow := readAllowed(t, filepath.Join(folder, "allow.txt"))
	told := readItems(t, out)
	seen, executed := readTrace(t, b)

	missing := documentedEvents(t, filepath.Join(folder, "documented.txt"))
	threads, total := 0, 0
	for tid, items := range told {
		threads++
		for _, i := range items {
			delete(missing, i.Event)
		}
		total += len(items)
		if difference := compareThread(allow, items, seen[tid]); difference != "" {
			t.Errorf("thread %d: %s", tid, difference)
		}
	}
	for _, items := range told {
		for _, i := range items {
			if (i.Event == "subprocess.Popen" || i.Event == "os.posix_spawn") && !slices.ContainsFunc(executed, func(path string) bool {
				return path == i.Path || i.Qualifier == "search" && filepath.Base(path) == i.Path
			}) {
				t.Errorf("%s %s: no child executed it", i.Event, i.Path)
			}
		}
	}
	for event := range missing {
		t.Errorf("the script raises no %s", event)
	}
	for key := range allow.steps {
		if !allow.used[key] && !allow.some[key] {
			t.Errorf("allow.txt: no difference at %s any more", key)
		}
	}
	for _, e := range allow.extra {
		if key := "nothing " + e.event + " " + e.glob; !allow.used[key] && !allow.some[key] {
			t.Errorf("allow.txt: no difference at %s any more", key)
		}
	}
	// The comparison says little unless the hook was really there, in threads and children.
	if threads < 9 || total < 500 {
		t.Errorf("only %d events in %d threads", total, threads)
	}
	t.Logf("%d events in %d threads and processes", total, threads)
}

// documentedEvents are those of CPython's table that the script has to raise.
func documentedEvents(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '-':
			if _, reason, ok := strings.Cut(line, " : "); !ok || reason == "" {
				t.Errorf("%s: %q has no reason", path, line)
			}
		default:
			out[line] = true
		}
	}
	if len(out) < 60 {
		t.Fatalf("%s has only %d events", path, len(out))
	}
	return out
}

// readItems reads what the hook was told, by thread.
func readItems(t *testing.T, path string) map[int][]auditItem {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[int][]auditItem{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var i auditItem
		if err := json.Unmarshal(s.Bytes(), &i); err != nil {
			t.Fatalf("hook's line %q: %v", s.Text(), err)
		}
		raw, err := hex.DecodeString(i.Path)
		if err != nil {
			t.Fatal(err)
		}
		i.Path = record.Escape(string(raw))
		out[i.TID] = append(out[i.TID], i)
	}
	return out
}

// readTrace gives the records with an audit event by thread, from the script's mkdir of
// "begin" to that of "end", and the objects of every execution that was tried. What a thread did after it
// executed a program was no longer Python's.
func readTrace(t *testing.T, b *ktest.Box) (seen map[int][]auditRecord, executed []string) {
	t.Helper()
	seen = map[int][]auditRecord{}
	gone := map[int]bool{}
	begun := false
	for _, r := range b.Records(t) {
		if r.Kind != record.KindDecision && r.Kind != record.KindDenial || r.Event == "" {
			continue
		}
		if r.Count > 0 {
			t.Errorf("record %d is folded, so the order is lost: %+v", r.Seq, r)
		}
		path := objectPath(&r)
		if r.Event == "os.mkdir" && path == b.Path("work/begin") {
			begun = true
		}
		if r.Event == "os.exec" {
			executed = append(executed, path)
		}
		if !begun || gone[r.TID] {
			continue
		}
		seen[r.TID] = append(seen[r.TID], auditRecord{r.Event, path, r.Errno, r.Syscall, r.Seq})
		gone[r.TID] = r.Event == "os.exec" && r.Errno == ""
		if r.Event == "os.mkdir" && path == b.Path("work/end") {
			break
		}
	}
	return seen, executed
}

// compareThread holds one thread's events against its records and gives the first
// difference.
func compareThread(allow *allowed, items []auditItem, seen []auditRecord) string {
	at := 0
	next := func() (auditRecord, bool) {
		for at < len(seen) && allow.isExtra(seen[at]) {
			at++
		}
		if at == len(seen) {
			return auditRecord{}, false
		}
		return seen[at], true
	}
	// take consumes the records of one step; it gives what is there instead.
	take := func(step string, item auditItem) (instead string) {
		event, count := strings.TrimRight(step, "+*?"), step[len(step)-1]
		for found := 0; ; found++ {
			if found == 1 && count != '+' && count != '*' {
				return ""
			}
			// Without the allowance first: an event of Python's may look like an extra.
			if at < len(seen) && seen[at].event == event && samePath(item, seen[at].path) {
				at++
				continue
			}
			r, ok := next()
			switch {
			case ok && r.event == event && samePath(item, r.path):
				at++
			case found > 0 || count == '*' || count == '?':
				return ""
			case ok:
				return r.String()
			default:
				return "nothing more"
			}
		}
	}
	for n := 0; n < len(items); n++ {
		item := items[n]
		steps, known := allow.steps[item.key()]
		if known {
			allow.used[item.key()] = true
		} else {
			steps = []string{item.Event}
		}
		// An act that is refused, or fails on its names, has one record, of the object that decided.
		act := items[n : n+1+item.More]
		if r, ok := next(); ok && len(act) > 1 && r.errno != "" && slices.ContainsFunc(act, func(i auditItem) bool { return i.Event == r.event && samePath(i, r.path) }) {
			n += item.More
			at++
			continue
		}
		for _, step := range steps {
			if step == "nothing" {
				continue
			}
			if instead := take(step, item); instead != "" {
				return fmt.Sprintf("event %d of %d is %s %s, but the trace has %s\n%s", n+1, len(items), item.key(), item.Path, instead, around(items, n))
			}
		}
	}
	if r, more := next(); more {
		return fmt.Sprintf("CPython tells no hook of %s and %d records more", r, len(seen)-at-1)
	}
	return ""
}

// The comparison sees what it is there for: an act that is missing, one too many, another
// order, another path.
func TestAuditComparisonSeesDifferences(t *testing.T) {
	allow := &allowed{steps: map[string][]string{"os.listdir": {"open", "os.listdir+"}, "os.fork": {"nothing"}}, used: map[string]bool{}}
	item := func(event, path string, more int) auditItem {
		return auditItem{Event: event, Path: path, More: more}
	}
	told := []auditItem{
		item("open", "/a", 0), item("os.fork", "", 0), item("os.rename", "/a", 1), item("os.rename", "/b", 0),
		item("os.listdir", "/d", 0), item("os.remove", "/b", 0),
	}
	rec := func(event, path string) auditRecord { return auditRecord{event: event, path: path} }
	good := []auditRecord{
		rec("open", "/a"), rec("os.rename", "/a"), rec("os.rename", "/b"),
		rec("open", "/d"), rec("os.listdir", "/d"), rec("os.listdir", "/d"), rec("os.remove", "/b"),
	}
	if d := compareThread(allow, told, good); d != "" {
		t.Errorf("no difference expected: %s", d)
	}
	for i := range good {
		if i == 4 || i == 5 {
			continue // a listing is one call or several
		}
		if compareThread(allow, told, slices.Delete(slices.Clone(good), i, i+1)) == "" {
			t.Errorf("%v is missing, and nothing said", good[i])
		}
	}
	for i := range len(good) - 1 {
		if good[i] == good[i+1] {
			continue
		}
		swapped := slices.Clone(good)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		if compareThread(allow, told, swapped) == "" {
			t.Errorf("%v and %v changed places, and nothing said", good[i], good[i+1])
		}
	}
	for i := range good {
		other := slices.Clone(good)
		other[i].path += "x"
		if compareThread(allow, told, other) == "" {
			t.Errorf("%v has another path, and nothing said", good[i])
		}
		if compareThread(allow, told, slices.Insert(slices.Clone(good), i, rec("os.chmod", "/a"))) == "" {
			t.Errorf("an act more before %v, and nothing said", good[i])
		}
	}
	refused := []auditRecord{good[0], {event: "os.rename", path: "/b", errno: "EPERM"}, good[3], good[4], good[6]}
	if d := compareThread(allow, told, refused); d != "" {
		t.Errorf("a refused rename has one record: %s", d)
	}
}

// samePath compares the path of an event with that of a record. CPython does not say what
// directory an os.open with dir_fd started at, nor whether some calls follow the last link:
// then the event has both paths, with a NUL between.
func samePath(item auditItem, path string) bool {
	if item.Event == "open" && item.Qualifier == "dirfd" {
		return strings.HasSuffix(path, "/"+strings.TrimPrefix(item.Path, "./")) || strings.HasPrefix(item.Path, ".")
	}
	target, link, either := strings.Cut(item.Path, `\x00`)
	return path == target || either && path == link
}

// around shows the events before one.
func around(items []auditItem, n int) string {
	var b strings.Builder
	for _, i := range items[max(0, n-4) : n+1] {
		fmt.Fprintf(&b, "   hook: %s %s\n", i.key(), i.Path)
	}
	return b.String()
}
