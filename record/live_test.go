// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// lines is a writer that keeps each write by itself.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, string(b))
	return len(b), nil
}

// show runs f on a Live and returns what people saw. Each write must be a whole line.
func show(t *testing.T, opts LiveOptions, f func(*Live)) []string {
	t.Helper()
	var w lines
	l := NewLive(&w, opts)
	f(l)
	if !l.Flush(time.Minute) {
		t.Fatal("not flushed")
	}
	for i, line := range w.list {
		if !strings.HasPrefix(line, "ptguard: ") || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
			t.Errorf("%q is not a line of ptguard", line)
		}
		w.list[i] = strings.TrimSuffix(line, "\n")
	}
	return w.list
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The three lines of RECORDS.md.
func TestLiveExample(t *testing.T) {
	got := show(t, LiveOptions{Trace: "trace.jsonl"}, func(l *Live) {
		for range 12 {
			l.Refused(denial("/etc/hosts"))
		}
		l.Summary(1234*time.Millisecond, 0)
	})
	same(t, got,
		"ptguard: denied  write /etc/hosts   python3[4242] openat   outside the writable roots",
		"ptguard: hint    writable here: /home/me/app, /tmp.  allow with: --write /etc/hosts",
		"ptguard: 1 denial (12 times), run 1.2 s, details: ptguard dump trace.jsonl")
}

func TestLiveKinds(t *testing.T) {
	got := show(t, LiveOptions{}, func(l *Live) {
		l.Refused(&Record{Verdict: "deny", Access: []string{"connect"}, Addr: "10.0.0.1", Port: 443, PID: 7, Exe: "/usr/bin/curl", Syscall: "connect", Reason: "no rule allows it", Fix: "--connect 10.0.0.1:443"})
		l.Refused(&Record{Verdict: "deny", Access: []string{"connect"}, Addr: "::1", Port: 80, PID: 7, Exe: "/usr/bin/curl", Syscall: "connect"})
		l.Refused(&Record{Verdict: "hide", Access: []string{"read"}, Resolved: "/home/me/.ssh/id", PID: 8, Comm: "cat", Syscall: "openat", Hint: "ask for it."})
		l.Refused(&Record{Verdict: "hide", Access: []string{"list"}, Resolved: "/home/me/.ssh", PID: 8, Comm: "ls", Syscall: "openat", Hint: "ask for it"})
		l.Refused(&Record{Verdict: "deny", PID: 9, Comm: "x", Syscall: "io_uring_setup", Reason: "this call is always refused"})
		l.Refused(&Record{Verdict: "deny", PID: 9, Comm: "x", Syscall: "bpf"})
		l.Refused(&Record{Verdict: "kill", Access: []string{"write"}, Resolved: "/x", PID: 9, Comm: "x\n\x1b[2J", Syscall: "openat", Reason: "a\nb\u202e"})
		l.Refused(&Record{Verdict: "kill", Access: []string{"write"}, Resolved: "/x", PID: 10, Comm: "y", Syscall: "open", Reason: "other"}) // the same kind
		l.Summary(61*time.Second, 2)
	})
	same(t, got,
		"ptguard: denied  connect 10.0.0.1:443   curl[7] connect   no rule allows it",
		"ptguard: hint    allow with: --connect 10.0.0.1:443",
		"ptguard: denied  connect [::1]:80   curl[7] connect",
		"ptguard: hidden  read /home/me/.ssh/id   cat[8] openat",
		"ptguard: hint    ask for it",
		"ptguard: hidden  list /home/me/.ssh   ls[8] openat",
		"ptguard: denied  call   x[9] io_uring_setup   this call is always refused",
		"ptguard: denied  call   x[9] bpf",
		`ptguard: killed  write /x   x\x0a\x1b[2J[9] openat   a\x0ab\xe2\x80\xae`,
		"ptguard: 7 denials (8 times), run 1 min 1 s, 2 records lost, details: run with --trace FILE")
}

// What one flag would allow is one kind, and a hint does not repeat the one before.
func TestLiveFolder(t *testing.T) {
	cached := func(access, name string) *Record {
		r := denial("/home/me/.cache/go-build/" + name)
		r.Access, r.Fix = []string{access}, "--write ~/.cache/go-build"
		return r
	}
	got := show(t, LiveOptions{}, func(l *Live) {
		l.Refused(denial("/etc/hosts"))
		l.Refused(cached("write", "f7/a"))
		l.Refused(cached("create", "f8/b"))
		l.Refused(&Record{Verdict: "deny", Access: []string{"write"}, Resolved: "/x", PID: 1, Comm: "sh", Syscall: "openat", Hint: "other", Fix: "--write /x"})
		l.Summary(time.Second, 0)
	})
	same(t, got,
		"ptguard: denied  write /etc/hosts   python3[4242] openat   outside the writable roots",
		"ptguard: hint    writable here: /home/me/app, /tmp.  allow with: --write /etc/hosts",
		"ptguard: denied  write /home/me/.cache/go-build/f7/a   python3[4242] openat   outside the writable roots",
		"ptguard: hint    allow with: --write ~/.cache/go-build",
		"ptguard: denied  write /x   sh[1] openat",
		"ptguard: hint    other.  allow with: --write /x",
		"ptguard: 3 denials (4 times), run 1.0 s, details: run with --trace FILE")
}

// The lines of a refusal are out before the program hears of it, and so before what it
// says of it; a terminal that takes nothing holds the run only for so long.
func TestLiveFirst(t *testing.T) {
	var w lines
	l := NewLive(&w, LiveOptions{})
	l.patience = time.Minute
	l.Refused(denial("/x"))
	w.mu.Lock()
	n := len(w.list)
	w.mu.Unlock()
	if n != 2 {
		t.Errorf("%d lines are out when Refused returns", n)
	}
	block := make(chan struct{})
	defer close(block)
	l = NewLive(stuck(block), LiveOptions{})
	begin := time.Now()
	for i := range 15 {
		l.Refused(denial(fmt.Sprint("/", i)))
	}
	if took := time.Since(begin); took < livePatience || took > 30*time.Second {
		t.Errorf("a stuck writer held 15 refusals for %v", took)
	}
}

type stuck chan struct{}

func (s stuck) Write(b []byte) (int, error) {
	<-s
	return len(b), nil
}

func TestLiveCap(t *testing.T) {
	got := show(t, LiveOptions{Trace: "-"}, func(l *Live) {
		for i := range 100 {
			r := denial(fmt.Sprint("/", i))
			r.Hint, r.Fix = "", ""
			l.Refused(r)
		}
		l.Summary(100*time.Millisecond, 0)
	})
	if len(got) != 22 || got[20] != "ptguard: further denials are counted only" || got[21] != "ptguard: 100 denials, run 0.1 s" {
		t.Errorf("%d lines: %q", len(got), got[max(0, len(got)-3):])
	}
}

func TestLiveSilent(t *testing.T) {
	same(t, show(t, LiveOptions{}, func(l *Live) { l.Summary(time.Second, 0) }))
	same(t, show(t, LiveOptions{}, func(l *Live) {
		l.Warn("trace x: no space\nleft")
		l.Note("waiting for java[123]")
		l.Summary(time.Second, 0)
	}),
		`ptguard: warning: trace x: no space\x0aleft`, "ptguard: waiting for java[123]")
	l := NewLive(nil, LiveOptions{})
	l.Refused(denial("/x"))
	l.Warn("x")
	l.Summary(0, 0)
	if !l.Flush(0) {
		t.Error("--quiet has something to write")
	}
}

func TestSummaryNamesTheFile(t *testing.T) {
	for trace, want := range map[string]string{
		"":            ", details: run with --trace FILE",
		"none":        ", details: run with --trace FILE",
		"fd:3":        "",
		"unix:/x":     "",
		"my trace":    ", details: ptguard dump 'my trace'",
		"it's;":       `, details: ptguard dump 'it'\''s;'`,
		"größe.jsonl": ", details: ptguard dump größe.jsonl",
	} {
		got := show(t, LiveOptions{Trace: trace}, func(l *Live) { l.Refused(denial("/x")); l.Summary(0, 0) })
		if line := got[len(got)-1]; line != "ptguard: 1 denial, run 0.0 s"+want {
			t.Errorf("%q: %s", trace, line)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 s", 1234 * time.Millisecond: "1.2 s", 59940 * time.Millisecond: "59.9 s", 59960 * time.Millisecond: "1 min 0 s",
		125 * time.Second: "2 min 5 s", 3*time.Hour + 29*time.Minute: "3 h 29 min",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// A terminal that takes nothing neither stops nor holds the run, and memory is bounded.
func TestLiveStuck(t *testing.T) {
	r, w := pipe(t, 0)
	if _, err := unix.FcntlInt(uintptr(w), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	log, err := OpenLog(fmt.Sprintf("fd:%d", w))
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(w)
	l := NewLive(log, LiveOptions{})
	for range 10_000 {
		l.Warn(strings.Repeat("x", 100))
	}
	l.Refused(denial("/x"))
	l.Summary(time.Second, 0)
	if l.Flush(10 * time.Millisecond) {
		t.Error("flushed into a full pipe")
	}
	l.mu.Lock()
	if l.waiting > liveBytes || l.dropped < 9000 {
		t.Errorf("%d bytes wait, %d lines dropped", l.waiting, l.dropped)
	}
	l.mu.Unlock()
	unix.Close(r)
	if l.Flush(time.Minute) {
		t.Error("flushed into a closed pipe")
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestLiveClosed(t *testing.T) {
	for _, spec := range []string{"/dev/full", "none"} {
		log, err := OpenLog(spec)
		if err != nil {
			t.Fatal(err)
		}
		l := NewLive(log, LiveOptions{})
		l.Refused(denial("/x"))
		if ok := l.Flush(time.Minute); ok != (spec == "none") {
			t.Errorf("%s: flushed %v", spec, ok)
		}
		l.Refused(denial("/y"))
		l.Summary(0, 0)
		l.Flush(time.Minute)
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if log.Colour() {
		t.Error("colour in a file")
	}
	l := NewLive(log, LiveOptions{})
	l.Note("hello")
	l.Flush(time.Minute)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "ptguard: hello\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestColour(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	log, err := OpenLog(fmt.Sprintf("fd:%d", tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !log.Colour() {
		t.Error("no colour on a terminal")
	}
	t.Setenv("NO_COLOR", "1")
	if log.Colour() {
		t.Error("colour in spite of NO_COLOR")
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if log.Colour() {
		t.Error("colour on a dumb terminal")
	}
	got := show(t, LiveOptions{Colour: true}, func(l *Live) { l.Refused(denial("/x")) })
	if !strings.HasPrefix(got[0], "ptguard: \x1b[31mdenied\x1b[0m  write /x ") {
		t.Errorf("%q", got[0])
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestLiveConcurrent(t *testing.T) {
	for _, w := range []interface{ Write([]byte) (int, error) }{new(bytes.Buffer), failing{errors.New("gone")}} {
		l := NewLive(w, LiveOptions{})
		var all sync.WaitGroup
		for g := range 4 {
			all.Go(func() {
				for i := range 200 {
					l.Refused(denial(fmt.Sprint("/", g, i)))
					l.Warn("x")
				}
			})
		}
		all.Wait()
		l.Summary(0, 0)
		l.Flush(time.Minute)
	}
}
