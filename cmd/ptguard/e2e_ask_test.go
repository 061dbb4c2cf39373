// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"ptguard/internal/ktest"
	"ptguard/record"
)

// askBox has a file that only an answer opens.
func askBox(t testing.TB) *ktest.Box {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "outside/deep/a", "content A\n")
		b.Write(t, "outside/deep/b", "content B\n")
	})
	b.Env = []string{"XDG_STATE_HOME=" + b.Home + "/state", "A=" + b.Path("outside/deep/a"), "B=" + b.Path("outside/deep/b")}
	return b
}

// fenced is the command that runs script in a fence around the work folder.
func fenced(t testing.TB, b *ktest.Box, flags []string, script string) []string {
	t.Helper()
	return b.Guarded(t, append([]string{"--fence", b.Work, "--keep-env"}, flags...), "sh", "-c", script)
}

// prompt is the last line of a question.
const prompt = `answer \[[^]]*\]\? `

// TestAskAtTheTerminal: each answer, what it opens and for how long.
func TestAskAtTheTerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		answers []string // typed, one a question
		want    string   // what the program shows
		status  int
		grants  []string // the rules of the grant records
	}{
		"once":    {`cat $A; cat $A`, []string{"o\n", "n\n"}, "content A\n", 1, []string{"grant once: read FILE"}},
		"words":   {`cat $A`, []string{" Once \n"}, "content A\n", 0, []string{"grant once: read FILE"}},
		"run":     {`cat $A; cat $B $A`, []string{"r\n"}, "content A\ncontent B\ncontent A\n", 0, []string{"grant run: read DIR"}},
		"no":      {`cat $A; cat $A || echo refused`, []string{"n\n", "n\n"}, "refused\n", 0, nil},
		"enter":   {`cat $A || echo refused`, []string{"\n"}, "refused\n", 0, nil},
		"end":     {`cat $A || echo refused`, []string{"\x04"}, "refused\n", 0, nil},
		"others":  {`cat $A || echo refused`, []string{"yes\n", "oo\n", "\x1b[Ao\n", "n\n"}, "refused\n", 0, nil},
		"write":   {`echo new >>$A; cat $A $B`, []string{"r\n"}, "content A\nnew\ncontent B\n", 0, []string{"grant run: write DIR"}},
		"reads":   {`cat $A; echo new >>$A || echo refused`, []string{"r\n", "n\n"}, "content A\nrefused\n", 0, []string{"grant run: read DIR"}},
		"made":    {`mkdir ${A}dir && touch ${A}dir/x && rm ${A}dir/x && rmdir ${A}dir && echo made`, []string{"r\n"}, "made\n", 0, []string{"grant run: write DIR"}},
		"nothing": {`cat x 2>/dev/null || cat $A.absent 2>/dev/null || echo absent`, nil, "absent\n", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := askBox(t)
			if r := b.Bare(t, "sh", "-c", "{ "+c.script+"; }"); r.Status != 0 || strings.Contains(r.Stdout, "refused") {
				t.Fatalf("bare: %v", r)
			}
			b.Reset(t)
			term := b.NewTerm(t, fenced(t, b, nil, `{ `+c.script+`; } >out 2>err`)...)
			for _, answer := range c.answers {
				term.Expect(prompt)
				term.Send("%s", answer)
			}
			if ws := term.Wait(); ws.ExitStatus() != c.status {
				t.Errorf("status %d, want %d: %q", ws.ExitStatus(), c.status, term.Text())
			}
			if got := b.Text(t, "work/out"); got != c.want {
				t.Errorf("the program shows %q, want %q; the terminal %q", got, c.want, term.Text())
			}
			if n := len(regexp.MustCompile(prompt).FindAllString(term.Text(), -1)); n != len(c.answers) {
				t.Errorf("%d prompts, want %d: %q", n, len(c.answers), term.Text())
			}
			var grants []string
			for _, r := range b.Records(t) {
				if r.Kind == record.KindGrant {
					rule := strings.ReplaceAll(strings.ReplaceAll(r.Rule, b.Path("outside/deep/a"), "FILE"), b.Path("outside/deep"), "DIR")
					grants = append(grants, rule)
					if r.Verdict != "ask-allow" || r.Layer != "grant" || r.PID == 0 || r.Resolved == "" || r.Errno != "" {
						t.Errorf("grant record %+v", r)
					}
				}
			}
			if strings.Join(grants, "|") != strings.Join(c.grants, "|") {
				t.Errorf("grants %q, want %q", grants, c.grants)
			}
			if len(c.answers) > 0 && strings.Contains(c.want, "refused") {
				r := b.Find(t, ktest.Want{Layer: "fence", Errno: "EPERM"})
				if r.Verdict != "ask-deny" || !strings.Contains(r.Reason, "outside the fence "+b.Work+"; the answer was no") {
					t.Errorf("denial %+v", r)
				}
			}
		})
	}
}

// TestAskStandsStill: while the question is on the terminal no process of the tree runs, so
// none can write over it or read the answer; what another reads later is its own.
func TestAskStandsStill(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	term := b.NewTerm(t, fenced(t, b, nil, `
		while :; do echo noise; done & noise=$!
		cat $A &
		read line
		kill $noise
		echo "line:$line:"
		wait`)...)
	pid := term.Expect(`cat\[(\d+)\] asks to read .*/deep/a\r?\n`)[1]
	term.Expect(prompt)
	procs := tracees(t, pid)
	if len(procs) < 3 {
		t.Fatalf("the tree is %v", procs)
	}
	for tid, state := range procs {
		if state != "t" {
			t.Errorf("task %s is in state %s while a question is open", tid, state)
		}
	}
	shown := term.Text()
	term.Send("o\n")
	term.Expect("content A")
	if _, rest, _ := strings.Cut(term.Text(), shown); !strings.HasPrefix(rest, "o\r\n") {
		t.Errorf("after the prompt: %.80q", rest)
	}
	term.Send("mine\n")
	term.Expect("line:mine:")
	if ws := term.Wait(); ws.ExitStatus() != 0 {
		t.Errorf("status %d: %.2000q", ws.ExitStatus(), term.Text())
	}
}

// tracees gives the state of each task with the same tracer as pid (proc_pid_status(5)).
func tracees(t testing.TB, pid string) map[string]string {
	t.Helper()
	field := func(task, name string) string {
		text, _ := os.ReadFile("/proc/" + task + "/status")
		_, rest, _ := strings.Cut(string(text), "\n"+name+":")
		word, _, _ := strings.Cut(strings.TrimSpace(rest)+" ", " ")
		word, _, _ = strings.Cut(word, "\n")
		word, _, _ = strings.Cut(word, "\t")
		return word
	}
	tracer, out := field(pid, "TracerPid"), map[string]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil || tracer == "" || tracer == "0" {
		t.Fatalf("tracer %q of %s: %v", tracer, pid, err)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil && field(e.Name(), "TracerPid") == tracer {
			if state := field(e.Name(), "State"); state != "Z" {
				out[e.Name()] = state
			}
		}
	}
	return out
}

// TestAskIsNotFaked: an answer typed to a fake prompt opens nothing, and settings and half
// an escape sequence that the program left behind do not change the real one.
func TestAskIsNotFaked(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	b.Env = append(b.Env, "TERM=xterm")
	name := b.Path("outside/deep/x\ry\x1b[2Jz")
	b.Write(t, "outside/deep/x\ry\x1b[2Jz", "odd\n")
	b.Env = append(b.Env, "ODD="+name)
	term := b.NewTerm(t, fenced(t, b, nil, `
		stty raw -echo
		printf '\033]0;unfinished'
		printf 'ptguard: fake answer [o/N]? '
		while ! [ -e typed ]; do :; done
		cat "$ODD" >out || echo refused >out
		stty sane`)...)
	term.Expect(`fake answer \[o/N\]\? `)
	term.Send("o\ro\no\n") // for the fake one, ahead of the real one
	b.Write(t, "work/typed", "")
	term.Expect("\x18\x1b\\\\\x1b\\[!p") // the sequence is ended before the question begins
	term.Expect(`asks to read .*/deep/x\\x0dy\\x1b\[2Jz\r\n`)
	term.Expect(prompt)
	term.Send("n\n")
	if ws := term.Wait(); ws.ExitStatus() != 0 {
		t.Errorf("status %d: %q", ws.ExitStatus(), term.Text())
	}
	if got := b.Text(t, "work/out"); got != "refused\n" {
		t.Errorf("%q: %q", got, term.Text())
	}
}

// TestAskPutsTheTerminalBack: settings and foreground group are the program's own again.
func TestAskPutsTheTerminalBack(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	term := b.NewTerm(t, fenced(t, b, nil, `stty -g >before; stty -echo -icanon min 3; stty -g >set; cat $A >out; stty -g >after; stty $(cat before)`)...)
	term.Expect(prompt)
	term.Send("o\n")
	term.Wait()
	if set, after := b.Text(t, "work/set"), b.Text(t, "work/after"); set != after || set == b.Text(t, "work/before") {
		t.Errorf("stty before %q, set %q, after %q", b.Text(t, "work/before"), set, after)
	}
}

// TestAskOfJobs: a job of a shell in the tree asks although its own group has the terminal,
// and gets it back.
func TestAskOfJobs(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	b.Env = append(b.Env, "PS1=[$?]> ", "HISTFILE=")
	term := b.NewTerm(t, b.Guarded(t, []string{"--fence", b.Work, "--keep-env"}, "bash", "--norc", "--noediting", "-i")...)
	term.Expect(`\[0\]> `)
	term.Send("cat $A; cat\n")
	term.Expect(prompt)
	term.Send("o\n")
	term.Expect("content A")
	term.Send("echoed by cat\n")
	term.Expect("echoed by cat\r\nechoed by cat\r\n")
	term.Send("\x04")
	term.Expect(`\[0\]> `)
	term.Send("exit\n")
	if ws := term.Wait(); ws.ExitStatus() != 0 {
		t.Errorf("status %d: %q", ws.ExitStatus(), term.Text())
	}
}

// TestAskInTheBackground: ptguard does not take the terminal from somebody else's job.
func TestAskInTheBackground(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	b.Env = append(b.Env, "PS1=[$?]> ", "HISTFILE=")
	term := b.NewTerm(t, "bash", "--norc", "--noediting", "-i")
	term.Expect(`\[0\]> `)
	term.Send("%s\n", shellWords(fenced(t, b, []string{"-q"}, `cat $A >out 2>err; mv out done`))+" & wait")
	await(t, b, "work/done")
	term.Expect(`\[\d+\]> `)
	term.Send("exit\n")
	term.Wait()
	if r := b.Find(t, ktest.Want{Layer: "fence"}); !strings.Contains(r.Reason, "in the background") {
		t.Errorf("%+v", r)
	}
	if got := b.Text(t, "work/done"); got != "" {
		t.Errorf("read %q", got)
	}
}

func shellWords(argv []string) string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// TestAskNobody: without a terminal nobody is waited for.
func TestAskNobody(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	r := b.Run(t, ktest.Cmd{Argv: append([]string{"setsid", "--wait"}, fenced(t, b, nil, `cat $A || echo refused`)...)})
	if r.Stdout != "refused\n" || r.Status != 0 {
		t.Errorf("%v", r)
	}
	r.WantLine(t, "warning", "there is no terminal to ask on")
	if d := b.Find(t, ktest.Want{Layer: "fence", Errno: "EPERM"}); d.Verdict != "ask-deny" || !strings.Contains(d.Reason, "no terminal") {
		t.Errorf("%+v", d)
	}
	for _, r := range b.Records(t) {
		if r.Kind == record.KindStart && (r.Start.Fence != b.Work || r.Start.Ask != "tty" || r.Start.Mode != "strict") {
			t.Errorf("start %+v", r.Start)
		}
	}
}

// TestAskOnTheOtherSide: a program that would hold the master of the terminal could answer
// for the person, so nothing runs.
func TestAskOnTheOtherSide(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	for keep, want := range map[string]int{"3": 125, "4": 0} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		other, otherSlave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		argv := b.Guarded(t, []string{"--fence", b.Work, "--keep-fd", keep}, "true")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = b.Work, append(os.Environ(), b.Env...)
		cmd.ExtraFiles = []*os.File{master, other}
		cmd.Stdin = slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want || want == 125 && !strings.Contains(string(out), "descriptor 3 is the other side of this terminal") {
			t.Errorf("--keep-fd %s: status %d, want %d, %v: %s", keep, got, want, err, out)
		}
		for _, f := range []*os.File{master, slave, other, otherSlave} {
			_ = f.Close()
		}
	}
}

// TestAskedIsKilled: the question goes away with the one who asked, and the rest goes on.
func TestAskedIsKilled(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	term := b.NewTerm(t, fenced(t, b, nil, `cat $A; echo status $?; cat $B`)...)
	pid, _ := strconv.Atoi(term.Expect(`cat\[(\d+)\] asks`)[1])
	term.Expect(prompt)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	term.Expect("withdrawn")
	term.Expect("status 137")
	term.Expect(`asks to read .*/deep/b`)
	term.Expect(prompt)
	term.Send("o\n")
	term.Expect("content B")
	if ws := term.Wait(); ws.ExitStatus() != 0 {
		t.Errorf("status %d: %q", ws.ExitStatus(), term.Text())
	}
}

// TestAskInterrupted: Ctrl-C at a prompt is no answer, and means the program.
func TestAskInterrupted(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	term := b.NewTerm(t, fenced(t, b, nil, `cat $A; echo after`)...)
	term.Expect(prompt)
	term.Send("\x03")
	if ws := term.Wait(); ws.Signal() != syscall.SIGINT {
		t.Errorf("status %#x: %q", ws, term.Text())
	}
	if strings.Contains(term.Text(), "after") || strings.Contains(term.Text(), "content") {
		t.Errorf("%q", term.Text())
	}
}

// TestAskTooLong: a question that nobody answers is refused in its time.
func TestAskTooLong(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	policy := b.Write(t, "policy.yaml", "ptguard: 1\nask: { fence: ., via: tty, timeout: 300ms }\n")
	term := b.NewTerm(t, b.Guarded(t, []string{"-p", policy, "--keep-env"}, "sh", "-c", `cat $A || echo refused`)...)
	term.Expect(prompt)
	term.Expect("no answer: refused")
	term.Expect("\nrefused\r\n")
	if ws := term.Wait(); ws.ExitStatus() != 0 {
		t.Errorf("status %d: %q", ws.ExitStatus(), term.Text())
	}
	if d := b.Find(t, ktest.Want{Layer: "fence"}); !strings.Contains(d.Reason, "no answer in 300ms") {
		t.Errorf("%+v", d)
	}
}
