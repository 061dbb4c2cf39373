// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// maxConnecting bounds the threads and descriptors of connects that wait for their servers.
const maxConnecting = 4096

// connectPatience is how long a connect may take before it is looked whether anybody still
// wants it.
const connectPatience = 50 * time.Millisecond

// connectApart makes a connect on another thread, for it may wait for the other side; the
// task stays in its stop. There no signal reaches it, so we look for one: like the end of
// the task, it ends the waiting, and the call gives EINTR.
func (l *loop) connectApart(s stopped, connect func() error) {
	s.task.waits = "the server that it connects to"
	l.connecting++
	var thread atomic.Int64
	over := false // tracer thread only
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread.Store(int64(unix.Gettid()))
		err := connect()
		thread.Store(0)
		l.post(func() {
			over = true
			l.connecting--
			if l.waits(s) {
				l.performed(s, err)
			}
		})
	}()
	var look func()
	look = func() {
		if over {
			return
		}
		if tid := thread.Load(); tid != 0 && (l.tasks[s.tid] != s.task || signalWaits(s.tid)) {
			_ = unix.Tgkill(os.Getpid(), int(tid), unix.Signal(bellSignal))
		}
		time.AfterFunc(connectPatience, func() { l.post(look) })
	}
	time.AfterFunc(connectPatience, func() { l.post(look) })
}

// signalWaits tells whether a signal that a task neither blocks nor ignores waits for it.
func signalWaits(tid int) bool {
	set := func(name string) uint64 {
		bits, _ := strconv.ParseUint(statusField(tid, name), 16, 64)
		return bits
	}
	return (set("SigPnd")|set("ShdPnd"))&^set("SigBlk")&^set("SigIgn") != 0
}
