// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptguard/bench"
	"ptguard/internal/ktest"
)

// A small measurement, told as JSON, and told again from it in each form.
func TestBench(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	run := func(args ...string) ktest.Result {
		return b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "bench"}, args...)})
	}
	r := run("--load", "open-write,untraced", "--variant", "default", "--rounds", "2", "--force", "--json", "-")
	if r.Status != 0 || r.Stderr != "" {
		t.Fatalf("bench: %v", r)
	}
	var got bench.Result
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	for _, l := range got.Loads {
		bare, guarded := l.Series[0], l.Series[1]
		if len(l.Series) != 2 || bare.Variant != "bare" || guarded.Variant != "default" || len(bare.NS) != 2 || len(guarded.NS) != 2 {
			t.Errorf("%s: %+v %+v", l.Name, bare, guarded)
		}
		// One stop a call that is judged, and a handful for the start of the load.
		traced := l.Name == "open-write"
		if stops := guarded.Stops[0]; traced != (stops >= float64(guarded.Calls)) || !traced && stops > 100 {
			t.Errorf("%s: %v stops of %d calls", l.Name, stops, guarded.Calls)
		}
	}
	if len(got.Loads) != 2 || !strings.HasPrefix(got.Machine.Tier, "race-free") {
		t.Errorf("%+v", got)
	}
	file := b.Write(t, "work/result.json", r.Stdout)
	again := run("--from", file, "--force", "--html", "page.html", "--gobench", "text")
	if again.Status != 0 || !strings.Contains(again.Stdout, "open-write: ") {
		t.Errorf("--from: %v", again)
	}
	if page := b.Text(t, "work/page.html"); !strings.HasPrefix(page, "<!DOCTYPE html>") || !strings.HasSuffix(page, "</html>\n") {
		t.Error(page)
	}
	if text := b.Text(t, "work/text"); !strings.Contains(text, "\nBenchmarkUntraced/variant=default ") {
		t.Error(text)
	}
	if left, err := os.ReadDir(b.Tmp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

// Bare runs that vary too much are no base: nothing is told of such a load, and the status
// says so.
func TestBenchRefusesNoise(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	file := func(name, bare string) string {
		return b.Write(t, "work/"+name, `{"ptguard_bench":1,"loads":[{"name":"stat","text":"x","kind":"micro","series":[
			{"variant":"bare","calls":1,"ns":[`+bare+`]},{"variant":"default","calls":1,"ns":[20,20,20,20,20]}]}]}`)
	}
	noisy, quiet := file("noisy", "10,20,10,30,15"), file("quiet", "10,10,10,10,99")
	for _, c := range []struct {
		args   []string
		status int
		shown  bool
		says   string
	}{
		{[]string{"--from", quiet}, 0, true, ""},
		{[]string{"--from", noisy}, 1, false, "ptguard: error: bare runs varied too much, by more than 15 % between the quartiles: nothing is reported of stat\nptguard: hint: measure on an idle machine, or show them with --force\n"},
		{[]string{"--from", noisy, "--force"}, 0, true, ""},
	} {
		r := b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "bench"}, c.args...)})
		if r.Status != c.status || strings.Contains(r.Stdout, "\nstat: ") != c.shown || r.Stderr != c.says {
			t.Errorf("%v: %v", c.args, r)
		}
	}
}

// A signal ends a measurement, and ptguard by it; what was finished is written, and that it is
// not all. Each run waits in its second load, a grep that does not end.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM} {
		b := ktest.NewBox(t, nil)
		fifo := b.Path("begun")
		if err := errors.Join(unix.Mkfifo(fifo, 0o600), os.MkdirAll(b.Path("bin/src"), 0o755)); err != nil {
			t.Fatal(err)
		}
		b.Script(t, "bin/go", "#!/bin/sh\necho "+b.Path("bin"))
		b.Script(t, "bin/grep", "#!/bin/sh\necho $$ >"+fifo+"\nexec sleep 1000")
		cmd := exec.Command(ktest.Binary(t), "bench", "--load", "untraced,grep,stat", "--variant", "default", "--rounds", "2", "--force", "--json", "r.json")
		cmd.Dir, cmd.Env = b.Work, []string{"PATH=" + b.Path("bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + b.Tmp}
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said, err := os.ReadFile(fifo) // waits until it is there
		waiting, err2 := strconv.Atoi(strings.TrimSpace(string(said)))
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
		_ = cmd.Process.Signal(sig)
		_ = cmd.Wait()
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: %v", sig, cmd.ProcessState)
		}
		says := "not a whole run: interrupted by " + unix.SignalName(sig) + ", not measured: grep, stat\n"
		if errs.String() != "ptguard: error: "+says || !strings.Contains(out.String(), says) || !strings.Contains(out.String(), "\nuntraced: ") {
			t.Errorf("%v: %s---\n%s", sig, errs.String(), out.String())
		}
		var got bench.Result
		if err := json.Unmarshal([]byte(b.Text(t, "work/r.json")), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Loads) != 1 || len(got.Loads[0].Series) != 2 || len(got.Missing) != 2 || got.Broken != "interrupted by "+unix.SignalName(sig) {
			t.Errorf("%v: %+v", sig, got)
		}
		if left, err := os.ReadDir(b.Tmp); err != nil || len(left) > 0 {
			t.Errorf("%v: left in the temporary folder: %v, %v", sig, left, err)
		}
		if !ktest.Until(2*time.Second, func() bool { return unix.Kill(waiting, 0) == unix.ESRCH }) {
			t.Errorf("%v: the load still runs", sig)
		}
	}
}

// A mistake is one sentence, and nothing is measured.
func TestBenchMistakes(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	b.Write(t, "work/other.json", "{}")
	for _, c := range []struct{ args, says string }{
		{"--load opne", "--load opne: no such load (see ptguard bench --list)"},
		{"--load stat --variant deflaut", "--variant deflaut: no such variant (see ptguard bench --list)"},
		{"--cpus x", `--cpus: "x" is no list of cpus, such as 0 or 0-1`},
		{"--rounds=-1", "--rounds -1: at least 1 (0 is the plan's)"},
		{"--from other.json", "a result of format 0, this ptguard knows 1"},
		{"--from nothing.json", "--from: open nothing.json: no such file or directory"},
		{"--quick --full", "can't be used together"},
		{"--json no/where.json", "write no/where.json: no such file or directory"},
	} {
		r := b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "bench"}, strings.Fields(c.args)...)})
		if r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, c.says) {
			t.Errorf("%s: %v", c.args, r)
		}
	}
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "bench", "--list"}})
	for _, want := range []string{"\n  open-read-200 ", "\n  go-build ", "\n  floor ", "\n  hermetic ", "\n  nostub "} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("--list: no %q: %v", want, r)
		}
	}
}
