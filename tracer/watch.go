// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"sync/atomic"
	"time"

	"ptguard/record"
)

// The watchdog. Nothing of this happens unless there is a bug, or the tracer thread waits for
// something that stall.go does not know.

// watchPeriod is how long a stop may last that nothing is known to wait for.
const watchPeriod = 10 * time.Second

// watch says every watchPeriod what is stuck: the tracer thread itself, or a stop that is not
// resumed although nothing is known that it waits for. The latter is a bug, and there is no
// way to go on with that task: its process is ended, loudly.
//
// It is a timer, for most runs end before there is anything to do for a goroutine.
func (l *loop) watch() (stop func()) {
	var ended atomic.Bool
	var last uint64
	told := false
	var look func()
	look = func() {
		if ended.Load() {
			return
		}
		if now := l.busy.Load(); now == 0 || now != last {
			last, told = now, false
			if l.looking.CompareAndSwap(false, true) { // a frozen tree puts it off
				l.post(l.findForgotten)
			}
		} else if !told {
			told = true
			l.stuck(int(l.busyWith.Load()))
		}
		time.AfterFunc(watchPeriod, look)
	}
	time.AfterFunc(watchPeriod, look)
	return func() { ended.Store(true) }
}

// findForgotten ends the processes of stops that have lasted a whole period although nothing
// is known that they wait for. There is no way to go on with them: what became of the call is
// not known.
func (l *loop) findForgotten() {
	l.looking.Store(false)
	for _, t := range l.tasks {
		switch {
		case !t.inStop || t.waits != "":
			t.seen = 0
		case t.seen != t.stops:
			t.seen = t.stops
		default:
			l.killBlind(stopped{t, t.stops}, "unknown", "", fmt.Sprintf("bug: its stop was not resumed within %v; please report", watchPeriod))
		}
	}
}

// stuck tells, from outside the tracer thread, of the task that it is busy with.
func (l *loop) stuck(tid int) {
	_, comm, _, _ := identity(tid, tid)
	text := fmt.Sprintf("a call of %s[%d] has kept ptguard waiting for more than %v; the whole tree waits with it", comm, tid, watchPeriod)
	l.cfg.Live.Warn(text)
	l.cfg.Sink.Put(&record.Record{Kind: record.KindWarning, TID: tid, Comm: comm, Reason: text}, nil)
}
