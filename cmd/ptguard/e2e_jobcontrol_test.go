// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// answering is a program that says its pid, and then each line it is told, after a call that
// ptguard judges.
const answering = `echo $$; while read x; do : <answers; echo $x; done; exit 3`

// answerer is a running one, the leader of its process group, which is not orphaned.
type answerer struct {
	t        *testing.T
	pid, cmd int // what was started, and the program, which is the same if it is bare
	stdin    *os.File
	stdout   *bufio.Reader
	said     int
}

// answers tells whether the program answers once more.
func (a *answerer) answers() bool {
	a.t.Helper()
	a.said++
	line := strconv.Itoa(a.said) + "\n"
	if _, err := a.stdin.WriteString(line); err != nil {
		a.t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		text, _ := a.stdout.ReadString('\n')
		got <- text
	}()
	select {
	case text := <-got:
		if text != line {
			a.t.Errorf("the program says %q, not %q", text, line)
		}
		return true
	case <-time.After(10 * time.Second):
		a.t.Errorf("no answer: the program is in state %c, what was started in %c", state(a.cmd), state(a.pid))
		return false
	}
}

// withAnswerer runs with on an answering program, bare or guarded, which then has to end as it would.
func withAnswerer(t *testing.T, guarded bool, with func(a *answerer)) {
	t.Helper()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/answers", "") })
	argv := []string{"sh", "-c", answering}
	if guarded {
		argv = b.Guarded(t, nil, argv...)
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	r := b.Run(t, ktest.Cmd{Argv: argv, Stdin: in, Stdout: out, Started: func(pid int) {
		in.Close()
		out.Close()
		a := &answerer{t: t, pid: pid, stdin: stdin, stdout: bufio.NewReader(stdout)}
		line, _ := a.stdout.ReadString('\n')
		if a.cmd, _ = strconv.Atoi(strings.TrimSpace(line)); a.cmd == 0 {
			t.Errorf("the program says no pid: %q", line)
		} else if with(a); t.Failed() {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		stdin.Close() // it ends
	}})
	if r.Status != 3 && !t.Failed() {
		t.Errorf("want status 3, got %v", r)
	}
	if rest, _ := io.ReadAll(stdout); len(rest) > 0 {
		t.Errorf("the program says more: %q", rest)
	}
}

// bareAndGuarded runs with on a program without ptguard, which shows that with is right, and
// then on one with it.
func bareAndGuarded(t *testing.T, with func(a *answerer)) {
	t.Helper()
	for _, guarded := range []bool{false, true} {
		if withAnswerer(t, guarded, with); t.Failed() {
			t.Fatalf("guarded: %v", guarded)
		}
	}
}

// awaitStop waits until the process is stopped and gives the signal that its parent, which we
// are, is told.
func awaitStop(t *testing.T, pid int) syscall.Signal {
	t.Helper()
	var ws syscall.WaitStatus
	if !ktest.Until(20*time.Second, func() bool {
		got, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED|syscall.WNOHANG, nil)
		return err == nil && got == pid && ws.Stopped()
	}) {
		t.Fatalf("process %d does not stop, it is in state %c", pid, state(pid))
	}
	return ws.StopSignal()
}

var stopSignals = []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGSTOP}

// TestStatusStopSignal: who started ptguard sees the signal that stopped the program.
func TestStatusStopSignal(t *testing.T) {
	t.Parallel()
	for _, sig := range stopSignals {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			bareAndGuarded(t, func(a *answerer) {
				for range 3 {
					_ = syscall.Kill(a.cmd, sig)
					if got := awaitStop(t, a.pid); got != sig {
						t.Errorf("stopped by %v, not by %v", got, sig)
					}
					awaitState(t, a.cmd, "Tt")
					_ = syscall.Kill(-a.pid, syscall.SIGCONT)
					a.answers()
				}
			})
		})
	}
}

// TestStatusStopRace: a program that is stopped and continued goes on, however short the time
// between the two. What the program and ptguard get is in the right order for that, but
// ptguard stops later than the program.
func TestStatusStopRace(t *testing.T) {
	t.Parallel()
	for _, sig := range stopSignals[:3] { // SIGSTOP
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			bareAndGuarded(t, func(a *answerer) {
				for i := range 300 {
					_ = syscall.Kill(-a.pid, sig)
					for began := time.Now(); strings.IndexByte("tT", state(a.cmd)) < 0 && time.Since(began) < 10*time.Millisecond; {
					}
					for began := time.Now(); time.Since(began) < time.Duration(i%60)*5*time.Microsecond; {
					}
					_ = syscall.Kill(-a.pid, syscall.SIGCONT)
					if !a.answers() {
						t.Errorf("round %d", i)
						return
					}
				}
			})
		})
	}
}

// TestStatusJobs: job control of two shells, bare and guarded. It runs alone, as
// TestStatusTerminal does.
func TestStatusJobs(t *testing.T) {
	for _, shell := range [][]string{{"bash", "--norc", "--noediting", "-i"}, {"dash", "-i"}} {
		for _, guarded := range []bool{false, true} {
			name := shell[0] + ", bare"
			if guarded {
				name = shell[0] + ", guarded"
			}
			t.Run(name, func(t *testing.T) {
				b := ktest.NewBox(t, nil)
				prefix := ""
				if guarded {
					prefix = strings.Join(b.Guarded(t, nil), " ") + " "
				}
				b.Env = []string{"PS1=[$?]> ", "PS2=", "HISTFILE=", "P=" + prefix}
				term := b.NewTerm(t, shell...)
				term.Expect(`\[0\]> `)
				pids := func(names ...string) []int {
					out := make([]int, len(names))
					for i, name := range names {
						await(t, b, "work/"+name)
						out[i], _ = strconv.Atoi(strings.TrimSpace(b.Text(t, "work/"+name)))
						_ = os.Remove(b.Path("work/" + name))
					}
					return out
				}
				b.Script(t, "work/cats", "#!/bin/sh\necho $$ >$1.tmp; mv $1.tmp $1; exec cat\n")

				// Ctrl-Z of a pipeline, twice, and on.
				term.Send("$P ./cats a | $P ./cats b\n")
				ab := pids("a", "b")
				for range 2 {
					for _, pid := range ab {
						awaitState(t, pid, "S")
						term.AwaitForeground(pid)
					}
					term.Send("\x1a")
					term.Expect(`Stopped[^(]`)
					term.Expect(`\[148\]> `)
					for _, pid := range ab {
						awaitState(t, pid, "Tt")
					}
					term.Send("fg\n")
					term.Expect(`./cats b\r\n`)
				}
				for _, pid := range ab {
					awaitState(t, pid, "S")
					term.AwaitForeground(pid)
				}
				term.Send("through both\n")
				term.Expect(`through both\r\nthrough both\r\n`)
				term.Send("\x04")
				term.Expect(`\[0\]> `)

				// A reader in the background stops, goes on in the foreground, is stopped there, and
				// stops again when it is sent to the background.
				term.Send("$P ./cats a &\n")
				a := pids("a")[0]
				awaitState(t, a, "Tt")
				term.Send("fg\n")
				term.Expect(`./cats a\r\n`)
				awaitState(t, a, "S")
				term.AwaitForeground(a)
				term.Send("\x1a")
				term.Expect(`\[148\]> `)
				term.Send("bg; echo on\n")
				term.Expect(`on\r\n`)
				awaitState(t, a, "Tt")
				term.Send("fg\n")
				term.Expect(`./cats a\r\n`)
				awaitState(t, a, "S")
				term.AwaitForeground(a)
				term.Send("\x03")
				term.Expect(`\[130\]> `)

				term.Send("exit 6\n")
				if ws := term.Wait(); ws.ExitStatus() != 6 {
					t.Errorf("the outer shell ended with %v", ws)
				}
				if strings.Contains(term.Text(), "ptguard:") {
					t.Errorf("nothing is refused, but the terminal shows %q", term.Text())
				}
			})
		}
	}
}
