// SPDX-License-Identifier: Apache-2.0

package tracer

import "golang.org/x/sys/unix"

// wait4(2) always gives the first task of a list that has something to say, the latest born
// first: two processes that stop all the time keep every older one waiting for ever (measured:
// 200 opens beside 16 such processes had not ended after 20 s). So now and then all that wait
// are taken at once, and served one process after the other, each in its own order.

// turns are the wait statuses that have been taken and not served yet.
type turns struct {
	byProcess map[int]*turn
	ring      []*turn // those with something to serve, the next one first
	direct    int     // stops served as wait4 gave them since all were taken last
}

// turn is what one process has to say.
type turn struct {
	pid    int
	events []event
}

type event struct {
	tid    int
	status unix.WaitStatus
}

// burst is how many stops are served in wait4's order where nobody seems to compete. Taking
// all costs a look at every task.
const burst = 16

// next gives the event to be handled now, waiting for one if need be.
func (l *loop) next() (event, error) {
	q := &l.turns
	if len(q.ring) == 0 {
		tid, status, err := l.wait(0)
		if err != nil || q.direct < burst {
			q.direct++
			return event{tid, status}, err
		}
		l.enqueue(event{tid, status})
		// A task can be here once, or twice with its end; born are none while all are stopped.
		for {
			tid, status, err := l.wait(unix.WNOHANG)
			if err != nil || tid == 0 {
				break
			}
			l.enqueue(event{tid, status})
		}
		if len(q.ring) == 1 {
			q.direct = 0 // nobody competes
		}
	}
	t := q.ring[0]
	q.ring = q.ring[1:]
	e := t.events[0]
	if t.events = t.events[1:]; len(t.events) > 0 {
		q.ring = append(q.ring, t)
	} else {
		delete(q.byProcess, t.pid)
	}
	return e, nil
}

// enqueue adds an event to those of its process. The end of a task takes the place of a stop
// of it: there is nothing to be resumed, and its number may name another task from now on.
func (l *loop) enqueue(e event) {
	q := &l.turns
	var pid int
	if t := l.tasks[e.tid]; t != nil {
		pid = t.proc.pid
	} else {
		pid = threadGroup(e.tid)
	}
	t := q.byProcess[pid]
	if t == nil {
		t = &turn{pid: pid}
		if q.byProcess == nil {
			q.byProcess = map[int]*turn{}
		}
		q.byProcess[pid] = t
		q.ring = append(q.ring, t)
	}
	if !e.status.Stopped() {
		for i := range t.events {
			if t.events[i].tid == e.tid {
				t.events[i] = e
				return
			}
		}
	}
	t.events = append(t.events, e)
}
