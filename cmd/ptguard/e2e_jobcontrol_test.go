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
	for _, sig := range stopSignals {
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

// stopsAndGoesOn stops the program alone, by each of the signals, and continues the pid woken.
func (a *answerer) stopsAndGoesOn(woken int) {
	for _, sig := range stopSignals {
		_ = syscall.Kill(a.cmd, sig)
		awaitStop(a.t, a.pid)
		_ = syscall.Kill(woken, syscall.SIGCONT)
		a.answers()
	}
}

// TestStatusStopAlone: what is sent to one pid alone, the program's or that of what was started.
func TestStatusStopAlone(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(a *answerer){
		"program, then ptguard": func(a *answerer) { a.stopsAndGoesOn(a.pid) },
		"program, then program": func(a *answerer) { a.stopsAndGoesOn(a.cmd) },
		"program, a race": func(a *answerer) {
			for i := range 100 {
				_ = syscall.Kill(a.cmd, stopSignals[i%4])
				for began := time.Now(); time.Since(began) < time.Duration(i)*10*time.Microsecond; {
				}
				_ = syscall.Kill(a.cmd, syscall.SIGCONT)
				if !a.answers() {
					a.t.Errorf("round %d", i)
					return
				}
			}
		},
		"ptguard": func(a *answerer) {
			_ = syscall.Kill(a.pid, syscall.SIGSTOP)
			awaitStop(a.t, a.pid)
			_ = syscall.Kill(a.pid, syscall.SIGCONT)
			a.answers()
		},
		"ptguard, a race": func(a *answerer) {
			for i := range 100 {
				_ = syscall.Kill(a.cmd, stopSignals[i%4])
				_ = syscall.Kill(a.pid, syscall.SIGSTOP)
				for began := time.Now(); time.Since(began) < time.Duration(i)*10*time.Microsecond; {
				}
				_ = syscall.Kill(a.cmd, syscall.SIGCONT)
				_ = syscall.Kill(a.pid, syscall.SIGCONT)
				if !a.answers() {
					a.t.Errorf("round %d", i)
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); bareAndGuarded(t, with) })
	}
	// Nothing is left of a stopped run whose ptguard is killed.
	t.Run("ptguard killed", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, nil)
		r := b.Run(t, ktest.Cmd{Argv: b.Guarded(t, nil, "sh", "-c", "kill -TSTP $$"), Started: func(pid int) {
			awaitStop(t, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}})
		if r.Signal != syscall.SIGKILL {
			t.Errorf("want death by SIGKILL, got %v", r)
		}
		b.NoProcessLeft(t)
	})
	// A stopped program that is killed alone is dead to who started ptguard.
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		for _, guarded := range []bool{false, true} {
			b := ktest.NewBox(t, nil)
			argv := []string{"sh", "-c", "echo $$ >pid.tmp; mv pid.tmp pid; kill -TSTP $$; exit 3"}
			if guarded {
				argv = b.Guarded(t, nil, argv...)
			}
			r := b.Run(t, ktest.Cmd{Argv: argv, Started: func(pid int) {
				awaitStop(t, pid)
				cmd, _ := strconv.Atoi(strings.TrimSpace(b.Text(t, "work/pid")))
				_ = syscall.Kill(cmd, syscall.SIGKILL)
			}})
			if r.Signal != syscall.SIGKILL {
				t.Errorf("guarded %v: want death by SIGKILL, got %v", guarded, r)
			}
		}
	})
}

// waiter starts its arguments, says what stops them, and continues them each time. Its first
// argument: "group", they are a process group, which it continues; "orphan", they are in
// the waiter's own, which is orphaned; "other", as that, and it does not say by what they stop.
const waiter = `
import os, signal, sys
how = sys.argv[1]
def wait():
    p = os.fork()
    if p == 0:
        if how == 'group': os.setpgid(0, 0)
        os.execvp(sys.argv[2], sys.argv[2:])
    while True:
        s = os.waitpid(p, os.WUNTRACED)[1]
        if not os.WIFSTOPPED(s): return os.waitstatus_to_exitcode(s)
        print('stopped', signal.Signals(os.WSTOPSIG(s)).name if how != 'other' else '', flush=True)
        if how == 'group': os.killpg(p, signal.SIGCONT)
        else: os.kill(p, signal.SIGCONT)
if how == 'group': sys.exit(wait())
p = os.fork()
if p == 0:
    os.setsid()
    os._exit(wait())
os._exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))
`

// TestStatusStopSeen: what a parent sees that waits for stopped children.
func TestStatusStopSeen(t *testing.T) {
	t.Parallel()
	wrap := func(how string) []string { return []string{"python3", "-c", waiter, how} }
	for name, c := range map[string]ktest.Case{
		// A handler that runs twice would be seen in the count.
		"one SIGCONT": {Wrap: wrap("group"), Argv: []string{"python3", "-c", `
import os, signal
n = 0
def heard(*_):
    global n; n += 1
signal.signal(signal.SIGCONT, heard)
for i in range(20):
    os.kill(os.getpid(), [signal.SIGTSTP, signal.SIGSTOP][i % 2])
    print('on', n)`}, Stdout: "on 19\non 20\n"},
		"own group": {Wrap: wrap("group"), Argv: []string{"python3", "-c", "import os, signal\nos.setpgid(0, 0)\nfor s in 'TSTP', 'TTIN', 'TTOU', 'STOP': os.kill(os.getpid(), signal.Signals['SIG' + s])\nos._exit(4)"}, Status: 4, Stdout: "stopped SIGTSTP\nstopped SIGTTIN\nstopped SIGTTOU\nstopped SIGSTOP\n"},
		// In an orphaned group the stop signals of the terminal stop nobody (setpgid(2)).
		"orphaned group": {Wrap: wrap("orphan"), Argv: []string{"sh", "-c", "kill -TSTP $$; echo on; kill -TTIN $$; kill -STOP $$; echo on; exit 4"}, Status: 4, Stdout: "on\nstopped SIGSTOP\non\n"},
		// The program's own group is not orphaned, for we are outside and in the same session.
		"orphaned group, own group": {Wrap: wrap("other"), Argv: []string{"python3", "-c", "import os, signal\nos.setpgid(0, 0)\nos.kill(os.getpid(), signal.SIGTSTP)\nos._exit(4)"}, Status: 4, Stdout: "stopped \n"},
		"first thread ended": {Wrap: wrap("group"), Argv: []string{"python3", "-c", `
import ctypes, os, platform, signal, threading
def rest():
    while open(f'/proc/{os.getpid()}/stat').read().rsplit(') ')[1][0] != 'Z': pass
    os.kill(os.getpid(), signal.SIGTSTP)
    os.write(1, b'on\n')
    os._exit(4)
threading.Thread(target=rest).start()
ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)`}, Status: 4, Stdout: "stopped SIGTSTP\non\n"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); ktest.Same(t, c) })
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

				// The program stops before ptguard does, which is what the shell has to hear of.
				jobStopped := func() {
					t.Helper()
					if !ktest.Until(20*time.Second, func() bool {
						term.Send("jobs\n")
						return strings.Contains(term.Expect(`(?s)jobs\r\n(.*?)\[0\]> `)[1], "Stopped")
					}) {
						t.Fatalf("the shell never hears of a stop: %q", term.Text())
					}
				}
				// A reader in the background stops, goes on in the foreground, is stopped there, and
				// stops again when it is sent to the background.
				term.Send("$P ./cats a &\n")
				a := pids("a")[0]
				jobStopped()
				awaitState(t, a, "Tt")
				term.Send("fg\n")
				term.Expect(`./cats a\r\n`)
				awaitState(t, a, "S")
				term.AwaitForeground(a)
				term.Send("\x1a")
				term.Expect(`\[148\]> `)
				term.Send("bg; echo on\n")
				term.Expect(`on\r\n`)
				term.Expect(`\[0\]> `)
				jobStopped()
				awaitState(t, a, "Tt")
				term.Send("fg\n")
				term.Expect(`./cats a\r\n`)
				awaitState(t, a, "S")
				term.AwaitForeground(a)
				term.Send("\x03")
				term.Expect(`\[130\]> `)

				// An inner shell that suspends itself, by SIGSTOP.
				term.Send("$P bash --norc --noediting -i\n")
				term.Expect(`\[0\]> `)
				for range 2 {
					term.Send("suspend\n")
					term.Expect(`Stopped`)
					term.Expect(`\[147\]> `)
					term.Send("fg\n")
					term.Expect(`bash --norc --noediting -i\r\n`)
					term.Expect(`\[\d+\]> `)
					term.Send("echo in''side\n")
					term.Expect(`inside\r\n`)
					term.Expect(`\[0\]> `)
				}
				term.Send("exit 5\n")
				term.Expect(`\[5\]> `)
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
