// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of the live lines.
const (
	liveKinds    = 20       // kinds of refusal that get a line
	liveDistinct = 1 << 16  // kinds told apart for the summary
	liveBytes    = 64 << 10 // lines that wait for a slow terminal

	// livePatience is how long a run waits in all for its lines to be written.
	livePatience = 200 * time.Millisecond
)

// Log is where the live lines go: standard error, or what --log names.
type Log struct{ t *target }

// OpenLog opens FILE, fd:N, unix:PATH or none; the empty string is standard error.
func OpenLog(spec string) (*Log, error) {
	if spec == "" {
		spec = "-"
	}
	t, err := openTarget(spec)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return &Log{t}, nil
}

// Write writes b, a whole line, with one write(2). It never raises SIGPIPE.
func (l *Log) Write(b []byte) (int, error) {
	if l.t.fd < 0 {
		return len(b), nil
	}
	return l.t.write(b)
}

// Colour tells whether escape sequences are wanted: on a terminal, unless NO_COLOR is set
// (no-color.org) or the terminal is dumb.
func (l *Log) Colour() bool {
	return l.t.terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// File returns device and inode of a log opened by path, as Sink.File does.
func (l *Log) File() (path string, dev, ino uint64, ok bool) {
	return l.t.path, l.t.stat.Dev, l.t.stat.Ino, l.t.path != ""
}

// Close closes the descriptor. Not after a Flush that failed: its write may be running.
func (l *Log) Close() error { return l.t.close() }

// LiveOptions are what NewLive needs besides the writer.
type LiveOptions struct {
	Colour bool
	// Trace is the --trace argument, for the summary; empty without a trace.
	Trace string
	// Audit: nothing is enforced, and the summary says so whatever was found.
	Audit bool
}

// Live tells people what was refused: a line for each new kind of refusal while the run
// goes on, a summary at its end. Every line begins with "ptguard:"; without a refusal or
// a warning there is none. A refusal is written before the program hears of it, so that
// what the program says of it follows; but a stuck terminal holds the run for no longer
// than livePatience in all, and lines that it does not take are dropped. A nil writer
// makes it count only (--quiet).
type Live struct {
	w    io.Writer
	opts LiveOptions

	mu       sync.Mutex
	seed     maphash.Seed
	kinds    map[uint64]struct{}
	total    uint64
	printed  int
	lastHint string // the whole line
	lastWhy  string // its first part
	patience time.Duration

	queue   []string
	waiting int           // bytes in queue
	dropped int           // lines
	idle    chan struct{} // closed when the writing goroutine ends; nil without one
	dead    bool          // the writer failed
}

// NewLive returns a Live on w, which gets one Write a line.
func NewLive(w io.Writer, opts LiveOptions) *Live {
	return &Live{w: w, opts: opts, seed: maphash.MakeSeed(), kinds: make(map[uint64]struct{}), patience: livePatience}
}

// Refused tells of one refusal, if it is of a new kind: another verdict, access, object,
// rule or program than before. Objects that one flag would allow are one: a tool's cache
// is refused file by file.
func (l *Live) Refused(r *Record) {
	if !l.refusedNew(r) {
		return
	}
	begin := time.Now()
	l.mu.Lock()
	patience := l.patience
	l.mu.Unlock()
	if patience <= 0 {
		return
	}
	l.Flush(patience)
	l.mu.Lock()
	l.patience -= time.Since(begin)
	l.mu.Unlock()
}

// refusedNew queues the lines of a refusal and tells whether there are any.
func (l *Live) refusedNew(r *Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += max(r.Count, 1)
	kind := l.kindOf(r)
	if _, known := l.kinds[kind]; known || len(l.kinds) >= liveDistinct {
		return false
	}
	l.kinds[kind] = struct{}{}
	switch {
	case l.printed < liveKinds:
		l.printed++
		l.print(l.refusal(r))
		l.printHint(r)
	case l.printed == liveKinds:
		l.printed++
		l.print("ptguard: further denials are counted only")
	default:
		return false
	}
	return true
}

// printHint prints the second line, but not what the one before it said already.
func (l *Live) printHint(r *Record) {
	h, why := hint(r.Hint, r.Fix), r.Hint
	if h == "" || h == l.lastHint {
		return
	}
	l.lastHint = h
	if r.Fix != "" && why == l.lastWhy {
		h = hint("", r.Fix)
	}
	l.lastWhy = why
	l.print("ptguard: hint    " + h)
}

func (l *Live) kindOf(r *Record) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	object, access := anyProcess(r.Resolved), r.Access
	if strings.HasPrefix(r.Fix, "--write ") {
		object, access = r.Fix, nil
	}
	for _, s := range []string{r.Verdict, r.Exe, r.Rule, object, r.Addr, strconv.Itoa(r.Port)} {
		_, _ = h.WriteString(s)
		_ = h.WriteByte(0)
	}
	if r.Resolved == "" {
		_, _ = h.WriteString(r.Path)
	}
	if r.Resolved == "" && r.Path == "" && r.Addr == "" {
		_, _ = h.WriteString(r.Syscall) // refused by number: there is no object
	}
	for _, a := range access {
		_ = h.WriteByte(0)
		_, _ = h.WriteString(a)
	}
	return h.Sum64()
}

// anyProcess takes the number out of /proc/PID/…: ps(1) looks at every process, and that
// is one kind of refusal.
func anyProcess(resolved string) string {
	rest, ok := strings.CutPrefix(resolved, "/proc/")
	if !ok || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return resolved
	}
	return "/proc/" + strings.TrimLeft(rest, "0123456789")
}

// Warn prints "ptguard: warning: TEXT".
func (l *Live) Warn(text string) { l.say("ptguard: warning: " + EscapeText(text)) }

// Note prints "ptguard: TEXT".
func (l *Live) Note(text string) { l.say("ptguard: " + EscapeText(text)) }

func (l *Live) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print(line)
}

// Summary prints the closing line, if anything was refused: how much, how long the run
// took, and where the details are. lost is Stats.Lost of the trace.
func (l *Live) Summary(run time.Duration, lost uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total == 0 && !l.opts.Audit {
		return
	}
	var b strings.Builder
	n := uint64(len(l.kinds))
	b.WriteString("ptguard: ")
	if l.opts.Audit {
		b.WriteString("AUDIT, nothing was enforced: ")
	}
	fmt.Fprintf(&b, "%d", n)
	if n >= liveDistinct {
		b.WriteByte('+')
	}
	if b.WriteString(" denial"); n != 1 {
		b.WriteByte('s')
	}
	if l.total != n {
		fmt.Fprintf(&b, " (%d times)", l.total)
	}
	fmt.Fprintf(&b, ", run %s", duration(run))
	if lost > 0 {
		fmt.Fprintf(&b, ", %d records lost", lost)
	}
	if l.dropped > 0 {
		fmt.Fprintf(&b, ", %d lines dropped", l.dropped)
	}
	switch _, isFD := Descriptor(l.opts.Trace); {
	case l.total == 0:
	case l.opts.Trace == "" || l.opts.Trace == "none":
		b.WriteString(", details: run with --trace FILE")
	case !isFD && !strings.HasPrefix(l.opts.Trace, "unix:"):
		b.WriteString(", details: ptguard dump " + shellQuote(l.opts.Trace))
	}
	l.print(b.String())
}

// print queues one line; the lock is held.
func (l *Live) print(line string) {
	if l.w == nil || l.dead {
		return
	}
	if l.waiting+len(line) > liveBytes {
		l.dropped++
		return
	}
	l.queue = append(l.queue, line+"\n")
	l.waiting += len(line) + 1
	if l.idle == nil {
		l.idle = make(chan struct{})
		go l.drain(l.idle)
	}
}

func (l *Live) drain(idle chan struct{}) {
	defer close(idle)
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.idle = nil
			l.mu.Unlock()
			return
		}
		line := l.queue[0]
		l.queue = l.queue[1:]
		l.waiting -= len(line)
		l.mu.Unlock()
		if _, err := io.WriteString(l.w, line); err != nil {
			// A closed terminal is no reason to stop a run, and nobody is left to tell.
			l.mu.Lock()
			l.dead, l.queue, l.waiting, l.idle = true, nil, 0, nil
			l.mu.Unlock()
			return
		}
	}
}

// Flush waits until all lines are written, for d at most, and tells whether they are.
func (l *Live) Flush(d time.Duration) bool {
	l.mu.Lock()
	idle, dead := l.idle, l.dead
	l.mu.Unlock()
	if idle == nil {
		return !dead
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-idle:
		l.mu.Lock()
		defer l.mu.Unlock()
		return !l.dead
	case <-timer.C:
		return false
	}
}

var verdictWords = map[string]string{"hide": "hidden", "kill": "killed"}

// auditWords are for what was not enforced.
var auditWords = map[string]string{"hide": "would hide"}

// refusal makes the first line:
//
//	ptguard: denied  write /etc/hosts   python3[4242] openat   outside the writable roots
func (l *Live) refusal(r *Record) string {
	word := verdictWords[r.Verdict]
	if word == "" {
		word = "denied"
	}
	if r.Audit {
		if word = auditWords[r.Verdict]; word == "" {
			word = "would deny"
		}
	}
	if l.opts.Colour {
		word = "\x1b[31m" + word + "\x1b[0m"
	}
	var b strings.Builder
	b.WriteString("ptguard: " + word + "  ")
	if len(r.Access) > 0 {
		b.WriteString(strings.Join(r.Access, ",") + " ")
	}
	if o := Object(r); o != "" {
		b.WriteString(Escape(o))
	} else if len(r.Access) == 0 {
		b.WriteString("call")
	}
	fmt.Fprintf(&b, "   %s[%d] %s", Escape(program(r)), r.PID, EscapeText(r.Syscall))
	if r.Reason != "" {
		b.WriteString("   " + EscapeText(r.Reason))
	}
	return strings.TrimRight(b.String(), " ")
}

// hint makes the text of the second line from a record's hint and fix.
func hint(why, fix string) string {
	text := strings.TrimRight(why, ". ")
	if fix != "" {
		if text != "" {
			text += ".  "
		}
		text += "allow with: " + fix
	}
	return EscapeText(text)
}

// Object names what r is about: the canonical path, the address, or the name as given.
func Object(r *Record) string {
	switch {
	case r.Resolved != "":
		return r.Resolved
	case r.Addr != "" && r.Port != 0:
		return net.JoinHostPort(r.Addr, strconv.Itoa(r.Port))
	case r.Addr != "":
		return r.Addr
	}
	return r.Path
}

// program gives the short name of who did it.
func program(r *Record) string {
	switch {
	case r.Comm != "":
		return r.Comm
	case r.Exe != "":
		return path.Base(r.Exe)
	}
	return "?"
}

// duration is for people: 1.2 s, 2 min 5 s, 3 h 0 min.
func duration(d time.Duration) string {
	switch s := int(d.Round(time.Second).Seconds()); {
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
}

// shellQuote makes a word that sh(1) reads back as s, as far as s can be printed.
func shellQuote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%=", r) || r > 0x7f)
	}) < 0
	if plain {
		return EscapeText(s)
	}
	return "'" + EscapeText(strings.ReplaceAll(s, "'", `'\''`)) + "'"
}
