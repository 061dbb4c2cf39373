// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// The exit statuses of ptguard itself; else the program's own is passed on (env(1)).
const (
	exitDenied    = 120 // --fail-on-denial
	exitTimeout   = 124 // wall time limit
	exitFailed    = 125 // ptguard's own failure: nothing ran, or the tree was killed
	exitCannotRun = 126 // the program cannot be run, or is refused
	exitNotFound  = 127 // the program was not found
)

// statusError carries an exit status, and a message if err is set.
type statusError struct {
	code int
	err  error
	hint string
}

func (e *statusError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// die ends ptguard by the signal that ended the program, so that a shell sees what it
// would have seen. It returns 128+N if the signal does not end us.
func die(sig syscall.Signal) int {
	// No second core file: the program has left its own.
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	signal.Reset(sig)
	if err := defaultAction(sig); err == nil {
		unblock(sig)
		_ = unix.Kill(os.Getpid(), sig)
		// Delivered to one of our threads on its way back to user mode.
		for range 100 {
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
	}
	return 128 + int(sig)
}
