// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// server answers questions behind a unix socket.
type server struct {
	path      string
	questions chan *asked
}

// asked is one question; reply answers it.
type asked struct {
	record.Record
	line string
	conn net.Conn
}

func (q *asked) reply(line string) {
	_, _ = q.conn.Write([]byte(line + "\n"))
	_ = q.conn.Close()
}

func newServer(t testing.TB, b *ktest.Box) *server {
	t.Helper()
	return serve(t, b.Path("asker.sock"))
}

func serve(t testing.TB, path string) *server {
	t.Helper()
	s := &server{path: path, questions: make(chan *asked, 100)}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			q := &asked{line: line, conn: conn}
			if err != nil || json.Unmarshal([]byte(line), &q.Record) != nil {
				q.Reason = "not a question: " + line
			}
			s.questions <- q
		}
	}()
	return s
}

// next waits for a question.
func (s *server) next(t testing.TB) *asked {
	t.Helper()
	select {
	case q := <-s.questions:
		return q
	case <-time.After(20 * time.Second):
		t.Fatal("no question came")
		return nil
	}
}

// start runs argv and gives what waits for its end.
func start(t testing.TB, b *ktest.Box, argv []string) (wait func() ktest.Result) {
	done := make(chan ktest.Result, 1)
	go func() { done <- b.Run(t, ktest.Cmd{Argv: argv}) }()
	return func() ktest.Result { return <-done }
}

// TestAskAServer: what is asked, and each answer.
func TestAskAServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, stdout, reason string }{
		"once":    {`{"answer":"once"}`, "content A\n", ""},
		"run":     {`{"answer":"run","reason":"fine"}`, "content A\n", ""},
		"no":      {`{"answer":"no"}`, "", "the answer was no"},
		"yes":     {`{"answer":"yes"}`, "", "not an answer to this question"},
		"garbage": {`once`, "", "not an answer"},
		"nothing": {``, "", "not an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := askBox(t)
			s := newServer(t, b)
			wait := start(t, b, fenced(t, b, []string{"--ask", "unix:" + s.path}, `cat $A`))
			q := s.next(t)
			a := b.Path("outside/deep/a")
			if q.Kind != record.KindAsk || q.V != record.Version || q.Run == "" || q.Syscall != "openat" || q.Event != "open" || q.Path != a || q.Resolved != a ||
				strings.Join(q.Access, ",") != "read" || filepath.Base(q.Comm) != "cat" || q.PID == 0 || q.Verdict != "ask" || q.Rule != "flag --fence" || q.Layer != "fence" ||
				q.Reason != "outside the fence "+b.Work || strings.Join(q.Argv, " ") != "cat "+a {
				t.Errorf("asked %s", q.line)
			}
			if q.Ask == nil || q.Ask.TimeoutMS != 60000 || strings.Join(q.Ask.Answers, ",") != "once,run,always,no" || q.Ask.Once != "read "+a || q.Ask.Kept != "read "+filepath.Dir(a) {
				t.Errorf("asked %s", q.line)
			}
			q.reply(c.answer)
			if r := wait(); r.Stdout != c.stdout {
				t.Errorf("%v", r)
			}
			if c.reason == "" {
				return
			}
			if d := b.Find(t, ktest.Want{Layer: "fence", Errno: "EPERM"}); d.Kind != record.KindFence || d.Verdict != "ask-deny" || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestAskOthersGoOn: while a call waits for a server, the rest of the tree runs; equal
// questions are one; each waiting call gets the answer.
func TestAskOthersGoOn(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	s := newServer(t, b)
	wait := start(t, b, fenced(t, b, []string{"--ask", "unix:" + s.path}, `
		cat $A & cat $A & cat $A & for i in 1 2 3; do ls / >/dev/null; done; echo done >done; wait`))
	q := s.next(t)
	await(t, b, "work/done")
	// A stop may be another one than that of the question, and is then over soon: all three
	// are to be found in theirs many times on end.
	stay := 0
	if !ktest.Until(30*time.Second, func() bool {
		n := 0
		for _, state := range tracees(t, strconv.Itoa(q.PID)) {
			if state == "t" {
				n++
			}
		}
		if stay++; n != 3 {
			stay = 0
		}
		return stay == 300
	}) {
		t.Fatalf("not all of them wait: %v", tracees(t, strconv.Itoa(q.PID)))
	}
	q.reply(`{"answer":"once"}`)
	if r := wait(); r.Stdout != "content A\ncontent A\ncontent A\n" {
		t.Errorf("%v", r)
	}
	if len(s.questions) > 0 {
		t.Errorf("asked again: %s", (<-s.questions).line)
	}
}

// TestAskAnew: an answer is about what was asked. If the path leads elsewhere by then, that
// is another question.
func TestAskAnew(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	s := newServer(t, b)
	link := b.Path("work/link")
	if err := os.Symlink(b.Path("outside/deep/a"), link); err != nil {
		t.Fatal(err)
	}
	wait := start(t, b, fenced(t, b, []string{"--ask", "unix:" + s.path}, `cat link`))
	q := s.next(t)
	if q.Path != "link" || q.Resolved != b.Path("outside/deep/a") {
		t.Errorf("asked %s", q.line)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.Path("outside/deep/b"), link); err != nil {
		t.Fatal(err)
	}
	q.reply(`{"answer":"once"}`)
	q = s.next(t)
	if q.Resolved != b.Path("outside/deep/b") {
		t.Errorf("asked %s", q.line)
	}
	q.reply(`{"answer":"no"}`)
	if r := wait(); r.Stdout != "" || r.Status != 1 {
		t.Errorf("%v", r)
	}
}

// TestAskIsWithdrawn: a server's connection ends when nobody wants the answer any more.
func TestAskIsWithdrawn(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	s := newServer(t, b)
	wait := start(t, b, fenced(t, b, []string{"--ask", "unix:" + s.path}, `cat $A & child=$!; while ! [ -e asked ]; do :; done; kill -9 $child; wait $child; echo $?`))
	q := s.next(t)
	b.Write(t, "work/asked", "")
	if _, err := bufio.NewReader(q.conn).ReadString('\n'); err == nil {
		t.Error("the connection goes on")
	}
	if r := wait(); r.Stdout != "137\n" {
		t.Errorf("%v", r)
	}
}

// TestAskTooOften: what comes faster than anybody could judge is refused unasked.
func TestAskTooOften(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	const files = 300
	for i := range files {
		b.Write(t, "outside/many/"+strconv.Itoa(i), "x")
	}
	s := newServer(t, b)
	asked := make(chan int)
	go func() {
		n := 0
		for q := range s.questions {
			n++
			q.reply(`{"answer":"no"}`)
		}
		asked <- n
	}()
	r := b.Run(t, ktest.Cmd{Argv: fenced(t, b, []string{"--ask", "unix:" + s.path}, `cat `+strings.Join(many(b, files), " "))})
	close(s.questions)
	n := <-asked
	if r.Stdout != "" || n < 10 || n >= files {
		t.Errorf("%d of %d asked: %v", n, files, r)
	}
	r.WantLine(t, "more than 10 questions a second", "")
	unasked := 0
	for _, d := range b.Denials(t) {
		if strings.Contains(d.Reason, "more than 10 questions a second") {
			unasked++
		}
	}
	if unasked+n != files {
		t.Errorf("%d asked, %d refused unasked, of %d", n, unasked, files)
	}
}

func many(b *ktest.Box, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = b.Path("outside/many/" + strconv.Itoa(i))
	}
	return out
}

// TestAskIsNotAnsweredFromInside: the tree can neither reach the socket nor take its place,
// nor change the command that answers.
func TestAskIsNotAnsweredFromInside(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	answer := b.Script(t, "work/answer", "#!/bin/sh\necho '{\"answer\":\"no\"}'\n")
	tamper := []string{"sh", "-c", `echo evil >answer; cp answer x; rm -f answer; mv x answer; chmod 777 answer; ln -s gone y; mv -f y answer; cat $A; readlink answer || cat answer`}
	if r := b.Bare(t, tamper...); r.Stdout != "content A\ngone\n" {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	b.Script(t, "work/answer", "#!/bin/sh\necho '{\"answer\":\"no\"}'\n")
	r := b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--ask", "exec:" + answer}, tamper...)
	if !strings.Contains(r.Stdout, `"no"`) || strings.Contains(r.Stdout, "content") {
		t.Errorf("%v", r)
	}
	b.Find(t, ktest.Want{Rule: "guard own-files"})

	// The script that a word of the command names.
	tamper[2] = `echo "echo '{\"answer\":\"once\"}'" >x; cat x >answer; mv -f x answer; cat $A; cat answer`
	if r := b.Bare(t, tamper...); r.Stdout != "content A\necho '{\"answer\":\"once\"}'\n" {
		t.Fatalf("bare: %v", r)
	}
	for _, word := range []string{answer, "answer", "./answer"} {
		b.Reset(t)
		b.Script(t, "work/answer", "#!/bin/sh\necho '{\"answer\":\"no\"}'\n")
		r = b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--ask", "exec:/bin/sh " + word}, tamper...)
		if !strings.Contains(r.Stdout, `"no"`) || strings.Contains(r.Stdout, "content") {
			t.Errorf("%s: %v", word, r)
		}
	}

	// A folder that is run as a program, one that is not there yet and comes by a rename, or by
	// a link, and a program named from the current folder.
	const no, once = "echo '{\"answer\":\"no\"}'\n", `echo "echo '{\"answer\":\"once\"}'"`
	for ask, act := range map[string]string{
		"/usr/bin/python3 program": `echo "print('{\"answer\":\"once\"}')" >program/__main__.py && cat $A`,
		"/bin/sh late/a":           `mkdir x; ` + once + ` >x/a; mv x late && cat $A`,
		"/bin/sh later/b/a":        `mkdir -p x/b; ` + once + ` >x/b/a; ln -s x later && cat $A`,
		"/bin/sh last/a":           `mkdir x; ` + once + ` >x/a; ln -s x y; ln -P y last && cat $A`,
		"./program/a":              `(echo '#!/bin/sh'; ` + once + `) >program/a && cat $A`,
	} {
		b.Reset(t)
		b.Script(t, "work/program/a", "#!/bin/sh\n"+no)
		if r := b.Bare(t, "sh", "-c", act); r.Stdout != "content A\n" {
			t.Fatalf("bare: %v", r)
		}
		b.Reset(t)
		b.Script(t, "work/program/a", "#!/bin/sh\n"+no)
		r := b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--ask", "exec:" + ask}, "sh", "-c", act)
		if r.Stdout != "" || r.Status == 0 || r.Status == 125 {
			t.Errorf("%s: %v", ask, r)
		}
		b.Find(t, ktest.Want{Rule: "guard own-files"})
	}
	// What the program cannot do without stays open.
	b.Reset(t)
	r = b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--ask", "exec:/bin/echo . /dev /dev/null /"}, "sh", "-c", `echo x >x && echo x >/dev/null && cat x`)
	if r.Stdout != "x\n" || r.Status != 0 {
		t.Errorf("%v", r)
	}

	b.Reset(t)
	s := serve(t, b.Path("work/asker.sock"))
	go func() {
		for q := range s.questions { // what an interpreter reads at its start
			q.reply(`{"answer":"no"}`)
		}
	}()
	python := []string{"/usr/bin/python3", "-c", `
import os, socket
def there(a, b): os.rename(a, b); os.rename(b, a)
for act in (lambda: socket.socket(socket.AF_UNIX).connect("asker.sock"), lambda: there("asker.sock", "x"), lambda: there("../work", "../work2"), lambda: os.remove("asker.sock")):
    try: act(); print("done")
    except OSError as e: print(e.errno)
`}
	second := b.Path("work/second.sock")
	if err := os.Link(s.path, second); err != nil {
		t.Fatal(err)
	}
	if r := b.Bare(t, python...); r.Stdout != "done\ndone\ndone\ndone\n" {
		t.Fatalf("bare: %v", r)
	}
	if err := os.Rename(second, s.path); err != nil {
		t.Fatal(err)
	}
	r = b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--ask", "unix:" + s.path}, python...)
	if r.Stdout != "1\n1\n1\n1\n" {
		t.Errorf("%v", r)
	}
}

// TestAskAProgram: a command that answers, with the umask that ptguard was started with, and
// its whole group gone when it has.
func TestAskAProgram(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	answer := b.Script(t, "answer", `#!/bin/sh
read line; echo "$line" >`+b.Path("line")+`; umask >`+b.Path("umask")+`; echo "$1" >`+b.Path("word")+`
sleep 600 &
echo '{"answer":"once"}'
sleep 600`)
	r := b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--ask", "exec:" + answer + " word"}, "sh", "-c", `cat $A`)
	if r.Stdout != "content A\n" || r.Status != 0 {
		t.Errorf("%v", r)
	}
	if got := b.Text(t, "umask") + b.Text(t, "word"); got != "0022\nword\n" {
		t.Errorf("%q", got)
	}
	if !strings.HasPrefix(b.Text(t, "line"), `{"v":1,"run":"`) {
		t.Errorf("%s", b.Text(t, "line"))
	}
	// A script that is not there yet is not for the tree to make.
	r = b.Guard(t, []string{"--keep-env", "--ask", "exec:/bin/sh late"}, "sh", "-c", `echo 'echo "{\"answer\":\"once\"}"' >late; ls late; echo x >"$HOME/made"`)
	if r.Status == 0 || r.Stdout != "" || !strings.Contains(r.Stderr, "guard own-files") && !strings.Contains(r.Stderr, "control file of ptguard") {
		t.Errorf("%v", r)
	}
	for what, via := range map[string]string{"absent": "exec:/absent/answer", "no socket": "unix:" + b.Trace, "no way": "telepathy", "no path": "unix:x"} {
		if r := b.Guard(t, []string{"--fence", b.Work, "--ask", via}, "true"); r.Status != 125 {
			t.Errorf("%s: %v", what, r)
		}
	}
}

// TestAskAlways: a kept answer holds for later runs of the same fence, is shown, and is
// taken back; the file is the user's alone.
func TestAskAlways(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	answer := b.Script(t, "answer", "#!/bin/sh\necho >>"+b.Path("count")+"\necho '{\"answer\":\"always\"}'\n")
	run := func(fence string) ktest.Result {
		return b.Guard(t, []string{"--fence", fence, "--keep-env", "--ask", "exec:" + answer}, "sh", "-c", `cat $A`)
	}
	count := func() int { return strings.Count(b.Text(t, "count"), "\n") }
	for range 2 {
		if r := run(b.Work); r.Stdout != "content A\n" || count() != 1 {
			t.Fatalf("asked %d times: %v", count(), r)
		}
	}
	file := b.Path("home/state/ptguard/grants.jsonl")
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, st, err)
		}
	}
	list := b.Bare(t, ktest.Binary(t), "grants")
	if !strings.Contains(list.Stdout, "read "+b.Path("outside/deep")) || !strings.Contains(list.Stdout, "fence "+b.Work) {
		t.Errorf("%v", list)
	}
	// Another fence is another matter.
	if err := os.Mkdir(b.Path("work/other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if run(b.Path("work/other")); count() < 2 {
		t.Errorf("not asked in another fence")
	}
	// Not for the tree, whatever it may write.
	r := b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--write", b.Home, "--ask", "exec:" + answer}, "sh", "-c", "echo >>"+filepath.Dir(filepath.Dir(file))+"/beside && echo >>"+file+" || echo refused")
	if r.Stdout != "refused\n" || b.Text(t, "home/state/beside") != "\n" {
		t.Errorf("%v", r)
	}
	b.Find(t, ktest.Want{Rule: "guard own-files"})
	for _, plant := range []string{"mv x ptguard", "ln -s x ptguard", "mkdir -m 700 ptguard && cp x/grants.jsonl ptguard"} {
		state := b.Path("home/state2")
		plant = "mkdir -p " + state + " && cd " + state + " && mkdir -m 700 x && echo >x/grants.jsonl && " + plant + " && cat ptguard/grants.jsonl"
		if r := b.Bare(t, "sh", "-c", plant); r.Stdout != "\n" {
			t.Fatalf("bare: %v", r)
		}
		if err := os.RemoveAll(state); err != nil {
			t.Fatal(err)
		}
		// In a run that asks, and in others.
		for _, flags := range [][]string{{"--fence", b.Work, "--keep-env", "--write", b.Home, "--ask", "exec:" + answer}, {"--write", b.Home}, {"--mode", "open"}} {
			own := append([]string{"env", "XDG_STATE_HOME=" + state}, b.Guarded(t, flags, "sh", "-c", plant)...)
			if r := b.Run(t, ktest.Cmd{Argv: own}); r.Stdout != "" || r.Status == 0 || r.Status == 125 {
				t.Errorf("%q: %v", flags, r)
			}
			b.Find(t, ktest.Want{Rule: "guard own-files"})
			if err := os.RemoveAll(state); err != nil {
				t.Fatal(err)
			}
		}
	}
	id, _, _ := strings.Cut(list.Stdout, " ")
	if r := b.Bare(t, ktest.Binary(t), "grants", "revoke", id); r.Status != 0 || !strings.Contains(r.Stdout, "revoked read "+b.Path("outside/deep")) {
		t.Errorf("%v", r)
	}
	if r := b.Bare(t, ktest.Binary(t), "grants", "revoke", id); r.Status != 125 {
		t.Errorf("%v", r)
	}
	before := count()
	if run(b.Work); count() != before+1 {
		t.Error("not asked after revoke")
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run(b.Work); r.Status != 125 || !strings.Contains(r.Stderr, "chmod 0600") {
		t.Errorf("%v", r)
	}
}

// TestFenceEmpty: without a folder even the current one asks, and a grant of a first-level
// folder is not offered.
func TestFenceEmpty(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	s := newServer(t, b)
	wait := start(t, b, b.Guarded(t, []string{"--fence", "", "--keep-env", "--ask", "unix:" + s.path}, "sh", "-c", `echo x >new && cat new`))
	q := s.next(t)
	if q.Resolved != b.Path("work/new") || q.Ask.Kept != "write "+b.Work || q.Reason != "fenced, and no folder is free" {
		t.Errorf("asked %s", q.line)
	}
	q.reply(`{"answer":"run"}`)
	if r := wait(); r.Stdout != "x\n" || r.Status != 0 {
		t.Errorf("%v", r)
	}

	wait = start(t, b, fenced(t, b, []string{"--ask", "unix:" + s.path}, `: >/etc/ptguard-asked`))
	q = s.next(t)
	if strings.Join(q.Ask.Answers, ",") != "once,no" || q.Ask.Kept != "" {
		t.Errorf("asked %s", q.line)
	}
	q.reply(`{"answer":"run"}`)
	if r := wait(); r.Status == 0 {
		t.Errorf("%v", r)
	}
	if d := b.Find(t, ktest.Want{Layer: "fence", Errno: "EPERM"}); d.Resolved != "/etc/ptguard-asked" || !strings.Contains(d.Reason, "not an answer to this question") {
		t.Errorf("%+v", d)
	}
	if _, err := os.Stat("/etc/ptguard-asked"); err == nil {
		t.Error("it was made")
	}
}
