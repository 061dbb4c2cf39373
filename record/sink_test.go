// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets a test run one of the functions below in a process of its own: what they
// do to the process (limits, descriptor 1) must not meet other tests.
func TestMain(m *testing.M) {
	if f := inChild[os.Getenv("PTGUARD_RECORD_CHILD")]; f != nil {
		f()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var inChild = map[string]func(){"xfsz": childXFSZ, "stdout": childStdout}

func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "PTGUARD_RECORD_CHILD="+name)
	return cmd
}

// denial is a refusal as the tracer builds it.
func denial(path string) *Record {
	return &Record{
		Kind: KindDenial, Event: "open", Syscall: "openat", PID: 4242, TID: 4242, PPID: 1, Exe: "/usr/bin/python3.11", Comm: "python3",
		Path: path, Resolved: path, Access: []string{"write"}, Flags: []string{"O_WRONLY", "O_CLOEXEC"}, Verdict: "deny", Errno: "EPERM",
		Rule: "built-in @work", Layer: "builtin", Reason: "outside the writable roots", Hint: "writable here: /home/me/app, /tmp", Fix: "--write " + path,
	}
}

// clock is a Now and an AfterFunc that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
	due []*alarm
}

type alarm struct {
	at time.Time
	f  func()
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{c.now.Add(d), f}
	c.due = append(c.due, a)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, x := range c.due {
			if x == a {
				c.due = append(c.due[:i], c.due[i+1:]...)
				return true
			}
		}
		return false
	}
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var run []func()
	rest := c.due[:0]
	for _, a := range c.due {
		if a.at.After(c.now) {
			rest = append(rest, a)
		} else {
			run = append(run, a.f)
		}
	}
	c.due = rest
	c.mu.Unlock()
	for _, f := range run {
		f()
	}
}

// warnings collects what Warn is given.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) add(s string) { w.mu.Lock(); w.list = append(w.list, s); w.mu.Unlock() }

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.list...)
}

func open(t testing.TB, spec string, opts SinkOptions) *Sink {
	t.Helper()
	s, err := Open(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readAll fails the test on any line that is no record.
func readAll(t testing.TB, in io.Reader) []Record {
	t.Helper()
	r, err := NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var out []Record
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *rec)
	}
}

func readFile(t testing.TB, path string) []Record {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, bytes.NewReader(b))
}

func pipe(t testing.TB, flags int) (r, w int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|flags); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}

// fillPipe makes a pipe full: the next write waits for a reader. The lines are blank, which
// readers skip.
func fillPipe(t testing.TB, w int) {
	t.Helper()
	size, err := unix.FcntlInt(uintptr(w), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Write(w, bytes.Repeat([]byte{'\n'}, size)); n != size || err != nil {
		t.Fatal(n, err)
	}
}

func TestSinkFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	c := newClock()
	s := open(t, path, SinkOptions{Run: "r1", Now: c.Now, AfterFunc: c.AfterFunc})
	never := func(error) { t.Error("done called for a file") }
	put := func(r *Record) {
		t.Helper()
		if !s.Put(r, never) {
			t.Fatal("not settled")
		}
	}
	put(&Record{Kind: KindStart, Start: &Start{Version: "0", Command: []string{"x", "--token=abc"}}})
	if s.Wants(KindDecision) || s.Wants(KindExit) || !s.Wants(KindWarning) {
		t.Error("Wants does not follow the level")
	}
	put(&Record{Kind: KindDecision, Verdict: "allow"}) // not at this level
	put(denial("/etc/hosts"))
	if n := len(readFile(t, path)); n != 2 { // on disk when Put returns
		t.Fatalf("%d records in the file, want 2", n)
	}
	for range 3 {
		put(denial("/etc/hosts"))
	}
	other := denial("/etc/hosts")
	other.Errno = "ENOENT"
	put(other)
	c.advance(9 * time.Second)
	if n := len(readFile(t, path)); n != 3 {
		t.Fatalf("%d records before 10 s, want 3", n)
	}
	c.advance(time.Second)
	got := readFile(t, path)
	if len(got) != 4 || got[3].Count != 3 || got[3].Resolved != "/etc/hosts" || got[3].PID != 4242 || !got[3].Time.Equal(c.Now()) {
		t.Fatalf("after 10 s: %+v", got)
	}
	c.advance(time.Minute) // nothing new: nothing to tell
	again := denial("/etc/hosts")
	again.PID, again.Path = 7, "hosts"
	put(again)
	if err := s.Close(&Record{End: &End{Status: 3, Stops: 9}}); err != nil {
		t.Fatal(err)
	}
	got = readFile(t, path)
	if len(got) != 6 {
		t.Fatalf("%d records, want 6", len(got))
	}
	for i, r := range got {
		if r.Seq != uint64(i+1) || r.Run != "r1" || r.V != 1 {
			t.Errorf("record %d: seq %d run %q v %d", i, r.Seq, r.Run, r.V)
		}
	}
	if c := got[0].Start.Command[1]; c != "--token=***" {
		t.Errorf("command holds %q", c)
	}
	if f := got[4]; f.Count != 1 || f.PID != 0 || f.Path != "" {
		t.Errorf("count record tells of one process where it was another: %+v", f)
	}
	end := got[5]
	if end.Kind != KindEnd || end.End.Status != 3 || end.End.Stops != 9 || end.End.Denials != 6 || end.End.Folded != 4 || end.End.Lost != 0 || end.End.ByEvent["open"] != 6 {
		t.Errorf("end %+v", end.End)
	}
	if len(c.due) != 0 {
		t.Error("Close left a timer")
	}
	if !s.Put(denial("/late"), never) || s.Stats().Lost != 1 {
		t.Error("a Put after Close is counted as lost")
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestSinkAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	for range 2 {
		s := open(t, path, SinkOptions{})
		s.Put(denial("/x"), nil)
		if err := s.Close(nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(readFile(t, path)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func TestSinkNone(t *testing.T) {
	s := open(t, "none", SinkOptions{})
	if s.Wants(KindStart) || !s.Wants(KindDenial) {
		t.Error("none counts denials and nothing else")
	}
	s.Put(denial("/x"), nil)
	s.Put(denial("/x"), nil)
	if err := s.Close(&Record{}); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Denials != 2 || st.Folded != 1 || st.Lost != 0 {
		t.Errorf("%+v", st)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink(file, filepath.Join(dir, "link")),
		os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "dangling")),
		os.Link(file, filepath.Join(dir, "second")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ro, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ep)
	for spec, want := range map[string]string{
		"":                                 "no file is named",
		dir:                                "is a directory",
		dir + "/no/such":                   "no such file or directory",
		dir + "/link":                      "it is a symbolic link; name the file that it leads to (" + file + ")",
		dir + "/dangling":                  "it is a symbolic link",
		dir + "/second":                    "the file has 2 names",
		"fd:x":                             "is not a descriptor",
		"fd:-1":                            "is not a descriptor",
		"fd:9999":                          "descriptor 9999: bad file descriptor",
		fmt.Sprintf("fd:%d", ro.Fd()):      "is not open for writing",
		fmt.Sprintf("/dev/fd/%d", ep):      "is not a file, pipe, socket or terminal",
		"unix:" + dir + "/nobody":          "no such file or directory",
		"unix:" + strings.Repeat("x", 200): "invalid argument",
	} {
		s, err := Open(spec, SinkOptions{})
		if err == nil {
			_ = s.Close(nil)
			t.Errorf("%q: opened", spec)
		} else if !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "trace: ") {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "gone")); err == nil {
		t.Error("the target of a dangling link was made")
	}
}

// The descriptor must not reach the tree, nor stay behind.
func TestOpenDescriptor(t *testing.T) {
	r, w := pipe(t, 0)
	defer unix.Close(r)
	s := open(t, fmt.Sprintf("fd:%d", w), SinkOptions{})
	unix.Close(w)
	flags, err := unix.FcntlInt(uintptr(s.t.fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v", flags, err)
	}
	if err := s.Close(nil); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Read(r, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("the pipe has still a writer: %d, %v", n, err)
	}
}

func TestSinkFullDisk(t *testing.T) {
	var w warnings
	s := open(t, "/dev/full", SinkOptions{Warn: w.add})
	for i := range 100 {
		if !s.Put(denial(fmt.Sprint("/x", i)), nil) {
			t.Fatal("a full disk kept a task waiting")
		}
		s.Put(denial(fmt.Sprint("/x", i)), nil)
	}
	end := &Record{End: &End{}}
	if err := s.Close(end); err != nil {
		t.Fatal(err)
	}
	// 100 first records, 100 counts of one refusal each, the end.
	if st := s.Stats(); st.Lost != 201 || st.Denials != 200 {
		t.Errorf("%+v", st)
	}
	if got := w.all(); len(got) != 1 || !strings.Contains(got[0], "trace /dev/full: no space left on device") {
		t.Errorf("warnings %q", got)
	}
}

func TestSinkSpaceComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	cmd := child(t, "xfsz", path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := strings.Count(string(out), "file too large"); got != 1 {
		t.Errorf("%d warnings in %q, want 1", got, out)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	var bad []int
	for {
		rec, err := r.Next()
		if le, ok := errors.AsType[*LineError](err); ok {
			bad = append(bad, le.Line)
			continue
		}
		if err != nil {
			break
		}
		seqs = append(seqs, rec.Seq)
		if rec.End != nil && rec.End.Lost != 2 {
			t.Errorf("lost %d, want 2", rec.End.Lost)
		}
	}
	if fmt.Sprint(seqs) != "[1 4 5]" || fmt.Sprint(bad) != "[2]" {
		t.Errorf("records %v, bad lines %v; want [1 4 5], [2]", seqs, bad)
	}
}

// childXFSZ writes one record that fits, one that is cut by RLIMIT_FSIZE, one that does
// not go at all, and one after the limit is gone.
func childXFSZ() {
	s, err := Open(os.Args[1], SinkOptions{Warn: func(t string) { fmt.Println(t) }})
	if err != nil {
		panic(err)
	}
	s.Put(denial("/fits"), nil)
	var st unix.Stat_t
	if err := unix.Fstat(s.t.fd, &st); err != nil {
		panic(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		panic(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(st.Size) + 100, Max: old.Max}); err != nil {
		panic(err)
	}
	s.Put(denial("/cut"), nil)
	s.Put(denial("/not"), nil)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		panic(err)
	}
	s.Put(denial("/again"), nil)
	if err := s.Close(&Record{}); err != nil {
		panic(err)
	}
}

func TestSinkClosedPipe(t *testing.T) {
	for _, flags := range []int{0, unix.O_NONBLOCK} {
		r, w := pipe(t, flags)
		var ws warnings
		s := open(t, fmt.Sprintf("fd:%d", w), SinkOptions{Warn: ws.add})
		unix.Close(w)
		unix.Close(r)
		answers := make(chan error, 1)
		if s.Put(denial("/x"), func(err error) { answers <- err }) {
			t.Fatal("a pipe is written at once")
		}
		if err := <-answers; !errors.Is(err, unix.EPIPE) {
			t.Errorf("done(%v), want EPIPE", err)
		}
		for i := range 10 {
			if !s.Put(denial(fmt.Sprint("/y", i)), func(error) { t.Error("called") }) {
				t.Fatal("a dead pipe kept a task waiting")
			}
		}
		if err := s.Close(&Record{}); err != nil {
			t.Fatal(err)
		}
		if got := ws.all(); len(got) != 1 || !strings.Contains(got[0], "broken pipe") {
			t.Errorf("warnings %q", got)
		}
		if st := s.Stats(); st.Lost != 11 {
			t.Errorf("lost %d, want 11", st.Lost)
		}
	}
}

// A Go program that writes to a broken descriptor 1 through os.File dies of SIGPIPE.
func TestSinkClosedStdout(t *testing.T) {
	cmd := child(t, "stdout")
	r, w := pipe(t, 0)
	unix.Close(r)
	f := os.NewFile(uintptr(w), "pipe")
	cmd.Stdout = f
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	f.Close()
	if err != nil || errs.String() != "alive\n" {
		t.Errorf("%v, %q", err, errs.String())
	}
}

func childStdout() {
	s, err := Open("fd:1", SinkOptions{})
	if err != nil {
		panic(err)
	}
	log, err := OpenLog("fd:1")
	if err != nil {
		panic(err)
	}
	l := NewLive(log, LiveOptions{})
	for i := range 100 {
		r := denial(fmt.Sprint("/x", i))
		done := make(chan error, 1)
		if !s.Put(r, func(err error) { done <- err }) {
			<-done
		}
		l.Refused(r)
	}
	l.Flush(time.Minute)
	_ = s.Close(&Record{})
	fmt.Fprintln(os.Stderr, "alive")
}

// A reader that stops reading: refused tasks wait, the tracer does not, and the end comes.
func TestSinkReaderStops(t *testing.T) {
	r, w := pipe(t, 0)
	fillPipe(t, w)
	var ws warnings
	c := newClock()
	s := open(t, fmt.Sprintf("fd:%d", w), SinkOptions{Level: LevelAll, Warn: ws.add, CloseWait: 20 * time.Millisecond, Now: c.Now, AfterFunc: c.AfterFunc})
	unix.Close(w)

	const denials, decisions = 500, 2 * queueLimit
	answers := make(chan error, denials+1) // the callbacks may run on this goroutine
	for i := range denials {
		if s.Put(denial(fmt.Sprint("/x", i)), func(err error) { answers <- err }) {
			t.Fatal("settled without a reader")
		}
	}
	kept := 0
	for range decisions {
		if !s.Put(&Record{Kind: KindDecision, Verdict: "allow"}, nil) {
			kept++
		}
	}
	if kept > queueLimit || kept < queueLimit-denials {
		t.Errorf("%d decisions are queued beside %d denials, the limit is %d", kept, denials, queueLimit)
	}
	if s.Put(denial("/last"), func(err error) { answers <- err }) {
		t.Error("a denial was dropped")
	}
	// After a second in which the reader takes nothing, nobody waits for it any more.
	for range denials + 1 {
		for answered := false; !answered; {
			select {
			case err := <-answers:
				if err != nil && !errors.Is(err, errStopped) {
					t.Error(err)
				}
				answered = true
			default:
				c.advance(stallWait) // again, where the pipe took some meanwhile
			}
		}
	}
	late := uint64(0)
	for i := range queueLimit {
		if !s.Put(denial(fmt.Sprint("/late", i)), func(error) { t.Error("called") }) {
			t.Fatal("a task waits for a reader that does not read")
		}
		late++
	}
	// Repetitions do not wait, and their counts do not fill the queue.
	for range 100 {
		if !s.Put(denial("/last"), nil) {
			t.Error("a repetition waits")
		}
		c.advance(foldPeriod)
	}
	st := s.Stats()
	if st.Lost < uint64(decisions-kept)+queueLimit-denials || st.Denials != denials+1+late+100 {
		t.Errorf("%+v: %d decisions were dropped, and the queue holds %d", st, decisions-kept, queueLimit)
	}
	if got := ws.all(); len(got) != 1 || !strings.Contains(got[0], "slow") {
		t.Errorf("warnings %q", got)
	}
	err := s.Close(&Record{})
	if !errors.Is(err, errStopped) {
		t.Errorf("Close: %v", err)
	}
	unix.Close(r)
	if st := s.Stats(); st.Lost != denials+1+decisions+late+100+1 {
		t.Errorf("lost %d of %d", st.Lost, denials+1+decisions+late+100+1)
	}
}

// A reader that stops, and reads on later, gets everything that was not too much, in order;
// meanwhile nobody waited for longer than a second.
func TestSinkReaderComesBack(t *testing.T) {
	r, w := pipe(t, 0)
	fillPipe(t, w)
	var ws warnings
	c := newClock()
	s := open(t, fmt.Sprintf("fd:%d", w), SinkOptions{Warn: ws.add, CloseWait: time.Minute, Now: c.Now, AfterFunc: c.AfterFunc})
	unix.Close(w)
	const early, late = 100, 200
	answers := make(chan error, early)
	for i := range early {
		s.Put(denial(fmt.Sprint("/x", i)), func(err error) { answers <- err })
	}
	for len(answers) < early {
		c.advance(stallWait)
	}
	for i := range late {
		if !s.Put(denial(fmt.Sprint("/y", i)), nil) {
			t.Fatal("a task waits")
		}
	}
	got := make(chan []Record, 1)
	go func() {
		f := os.NewFile(uintptr(r), "pipe")
		defer f.Close()
		got <- readAll(t, f)
	}()
	if err := s.Close(&Record{}); err != nil {
		t.Fatal(err)
	}
	records := <-got
	if len(records) != early+late+1 {
		t.Fatalf("%d records, want %d", len(records), early+late+1)
	}
	for i, rec := range records {
		if rec.Seq != uint64(i+1) {
			t.Fatalf("record %d has number %d", i, rec.Seq)
		}
	}
	if e := records[early+late].End; e == nil || e.Lost != 0 || e.Denials != early+late {
		t.Errorf("%+v", e)
	}
	if got := ws.all(); len(got) != 1 || !strings.Contains(got[0], "does not read") {
		t.Errorf("warnings %q", got)
	}
}

// A slow reader gets everything, in order, and each done comes after its record.
func TestSinkSlowReader(t *testing.T) {
	r, w := pipe(t, unix.O_NONBLOCK)
	if err := unix.SetNonblock(r, false); err != nil {
		t.Fatal(err)
	}
	s := open(t, fmt.Sprintf("fd:%d", w), SinkOptions{Run: "r", CloseWait: time.Minute})
	unix.Close(w)
	const n = 3000
	got := make(chan []Record, 1)
	go func() {
		f := os.NewFile(uintptr(r), "pipe")
		defer f.Close()
		got <- readAll(t, f)
	}()
	var order []int
	for i := range n {
		s.Put(denial(fmt.Sprint("/", strings.Repeat("x", i), i)), func(err error) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, i) // one goroutine at a time; Close is the barrier
		})
	}
	if err := s.Close(&Record{}); err != nil {
		t.Fatal(err)
	}
	recs := <-got
	if len(recs) != n+1 || len(order) != n {
		t.Fatalf("%d records, %d answers, want %d", len(recs), len(order), n+1)
	}
	for i, rec := range recs {
		if rec.Seq != uint64(i+1) || i < n && order[i] != i {
			t.Fatalf("record %d has seq %d", i, rec.Seq)
		}
	}
	if e := recs[n].End; e == nil || e.Denials != n || e.Lost != 0 {
		t.Errorf("end %+v", e)
	}
}

func TestSinkUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(l)
	if err := errors.Join(unix.Bind(l, &unix.SockaddrUnix{Name: path}), unix.Listen(l, 1)); err != nil {
		t.Fatal(err)
	}
	s := open(t, "unix:"+path, SinkOptions{})
	conn, _, err := unix.Accept(l)
	if err != nil {
		t.Fatal(err)
	}
	s.Put(denial("/x"), nil)
	if err := s.Close(&Record{}); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(conn), "conn")
	defer f.Close()
	if n := len(readAll(t, f)); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

// Many writers: no line is interleaved, none is missing, numbers are in file order, and
// counts add up.
func TestSinkConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	r, w := pipe(t, 0)
	fromPipe := make(chan []Record, 1)
	go func() {
		f := os.NewFile(uintptr(r), "pipe")
		defer f.Close()
		fromPipe <- readAll(t, f)
	}()
	for _, spec := range []string{path, fmt.Sprintf("fd:%d", w)} {
		s := open(t, spec, SinkOptions{CloseWait: time.Minute})
		const writers, each = 8, 500
		var all sync.WaitGroup
		for g := range writers {
			all.Go(func() {
				for i := range each {
					rec := denial(fmt.Sprint("/", g, "/", i/2)) // every other one is a repetition
					done := make(chan error, 1)
					if !s.Put(rec, func(err error) { done <- err }) {
						if err := <-done; err != nil {
							t.Error(err)
						}
					}
					s.Stats()
					if i%100 == 0 {
						s.tick()
					}
				}
			})
		}
		all.Wait()
		if spec != path {
			unix.Close(w)
		}
		if err := s.Close(&Record{}); err != nil {
			t.Fatal(err)
		}
		var recs []Record
		if spec == path {
			recs = readFile(t, path)
		} else {
			recs = <-fromPipe
		}
		var sum, firsts uint64
		for i, rec := range recs {
			if rec.Seq != uint64(i+1) {
				t.Fatalf("%s: record %d has seq %d", spec, i, rec.Seq)
			}
			if rec.Kind == KindDenial {
				sum += max(rec.Count, 1)
				if rec.Count == 0 {
					firsts++
				}
			}
		}
		if sum != writers*each || firsts != writers*each/2 {
			t.Errorf("%s: %d refusals and %d first ones, want %d and %d", spec, sum, firsts, writers*each, writers*each/2)
		}
	}
}

func TestSinkWarnMayUseTheSink(t *testing.T) {
	var s *Sink
	calls := 0
	s = open(t, "/dev/full", SinkOptions{Warn: func(text string) {
		calls++
		s.Put(&Record{Kind: KindWarning, Reason: text}, nil)
	}})
	s.Put(denial("/x"), nil)
	if calls != 1 || s.Stats().Lost != 2 {
		t.Errorf("%d calls, lost %d", calls, s.Stats().Lost)
	}
	_ = s.Close(nil)
}

func TestEventsAreBounded(t *testing.T) {
	s := open(t, "none", SinkOptions{})
	for i := range 5000 {
		s.Put(&Record{Kind: KindDenial, Syscall: fmt.Sprint("syscall_", i)}, nil)
	}
	st := s.Stats()
	if len(st.ByEvent) > maxEvents+1 || st.ByEvent["other"] != 5000-maxEvents {
		t.Errorf("%d names, %d others", len(st.ByEvent), st.ByEvent["other"])
	}
	_ = s.Close(nil)
}

func TestLevels(t *testing.T) {
	for _, l := range []Level{LevelDenials, LevelDecisions, LevelAll} {
		if got, err := ParseLevel(l.String()); got != l || err != nil {
			t.Errorf("%v: %v, %v", l, got, err)
		}
	}
	if _, err := ParseLevel("more"); err == nil {
		t.Error("no error")
	}
}

func BenchmarkPutDistinct(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "t"), SinkOptions{})
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		s.Put(denial(fmt.Sprint("/tmp/some/folder/", i)), nil)
	}
	_ = s.Close(nil)
}

func BenchmarkPutFolded(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "t"), SinkOptions{})
	r := denial("/etc/hosts")
	b.ReportAllocs()
	for b.Loop() {
		s.Put(r, nil)
	}
	_ = s.Close(nil)
}

func BenchmarkAppendLine(b *testing.B) {
	r := denial("/etc/hosts")
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendLine(buf[:0], r)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkMarshal(b *testing.B) { // what AppendLine is measured against
	r := denial("/etc/hosts")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(r); err != nil {
			b.Fatal(err)
		}
	}
}
