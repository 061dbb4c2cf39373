// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Level says how much goes into the trace.
type Level int

// The levels, each with what the one before has.
const (
	LevelDenials   Level = iota // refusals, and what frames a run: start, grant, seal, warning, end
	LevelDecisions              // allowed and judged calls
	LevelAll                    // life-cycle events: exec, exit
)

var levelNames = [...]string{"denials", "decisions", "all"}

// String gives the word of --trace-level.
func (l Level) String() string { return levelNames[l] }

// ParseLevel is the inverse of String.
func ParseLevel(word string) (Level, error) {
	for i, name := range levelNames {
		if name == word {
			return Level(i), nil
		}
	}
	return 0, fmt.Errorf("unknown trace level %q (one of denials, decisions, all)", word)
}

func (l Level) wants(k Kind) bool {
	switch k {
	case KindDecision:
		return l >= LevelDecisions
	case KindExec, KindExit:
		return l >= LevelAll
	}
	return true
}

// Sizes and times of a Sink.
const (
	queueLimit  = 4096             // records that wait for a slow reader before others than denials are dropped
	foldPeriod  = 10 * time.Second // RECORDS.md: the count every 10 s
	stallWait   = time.Second      // what a reader that does not read may keep refused tasks waiting
	queueBytes  = 64 << 20         // what waits for such a reader, besides queueLimit
	closeWait   = 2 * time.Second  // what a reader that stopped reading gets at the end
	maxEvents   = 1024             // names in Stats.ByEvent
	maxSpare    = 64               // buffers kept for reuse
	spareLength = 4096
)

// SinkOptions are what Open needs besides the place.
type SinkOptions struct {
	Run   string // run id, written to every record
	Level Level
	// Warn is called at most once for a trace that cannot be written and once for a
	// reader that is too slow, on whatever goroutine noticed, without any lock held.
	Warn func(text string)

	// MaxSize, if not 0, is how many bytes a trace that is a file may hold: then it becomes
	// FILE.1, and a new FILE is begun. A record is never split. Keep is how many such parts
	// are kept.
	MaxSize int64
	Keep    int

	// For tests; zero means the real thing.
	Now       func() time.Time
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
	CloseWait time.Duration
}

// Stats are the Sink's counters.
type Stats struct {
	Denials uint64            // refusals, folded ones included
	ByEvent map[string]uint64 // the same by audit event, or system call where there is none
	Folded  uint64            // refusals counted in a record of others
	Lost    uint64            // refusals and other records that were not written
}

// Sink owns the trace. Records are numbered and written in the order of Put; a record is
// one write(2). An error of the trace never changes a verdict: it is told once and counted.
// A Sink may be used from several goroutines.
type Sink struct {
	t    *target
	opts SinkOptions

	mu        sync.Mutex
	seq       uint64
	stats     Stats
	fold      *foldTable
	stopTimer func() bool // nil when the fold timer is not armed
	closed    bool
	dead      error // set when no write can succeed any more: why
	warned    bool
	slow      bool
	warnings  []string // to be delivered when the lock is released
	buf       []byte   // of synchronous writes

	// torn: the last write stopped within a line. Used by whoever writes: Put under the
	// lock for files, the writer goroutine for streams.
	torn bool

	// Files only; nil without MaxSize, or after a rotation that failed.
	rotation *rotation

	// Streams only.
	queue     []queued
	bytes     int // in queue
	spare     [][]byte
	idle      chan struct{} // closed when the writer goroutine has ended; nil without one
	writing   uint64        // weight of the record that it is writing
	abandoned bool

	// A reader that does not read: see stall.
	taken       uint64          // records that it took
	stalled     bool            // since stallWait it took none: nobody waits for it
	stallStop   func() bool     // nil when the timer is not armed
	writingDone func(err error) // of the record that is being written
}

// queued is a record that waits for the writer goroutine.
type queued struct {
	line   []byte
	weight uint64          // what is lost with it
	end    *Record         // the end record, encoded when its turn comes: only then Lost is known
	done   func(err error) // may be nil
}

// Open opens the trace: FILE, fd:N, - (standard error), unix:PATH, or none (records are
// counted, not written). It must happen before the tree starts.
func Open(spec string, opts SinkOptions) (*Sink, error) {
	t, err := openTarget(spec)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.AfterFunc == nil {
		opts.AfterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if opts.CloseWait == 0 {
		opts.CloseWait = closeWait
	}
	s := &Sink{t: t, opts: opts, fold: newFoldTable(), stats: Stats{ByEvent: make(map[string]uint64)}}
	if opts.MaxSize != 0 {
		if s.rotation, err = newRotation(t, opts.MaxSize, opts.Keep); err != nil {
			_ = t.close()
			return nil, fmt.Errorf("trace: %w", err)
		}
	}
	// A write beyond RLIMIT_FSIZE raises SIGXFSZ, which Go's handler makes nothing of: what is
	// left of it is EFBIG. Not ignored: that would be inherited by the tree through execve.
	return s, nil
}

// Wants tells whether Put would write a record of this kind, so that callers need not
// build it.
func (s *Sink) Wants(k Kind) bool {
	if s.t.fd < 0 && !k.Refusal() {
		return false
	}
	return s.opts.Level.wants(k)
}

// Line gives r as a line, with the version, run and time of this trace and without a
// number: for whoever is asked. It is not written.
func (s *Sink) Line(r *Record) []byte {
	r.V, r.Run = Version, s.opts.Run
	if r.Time.IsZero() {
		r.Time = s.opts.Now()
	}
	return AppendLine(nil, r)
}

// File returns device and inode of the trace and its path as given, for the guard that
// keeps the tree from changing it, or from connecting to it. ok is false when the trace is no
// file or socket named by a path.
func (s *Sink) File() (path string, dev, ino uint64, ok bool) {
	return s.t.path, s.t.stat.Dev, s.t.stat.Ino, s.t.path != ""
}

// Put writes r, after setting V, Run, Seq and (if it is zero) Time in it. True means that
// all is done: r is written, folded into a count, or counted as lost. False means that r
// waits for the reader of a pipe, socket or terminal; done, if not nil, is then called
// once from another goroutine when r has been written (nil), or counted as lost, or when the
// reader has taken nothing for a second (the error).
//
// A refused task must not resume before. That also bounds the queue: denials are not
// dropped because it is full, and each task has one at most. Other kinds are, and denials of
// tasks that do not wait any more because the reader does not read.
//
// Put keeps no reference to slices of r.
func (s *Sink) Put(r *Record, done func(err error)) bool {
	s.mu.Lock()
	settled := s.put(r, done)
	s.unlock()
	return settled
}

func (s *Sink) put(r *Record, done func(err error)) bool {
	if !s.opts.Level.wants(r.Kind) {
		return true
	}
	if s.closed {
		s.stats.Lost++
		return true
	}
	if r.Time.IsZero() {
		r.Time = s.opts.Now()
	}
	if !r.Kind.Refusal() {
		return s.emit(r, done)
	}
	s.stats.Denials++
	s.countEvent(r)
	// A kill ends a task and says why: always told by itself.
	if r.Verdict != "kill" && s.fold.add(r, s.emitCount) {
		s.stats.Folded++
		s.armTimer()
		return true
	}
	return s.emit(r, done)
}

// countEvent keeps the map bounded: a tree can make up numbers of system calls.
func (s *Sink) countEvent(r *Record) {
	name := r.Event
	if name == "" {
		name = r.Syscall
	}
	if _, known := s.stats.ByEvent[name]; !known && len(s.stats.ByEvent) >= maxEvents {
		name = "other"
	}
	s.stats.ByEvent[name]++
}

// unlock releases the lock and delivers warnings; the callback may use the Sink.
func (s *Sink) unlock() {
	warnings := s.warnings
	s.warnings = nil
	s.mu.Unlock()
	if s.opts.Warn != nil {
		for _, w := range warnings {
			s.opts.Warn(w)
		}
	}
}

// emit numbers r and writes or queues it. Lost records keep their number: a gap in seq
// shows where they were.
func (s *Sink) emit(r *Record, done func(err error)) bool {
	s.seq++
	r.V, r.Run, r.Seq = Version, s.opts.Run, s.seq
	weight := max(r.Count, 1)
	switch {
	case s.t.fd < 0:
		return true
	case s.dead != nil:
		s.stats.Lost += weight
		return true
	case !s.t.stream:
		s.buf = AppendLine(s.buf[:0], r)
		if err := s.writeLine(s.buf); err != nil {
			s.lose(weight, err)
		}
		return true
	case (len(s.queue) >= queueLimit || s.bytes >= queueBytes) && (!r.Kind.Refusal() || s.stalled):
		s.stats.Lost += weight
		if s.stalled {
			return true // that was told
		}
		if !s.slow {
			s.slow = true
			s.warnings = append(s.warnings, fmt.Sprintf("trace %s: its reader is slow; records other than denials are dropped and counted", EscapeText(s.t.name)))
		}
		return true
	}
	var buf []byte
	if n := len(s.spare); n > 0 {
		buf, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	q := queued{line: AppendLine(buf[:0], r), weight: weight, done: done}
	if s.stalled {
		q.done = nil
		s.enqueue(q)
		return true
	}
	s.enqueue(q)
	if done != nil {
		s.armStall()
	}
	return false
}

// armStall begins to watch the reader, for whoever waits for it.
func (s *Sink) armStall() {
	if s.stallStop == nil {
		taken := s.taken
		s.stallStop = s.opts.AfterFunc(stallWait, func() { s.stall(taken) })
	}
}

// stall lets everybody go on who waits for a reader that took nothing since there were so
// many taken: a reader that stops reading must not stop a run. The records stay in the queue,
// and the next ones join them without waiting as long as there is room.
func (s *Sink) stall(taken uint64) {
	s.mu.Lock()
	s.stallStop = nil
	var waiting []func(error)
	if s.writingDone != nil {
		waiting = append(waiting, s.writingDone)
	}
	for i := range s.queue {
		if d := s.queue[i].done; d != nil {
			waiting = append(waiting, d)
		}
	}
	switch {
	case len(waiting) == 0 || s.closed || s.abandoned:
		waiting = nil
	case s.taken != taken:
		s.armStall()
		waiting = nil
	default:
		s.stalled, s.writingDone = true, nil
		for i := range s.queue {
			s.queue[i].done = nil
		}
		if !s.slow {
			s.slow = true
			s.warnings = append(s.warnings, fmt.Sprintf("trace %s: its reader does not read; the run goes on, records wait for it and are counted as lost when there are too many", EscapeText(s.t.name)))
		}
	}
	s.unlock()
	for _, done := range waiting {
		done(errStopped)
	}
}

// emitCount writes the record of a folded count.
func (s *Sink) emitCount(r *Record) {
	r.Time = s.opts.Now()
	s.emit(r, nil)
}

func (s *Sink) enqueue(q queued) {
	s.queue = append(s.queue, q)
	s.bytes += len(q.line)
	if s.idle == nil {
		s.idle = make(chan struct{})
		go s.drain(s.idle)
	}
}

// drain is the writer goroutine: it lives while there is something to write.
func (s *Sink) drain(idle chan struct{}) {
	defer close(idle)
	for {
		s.mu.Lock()
		if len(s.queue) == 0 || s.abandoned {
			s.idle = nil
			s.mu.Unlock()
			return
		}
		q := s.queue[0]
		s.queue[0] = queued{}
		s.queue = s.queue[1:]
		s.bytes -= len(q.line)
		s.writing, s.writingDone = q.weight, q.done
		err := s.dead
		if q.end != nil {
			s.fillEnd(q.end)
			q.line = AppendLine(nil, q.end)
		}
		s.mu.Unlock()

		if err == nil {
			err = s.writeLine(q.line)
		}
		s.mu.Lock()
		s.writing = 0
		s.taken++
		s.stalled = false
		done := s.writingDone // nil if it was not waited for any more
		s.writingDone = nil
		if err != nil && !s.abandoned { // abandon has counted it
			s.lose(q.weight, err)
		}
		if len(s.spare) < maxSpare && cap(q.line) <= spareLength {
			s.spare = append(s.spare, q.line)
		}
		s.unlock()
		if done != nil {
			done(err)
		}
	}
}

// writeLine writes one line. After a line that could only be written in part (full disk)
// the next one begins with a newline, so that a reader loses just the cut one.
func (s *Sink) writeLine(line []byte) error {
	if s.torn {
		line = append([]byte{'\n'}, line...)
	}
	if r := s.rotation; r != nil && r.full(len(line)) {
		if err := r.turn(s.t); err != nil {
			// It grows on: records are worth more than the limit.
			r.close()
			s.rotation = nil
			s.warnings = append(s.warnings, fmt.Sprintf("trace %s: %v; it is not rotated any more", EscapeText(s.t.name), err))
		}
	}
	n, err := s.t.write(line)
	if n > 0 {
		s.torn = n < len(line)
	}
	if s.rotation != nil {
		s.rotation.size += int64(n)
	}
	return err
}

// lose counts and, the first time, tells.
func (s *Sink) lose(weight uint64, err error) {
	s.stats.Lost += weight
	if s.dead == nil && isGone(err) {
		s.dead = err
	}
	if s.warned {
		return
	}
	s.warned = true
	s.warnings = append(s.warnings, fmt.Sprintf("trace %s: %v; the run goes on, records that cannot be written are counted as lost", EscapeText(s.t.name), err))
}

func (s *Sink) armTimer() {
	if s.stopTimer == nil {
		s.stopTimer = s.opts.AfterFunc(foldPeriod, s.tick)
	}
}

// tick writes the counts. While a reader does not read they stay in the table, which is
// bounded, instead of filling the queue.
func (s *Sink) tick() {
	s.mu.Lock()
	s.stopTimer = nil
	if !s.closed {
		if len(s.queue) < queueLimit {
			s.fold.flush(s.emitCount)
		}
		if s.fold.pending > 0 {
			s.armTimer()
		}
	}
	s.unlock()
}

// Stats returns a copy of the counters.
func (s *Sink) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.stats
	out.ByEvent = make(map[string]uint64, len(s.stats.ByEvent))
	for k, n := range s.stats.ByEvent {
		out.ByEvent[k] = n
	}
	return out
}

func (s *Sink) fillEnd(r *Record) {
	end := *r.End
	end.Denials, end.Folded, end.Lost = s.stats.Denials, s.stats.Folded, s.stats.Lost
	end.ByEvent = s.stats.ByEvent
	r.End = &end
}

// errStopped is the answer to records that wait for a reader which never came back.
var errStopped = errors.New("the reader of the trace does not read")

// Close writes the counts of folded refusals and then end (nil for none), with Denials,
// ByEvent, Folded and Lost as Stats has them. It waits for a slow reader for 2 s at most; what is
// not written then is lost and the error says so. Later Puts are counted as lost.
func (s *Sink) Close(end *Record) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	if s.stopTimer != nil {
		s.stopTimer()
		s.stopTimer = nil
	}
	if s.stallStop != nil {
		s.stallStop()
		s.stallStop = nil
	}
	s.fold.flush(s.emitCount)
	if end != nil {
		s.putEnd(end)
	}
	s.closed = true
	idle := s.idle
	s.unlock()
	if idle != nil {
		timer := time.NewTimer(s.opts.CloseWait)
		defer timer.Stop()
		select {
		case <-idle:
		case <-timer.C:
			return s.abandon()
		}
	}
	if s.rotation != nil {
		s.rotation.close()
	}
	return s.t.close()
}

func (s *Sink) putEnd(end *Record) {
	r := new(Record)
	*r = *end // the writer goroutine may hold it for longer than Close takes
	if r.Time.IsZero() {
		r.Time = s.opts.Now()
	}
	if r.End == nil {
		r.End = new(End)
	}
	s.seq++
	r.V, r.Run, r.Seq, r.Kind = Version, s.opts.Run, s.seq, KindEnd
	if s.t.fd >= 0 && s.t.stream && s.dead == nil {
		s.enqueue(queued{end: r, weight: 1})
		return
	}
	s.fillEnd(r)
	if s.t.fd < 0 || s.dead != nil {
		return
	}
	if err := s.writeLine(AppendLine(nil, r)); err != nil {
		s.lose(1, err)
	}
}

// abandon gives up on a writer goroutine that hangs in write(2). The descriptor stays
// open: closing it would not end the write, and its number could be used again.
func (s *Sink) abandon() error {
	s.mu.Lock()
	s.abandoned = true
	rest := s.queue
	s.queue = nil
	lost := s.writing // in write(2), at best in part
	s.stats.Lost += lost
	for _, q := range rest {
		s.stats.Lost += q.weight
		lost += q.weight
	}
	s.mu.Unlock()
	for _, q := range rest {
		if q.done != nil {
			q.done(errStopped)
		}
	}
	return fmt.Errorf("trace %s: %w; %d records are lost", EscapeText(s.t.name), errStopped, lost)
}
