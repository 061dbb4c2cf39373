// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/internal/inherit"
)

// What the user sends to ptguard. The terminal's own signals (Ctrl-C, hang-up) reach the
// tree by themselves, since it stays in our process group; what somebody sends to our pid
// is meant for the program. Only si_code tells the two apart, and Go's os/signal drops it,
// so a handler of our own writes each siginfo into a pipe (siginfo_amd64.s).

// siginfoFD is the pipe that siginfoHandler writes to.
var siginfoFD int32

// handlerAddresses gives the addresses of the assembly functions.
func handlerAddresses() (siginfo, bell, restorer uintptr)

func siginfoHandler()
func bellHandler()
func signalReturn()

// bellSignal ends a blocking wait4(2) of the tracer thread: the one signal whose handler is
// installed without SA_RESTART. The C library keeps the first real-time signals for itself;
// this one is free in a Go program.
const bellSignal = 44

const (
	saNoCldStop = 0x1
	saSiginfo   = 0x4
	saOnStack   = 0x08000000
	saRestorer  = 0x04000000
	saRestart   = 0x10000000
)

// forwarded are the signals that are passed on to the program.
var forwarded = []unix.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2}

// sent is one siginfo of a signal to us.
type sent struct {
	sig  unix.Signal
	code int32
	pid  int32 // sender, for codes <= 0
}

// catchSignals installs the handlers and returns the siginfos. It must run after the
// stage has been started: the stage inherits what is ignored here. A signal that we were
// started with as ignored (nohup) stays so.
func catchSignals() (*os.File, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make the signal pipe: %w", err)
	}
	// A handler must not wait; 64 KiB are 512 signals. And a reader that may not wait is polled,
	// which takes no thread.
	for _, fd := range pipe {
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, err
		}
	}
	siginfoFD = int32(pipe[1])
	handler, bell, restorer := handlerAddresses()
	ignored, _ := inherit.Ignored()
	for _, sig := range forwarded {
		if ignored&(1<<(sig-1)) != 0 {
			continue
		}
		act := sigaction{handler: handler, flags: saSiginfo | saOnStack | saRestorer | saRestart, restorer: restorer, mask: ^uint64(0)}
		if err := setSigaction(int(sig), &act); err != nil {
			return nil, fmt.Errorf("catch %v: %w", sig, err)
		}
	}
	// Stop signals of the terminal stop the tree; we follow when the program has stopped (jobcontrol.go).
	for _, sig := range []unix.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGPIPE} {
		if err := setSigaction(int(sig), &sigaction{handler: 1}); err != nil {
			return nil, err
		}
	}
	act := sigaction{handler: bell, flags: saOnStack | saRestorer, restorer: restorer, mask: ^uint64(0)}
	if err := setSigaction(bellSignal, &act); err != nil {
		return nil, err
	}
	// Every stop of a tracee would send SIGCHLD beside waking wait4; only exits need to.
	if err := getSigaction(int(unix.SIGCHLD), &act); err != nil {
		return nil, err
	}
	act.flags |= saNoCldStop
	if err := setSigaction(int(unix.SIGCHLD), &act); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(pipe[0]), "signals"), nil
}

// readSent reads the next siginfo.
func readSent(f *os.File) (sent, error) {
	var raw [128]byte
	if _, err := f.Read(raw[:]); err != nil {
		return sent{}, err
	}
	return sent{
		sig:  unix.Signal(binary.NativeEndian.Uint32(raw[0:])),
		code: int32(binary.NativeEndian.Uint32(raw[8:])),
		pid:  int32(binary.NativeEndian.Uint32(raw[16:])),
	}, nil
}

// siKernel is SI_KERNEL: sent by the kernel, for the terminal or a hang-up.
const siKernel = 0x80

// forwardSignals passes on what is sent to us until f is closed. TERM a second time, or ten
// seconds after the first, ends the tree.
func (l *loop) forwardSignals(f *os.File) {
	var term time.Time
	for {
		got, err := readSent(f)
		if err != nil {
			return
		}
		if got.code == siKernel {
			// The tree got it too. But shells let background jobs ignore Ctrl-C, and those
			// are what we still wait for once the program has ended.
			l.postNow(func() {
				if l.ended {
					l.killTree()
				}
				l.refuseQuestions()
			})
			continue
		}
		if got.sig == unix.SIGTERM {
			// timeout(1) signals its child and then the whole group: that is one TERM.
			if !term.IsZero() && time.Since(term) > 100*time.Millisecond {
				l.postNow(l.killTree)
				continue
			}
			if term.IsZero() {
				term = time.Now()
				time.AfterFunc(10*time.Second, func() { l.postNow(l.killTree) })
			}
		}
		l.postNow(func() {
			if got.sig != unix.SIGUSR1 && got.sig != unix.SIGUSR2 {
				l.refuseQuestions()
			}
			if l.ended {
				l.killTree() // we are what is left to signal
				return
			}
			_ = unix.Kill(l.cmd, got.sig)
		})
	}
}

// ring sends the bell until the posted functions have been taken: a bell that arrives just
// before wait4 would be lost.
func (l *loop) ring() {
	for delay := 20 * time.Microsecond; ; delay = min(2*delay, 5*time.Millisecond) {
		l.mu.Lock()
		if len(l.posted) == 0 {
			l.ringing = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		_ = unix.Tgkill(os.Getpid(), l.tracer, unix.Signal(bellSignal))
		time.Sleep(delay)
	}
}
