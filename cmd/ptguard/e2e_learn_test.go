// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// lessons are programs that the default policy refuses something to.
var lessons = []struct {
	name  string
	fill  func(t testing.TB, b *ktest.Box)
	env   func(b *ktest.Box) []string
	flags []string
	argv  func(b *ktest.Box) []string
	want  []string // lines of the proposal, with HOME and OUT for folders of the box
	never []string // parts of no line
}{
	{
		name: "git",
		argv: shell(`git init -q ../outside/repo && cd ../outside/repo && echo a > f && git add f && git commit -qm x && git gc -q && git log --format=%s`),
		want: []string{"- OUT/repo"},
	},
	{
		name: "npm",
		fill: func(t testing.TB, b *ktest.Box) {
			b.Write(t, "work/dep/package.json", `{"name":"dep","version":"1.0.0"}`)
			b.Write(t, "work/package.json", `{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep"}}`)
		},
		env:  func(b *ktest.Box) []string { return []string{"npm_config_cache=" + b.Home + "/.npm"} },
		argv: shell("npm install --silent --no-audit --no-fund && ls node_modules"),
		want: []string{"- HOME/.npm"},
	},
	{
		name: "go",
		fill: func(t testing.TB, b *ktest.Box) {
			b.Write(t, "work/go.mod", "module x\n\ngo 1.21\n")
			b.Write(t, "work/lib.go", "package x // without imports: nothing else has to be built\n\nfunc F() int { return 1 }\n")
		},
		env: func(b *ktest.Box) []string {
			return []string{"GOCACHE=" + b.Home + "/.cache/go-build", "GOPATH=" + b.Home + "/go"}
		},
		argv: shell("go build . && go list"),
		want: []string{"- HOME/.cache/go-build"},
	},
	{
		name: "python",
		fill: func(t testing.TB, b *ktest.Box) {
			b.Write(t, "outside/proj/test_x.py", "import os, tempfile, unittest\nclass T(unittest.TestCase):\n    def test(self):\n        d = os.path.expanduser('~/.pytool/cache')\n        os.makedirs(d, exist_ok=True)\n        with tempfile.NamedTemporaryFile(dir=d, delete=False) as f: f.write(b'x')\n        os.replace(f.name, d + '/last')\n        open(os.path.expanduser('~/.pytoolrc'), 'w').close()\n")
		},
		env:  func(*ktest.Box) []string { return []string{"PYTHONDONTWRITEBYTECODE="} },
		argv: shell("cd ../outside/proj && python3 -m unittest -q"),
		want: []string{"- HOME/.pytool", "- HOME/.pytoolrc", "- OUT/proj/__pycache__"},
	},
	{
		// A file that is written beside and renamed over, in a folder that is too broad; a
		// folder of many files; what nobody should be granted by a proposal.
		name: "shell",
		fill: func(t testing.TB, b *ktest.Box) { b.Write(t, "home/.ssh/id_rsa", "key\n") },
		argv: shell(`: > ~/.zz-x$$y1zzz; echo x > ~/.toolrc.tmp; mv ~/.toolrc.tmp ~/.toolrc; mkdir ../outside/d; for i in 1 2 3 4 5; do echo $i > ../outside/d/$i; done; : > ../outside/one; echo done`),
		want: []string{"- \"HOME/.toolrc*\"", "- \"HOME/.zz-*\"", "- OUT/d", "- OUT/one"},
	},
	{
		name: "strict", flags: []string{"--preset", "strict"},
		fill: func(t testing.TB, b *ktest.Box) {
			for _, f := range []string{"a", "b", "c", "d"} {
				b.Write(t, "outside/data/"+f, f)
			}
			b.Write(t, "outside/deep/x/one", "1")
		},
		argv: shell("cat ../outside/data/*; cat ../outside/deep/x/one; ls ../outside/data"),
		want: []string{"- OUT/data"},
	},
}

func shell(script string) func(*ktest.Box) []string {
	return func(*ktest.Box) []string { return []string{"sh", "-ec", script} }
}

// What `learn` proposes is enough: the same program runs under it without a refusal, and
// as it does without ptguard. Without the proposal something is refused.
func TestLearnedPolicyRefusesNothing(t *testing.T) {
	for _, c := range lessons {
		t.Run(c.name, func(t *testing.T) {
			b := ktest.NewBox(t, c.fill)
			if c.env != nil {
				b.Env = c.env(b)
			}
			argv, policy := c.argv(b), b.Path("policy.yaml")
			bare := b.Bare(t, argv...)
			if bare.Status != 0 {
				t.Fatalf("bare: %v", bare)
			}
			b.Reset(t)
			if before := b.Guard(t, c.flags, argv...); len(b.Denials(t)) == 0 {
				t.Fatalf("nothing is refused without the proposal: %v", before)
			}
			b.Reset(t)
			learn := b.Run(t, ktest.Cmd{Argv: slices.Concat([]string{ktest.Binary(t), "learn"}, c.flags, []string{"-o", policy, "--"}, argv)})
			if learn.Status != 0 || learn.Stdout != bare.Stdout {
				t.Fatalf("bare %v\nlearn %v", bare, learn)
			}
			text := b.Text(t, "policy.yaml")
			for _, line := range c.want {
				line = strings.ReplaceAll(strings.ReplaceAll(line, "HOME", home(b)), "OUT", b.Outside)
				if !strings.Contains(text, "    "+line+"\n") {
					t.Errorf("the proposal has no line %q:\n%s", line, text)
				}
			}
			if lines := strings.Count(text, "\n    - "); lines > len(c.want)+2 {
				t.Errorf("%d lines are too many to be reviewed:\n%s", lines, text)
			}
			b.Reset(t)
			again := b.Guard(t, []string{"-p", policy}, argv...)
			if again.Status != 0 || again.Stdout != bare.Stdout {
				t.Errorf("bare %v\nunder the proposal %v", bare, again)
			}
			if d := b.Denials(t); len(d) > 0 {
				t.Errorf("%d refusals under the proposal, first %+v\n%s", len(d), d[0], text)
			}
			// Learned again, nothing is to be added.
			b.Reset(t)
			if r := b.Run(t, ktest.Cmd{Argv: slices.Concat([]string{ktest.Binary(t), "learn", "-o", policy, "--"}, argv)}); b.Text(t, "policy.yaml") != text {
				t.Errorf("a second lesson changes the policy: %v\n%s", r, b.Text(t, "policy.yaml"))
			}
		})
	}
}

// home is how a policy writes the box's home: ~ stands for the password file's.
func home(b *ktest.Box) string { return b.Home }

// What should not be granted by a proposal is listed instead, with the reason; with --from
// a trace is the teacher, and --enforce keeps refusing.
func TestLearnGrantsNoSecrets(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "home/.ssh/id_rsa", "key\n")
		b.Write(t, "home/.bashrc", "# rc\n")
		b.Write(t, "outside/.env", "SECRET=1\n")
		b.Write(t, "work/no", "no\n")
	})
	script := "cat ~/.ssh/id_rsa; echo x >> ~/.bashrc; echo x >> ../outside/.env; cat no; echo x > ../outside/ok; true"
	flags := []string{"--deny", "no"}
	check := func(policy, said string) {
		t.Helper()
		if !strings.Contains(policy, "- "+b.Outside+"/ok\n") || strings.Count(policy, "\n    - ") != 1 {
			t.Errorf("want the one line for outside/ok:\n%s", policy)
		}
		for _, want := range []string{"read " + b.Home + "/.ssh/id_rsa   private keys", "write " + b.Home + "/.bashrc", "write " + b.Outside + "/.env   its name says", "read " + b.Work + "/no   your own rule flag --deny"} {
			if !strings.Contains(said, "ptguard:   "+want) {
				t.Errorf("not told: %q in\n%s", want, said)
			}
		}
	}
	r := b.Run(t, ktest.Cmd{Argv: slices.Concat([]string{ktest.Binary(t), "learn"}, flags, []string{"--", "sh", "-c", script})})
	policy, ok := strings.CutPrefix(r.Stdout, "key\nno\n")
	if r.Status != 0 || !ok {
		t.Fatalf("learn refused something: %v", r)
	}
	check(policy, r.Stderr)
	b.Reset(t)
	r = b.Run(t, ktest.Cmd{Argv: slices.Concat([]string{ktest.Binary(t), "learn", "--enforce"}, flags, []string{"--", "sh", "-c", script})})
	if strings.Contains(r.Stdout, "key") {
		t.Errorf("--enforce: %v", r)
	}
	// The summary names no trace, for there is none any more.
	if !regexp.MustCompile(`(?m)^ptguard: \d+ denials.*, run [0-9.]+ s$`).MatchString(r.Stderr) || strings.Contains(r.Stderr, "ptguard dump") {
		t.Errorf("--enforce: the summary: %v", r)
	}
	if left, err := os.ReadDir(b.Tmp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	check(r.Stdout, r.Stderr)
	b.Reset(t)
	b.Guard(t, append([]string{"--audit", "--trace-level", "decisions"}, flags...), "sh", "-c", script)
	r = b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "learn", "--from", b.Trace}, Dir: b.Home})
	check(r.Stdout, r.Stderr)
}

// A secret in a folder that is granted stays out of it.
func TestLearnKeepsSecretsOut(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		for _, f := range []string{"a", "b", "c", ".env", "server.pem", "cacert.pem"} {
			b.Write(t, "outside/data/"+f, f+"\n")
		}
	})
	script := "cd ../outside/data; cat a b c cacert.pem; cat .env; cat server.pem; true"
	if r := b.Bare(t, "sh", "-c", script); r.Stdout != "a\nb\nc\ncacert.pem\n.env\nserver.pem\n" {
		t.Fatalf("bare: %v", r)
	}
	policy := b.Path("policy.yaml")
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "learn", "--preset", "strict", "-o", policy, "--", "sh", "-c", script}})
	text := b.Text(t, "policy.yaml")
	if r.Status != 0 || !strings.Contains(text, "    - "+b.Outside+"/data\n") || strings.Count(text, "not granted by ptguard learn") != 2 {
		t.Fatalf("%v\n%s", r, text)
	}
	r = b.Guard(t, []string{"-p", policy}, "sh", "-c", script)
	if r.Stdout != "a\nb\nc\ncacert.pem\n" || len(b.Denials(t)) != 2 {
		t.Errorf("under the proposal: %v\n%s", r, text)
	}
}

// A policy that somebody wrote keeps its comments, its order and its style: the difference
// is what was added.
func TestLearnMerges(t *testing.T) {
	script := "echo x > ../outside/new; echo y > ../outside/a/b; true"
	for _, c := range []struct{ name, old, added string }{
		{"flow", "# mine\nptguard: 1\n\nfiles:\n  write: [ /srv/x, \"/srv/y z\" ]  # two\n  read: [ /opt ]\n# end\n", ", OUT/a/b, OUT/new"},
		{"block", "ptguard: 1\nfiles:\n  write:\n    # why\n    - /srv/x # this\n    - { file: /srv/z }\n\n  deny: [ /srv/no ] # last\nexec:\n  deny: [ { program: git, args: [push] } ]\n", "    - OUT/a/b\n    - OUT/new\n"},
		{"section", "ptguard: 1\nfiles:\n    # four spaces\n    read: [ /opt ]\n\n# a net\nnet:\n  bind: [ \"127.0.0.1:*\" ]\n", "    write:\n      - OUT/a/b\n      - OUT/new\n"},
		{"nothing", "ptguard: 1   # only this\nmode: permissive", "\nfiles:\n  write:\n    - OUT/a/b\n    - OUT/new\n"},
		{"lines", "ptguard: 1\nfiles:\n  write: [\n    /srv/x,   # one\n    /srv/y    # two\n  ]\n", ",\n    OUT/a/b, OUT/new"},
		{"flow section", "ptguard: 1\nfiles: { read: [ /opt ] }\n", ", write: [ OUT/a/b, OUT/new ]"},
		{"empty list", "ptguard: 1\nfiles:\n  write: []\n", " OUT/a/b, OUT/new "},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
				b.Write(t, "outside/a/b", "old")
				b.Write(t, "policy.yaml", c.old)
			})
			if err := os.Chmod(b.Path("policy.yaml"), 0o640); err != nil {
				t.Fatal(err)
			}
			r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "learn", "-o", b.Path("policy.yaml"), "--", "sh", "-c", script}})
			got := b.Text(t, "policy.yaml")
			if r.Status != 0 || !inOrder(got, c.old) || len(got) < len(c.old) {
				t.Fatalf("the old text is not kept: %v\n%s", r, got)
			}
			extra := len(strings.ReplaceAll(c.added, "OUT", b.Outside))
			if len(got) != len(c.old)+extra {
				t.Errorf("%d bytes were added, want %d:\n%s", len(got)-len(c.old), extra, got)
			}
			if info, err := os.Stat(b.Path("policy.yaml")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode %v %v", info.Mode(), err)
			}
			again := b.Guard(t, []string{"-p", b.Path("policy.yaml")}, "sh", "-c", script)
			if len(b.Denials(t)) > 0 {
				t.Errorf("refusals under the merged policy: %v\n%s", again, got)
			}
		})
	}
}

// inOrder tells whether every byte of part is in text, in order.
func inOrder(text, part string) bool {
	for i := range len(part) {
		at := strings.IndexByte(text, part[i])
		if at < 0 {
			return false
		}
		text = text[at+1:]
	}
	return true
}

func TestLearnBadInput(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "bad.yaml", "ptguard: 1\nfiles: { wirte: [] }\n") })
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, "which program?"},
		{[]string{"--from", "x", "--", "true"}, "not both"},
		{[]string{"--from", "/nowhere"}, "/nowhere"},
		{[]string{"-o", b.Path("bad.yaml"), "--", "touch", "ran"}, "wirte"},
		{[]string{"-o", b.Path("no/p.yaml"), "--", "touch", "ran"}, "no/p.yaml: no such file"},
		{[]string{"-o", b.Path("."), "--", "touch", "ran"}, "not a regular file"},
	} {
		r := b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "learn"}, c.words...)})
		if r.Status != 125 || !strings.Contains(r.Stderr, c.want) {
			t.Errorf("%q: %v", c.words, r)
		}
	}
	b.Absent(t, "work/ran")
	// CMD's status is passed on.
	for _, status := range []string{"0", "7"} {
		r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "learn", "-o", b.Path("p.yaml"), "--", "sh", "-c", "exit " + status}})
		if (r.Status == 0) != (status == "0") || r.Status != 0 && r.Status != 7 {
			t.Errorf("exit %s: %v", status, r)
		}
	}
}

// With another base than that of the run, what the run allowed is asked again, too.
func TestLearnFromWithAnotherBase(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "outside/b", "b") })
	script := "cat ../outside/b; echo x > a; cat a"
	b.Guard(t, []string{"--trace-level", "decisions"}, "sh", "-c", script)
	learn := func(flags ...string) ktest.Result {
		return b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "learn", "--from", b.Trace}, flags...)})
	}
	if r := learn(); r.Status != 0 || strings.Contains(r.Stdout, "files:") {
		t.Errorf("the run's own base: %v", r)
	}
	if r := learn("--preset", "strict", "-o", b.Path("strict.yaml")); r.Status != 0 || !strings.Contains(b.Text(t, "strict.yaml"), "files:\n  read:") {
		t.Errorf("strict: %v", r)
	}
	if r := b.Guard(t, []string{"-p", b.Path("strict.yaml")}, "sh", "-c", script); r.Status != 0 {
		t.Errorf("with what was learned: %v", r)
	}
}

// Another policy is asked what a run asked.
func TestReplay(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/a", "a")
		b.Write(t, "outside/b", "b")
		b.Write(t, "new.yaml", "ptguard: 1\nfiles:\n  write: [ "+b.Outside+" ]\n  deny: [ ./a ]\n")
	})
	script := "cat a; echo x > ../outside/b; mkdir -p .git/hooks; echo x > .git/hooks/h; cat ../outside/b; true"
	b.Guard(t, []string{"--trace-level", "decisions"}, "sh", "-c", script)
	replay := func(flags ...string) ktest.Result {
		return b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "replay", b.Trace}, flags...)})
	}
	if r := replay("--preset", "permissive"); r.Status != 0 || r.Stdout != "" || !strings.Contains(r.Stderr, "answered the same; of 0 that differ") {
		t.Errorf("the same policy: %v", r)
	}
	r := replay("-p", b.Path("new.yaml"))
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	if r.Status != 1 || len(lines) != 2 ||
		!slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "now denied  read "+b.Work+"/a   was allowed by ") && strings.Contains(l, "new.yaml:4:11")
		}) ||
		!slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "now allowed  write ") && strings.Contains(l, b.Outside+"/b   was denied by mode permissive")
		}) {
		t.Errorf("another policy: %v", r)
	}
	// What it says is what a run under that policy does.
	b.Reset(t)
	earnest := b.Guard(t, []string{"-p", b.Path("new.yaml")}, "sh", "-c", script)
	d := b.Denials(t)
	if len(d) != 1 || d[0].Resolved != b.Work+"/a" {
		t.Errorf("in earnest: %v %+v", earnest, d)
	}
	if r := replay(); r.Status != 125 || !strings.Contains(r.Stderr, "which policy") {
		t.Errorf("no policy: %v", r)
	}
}

// A record of a scope is asked of that scope.
func TestReplayScopes(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/a", "a")
		b.Write(t, "p.yaml", "ptguard: 1\nscopes: { user: { files: { read: [ /opt ] } } }\n")
		b.Write(t, "none.yaml", "ptguard: 1\n")
	})
	if r := b.Guard(t, []string{"-p", b.Path("p.yaml"), "--scope", "user", "--trace-level", "decisions"}, "cat", "a"); r.Status == 0 {
		t.Fatalf("%v", r)
	}
	for file, want := range map[string]string{"p.yaml": "of 0 that differ", "none.yaml": "in a scope that this policy does not have"} {
		r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "replay", b.Trace, "-p", b.Path(file)}})
		if r.Status != 0 || r.Stdout != "" || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: %v", file, r)
		}
	}
	// Nothing is proposed for it: lines of the policy itself would not allow it.
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "learn", "--from", b.Trace}})
	if r.Status != 0 || strings.Contains(r.Stdout, b.Work) || !strings.Contains(r.Stderr, "read "+b.Path("work/a")+"   it was in scope user, whose section is for you to extend") {
		t.Errorf("learn: %v", r)
	}
}

// The test table of a policy: one line a case, 1 if one differs, and what it says is what
// a run does.
func TestPolicyTests(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/src/main.go", "x")
		b.Write(t, "work/.env", "x")
	})
	table := func(tests string) ktest.Result {
		b.Write(t, "policy.yaml", "ptguard: 1\nfiles:\n  hide: [ \"**/.env\" ]\nexec:\n  deny: [ { program: git, args: [push, \"**\"] }, { program: no-such-program } ]\ntests:\n"+tests)
		return b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "test", b.Path("policy.yaml")}})
	}
	good := "  - allow read src/main.go\n  - hide read .env\n  - deny exec git push origin\n  - allow exec git status\n  - deny read ~/.ssh/id_rsa\n  - deny write /etc/hosts\n  - 'allow connect 127.0.0.1:80'\n  - 'deny connect udp 10.0.0.1:53'\n  - deny exec no-such-program\n  - allow write 'src/with a blank'\n  - deny rename src/main.go /etc/x\n"
	r := table(good)
	if r.Status != 0 || strings.Count(r.Stdout, "ok   "+b.Path("policy.yaml")+":") != 11 || !strings.Contains(r.Stdout, ":7:5  allow read src/main.go\n") || !strings.Contains(r.Stdout, "11 cases, 0 differ") {
		t.Errorf("all agree: %v", r)
	}
	r = table("  - deny read src/main.go\n  - allow exec git push\n")
	if r.Status != 1 || strings.Count(r.Stdout, "FAIL ") != 2 || !strings.Contains(r.Stdout, "2 cases, 2 differ") || !strings.Contains(r.Stdout, "denied by "+b.Path("policy.yaml")+":5:") {
		t.Errorf("all differ: %v", r)
	}
	for _, c := range []struct{ tests, want string }{
		{"  - allow raed x\n", "did you mean read?"},
		{"  - maybe read x\n", "unknown verdict maybe"},
		{"  - allow read 'x\n", "policy.yaml:7:"},
		{"  - { a: b }\n", "policy.yaml:7:"},
		{"  []\n", "has no tests"},
	} {
		if r := table(c.tests); r.Status != 125 || !strings.Contains(r.Stderr, c.want) {
			t.Errorf("%q: %v", c.tests, r)
		}
		r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "check", b.Path("policy.yaml")}})
		if empty := c.want == "has no tests"; (r.Status == 0) != empty || !empty && !strings.Contains(r.Stdout, c.want) {
			t.Errorf("check %q: %v", c.tests, r)
		}
	}
}

// No output of these commands holds a secret that the trace masks.
func TestSecretsAreMasked(t *testing.T) {
	const one, two, three, four = "hunter2-abcdef", "ghp_abcdefghijklmnopqrstuvwxyz012345", "s3cr3tpass99", "justoneword"
	b := ktest.NewBox(t, nil)
	tool := b.Script(t, "work/tool", "#!/bin/sh\necho x > ../outside/new\n")
	argv := []string{tool, "--password=" + one, "--token", two, "--api-key", four, "https://me:" + three + "@example.org/x"}
	secrets := []string{one, two, three, four}
	clean := func(what, text string) {
		t.Helper()
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s holds the secret %s:\n%s", what, s, text)
			}
		}
	}
	run := func(what string, argv ...string) ktest.Result {
		t.Helper()
		r := b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t)}, argv...)})
		clean(what, r.Stdout+r.Stderr)
		if r.Status != 0 && r.Status != 1 || r.Stdout+r.Stderr == "" && what != "report" {
			t.Errorf("%s tells nothing: %v", what, r)
		}
		return r
	}
	b.Env = []string{"API_TOKEN=" + one}
	r := b.Guard(t, []string{"--trace-level", "all", "--env", "MY_SECRET=" + two, "--deny-exec", "tool"}, append([]string{"env", "DB_PASSWORD=" + three}, argv...)...)
	clean("live lines", r.Stderr)
	if len(b.Denials(t)) == 0 {
		t.Fatalf("nothing is refused: %v", r)
	}
	trace, err := os.ReadFile(b.Trace)
	if err != nil {
		t.Fatal(err)
	}
	clean("trace", string(trace))
	if !strings.Contains(string(trace), record.Mask) {
		t.Errorf("the trace masks nothing:\n%s", trace)
	}
	for _, format := range []string{"table", "summary", "jsonl", "tree", "ecs"} {
		run("dump "+format, "dump", b.Trace, "--format", format)
	}
	run("report", "report", b.Trace, "-o", b.Path("report.html"))
	clean("the page of report", b.Text(t, "report.html"))
	for _, d := range b.Denials(t) {
		seq := b.Trace + ":" + jsonNumber(d.Seq)
		run("why "+seq, "why", seq)
		run("why --json "+seq, "why", "--json", seq)
	}
	run("why exec", append([]string{"why", "exec"}, argv...)...)
	run("why exec --json", append([]string{"why", "--json", "exec"}, argv...)...)
	run("replay", "replay", b.Trace, "--preset", "open")
	run("replay --json", "replay", "--json", b.Trace, "--preset", "strict")
	run("learn --from", "learn", "--from", b.Trace)
	b.Absent(t, "outside/new")
	run("learn", append([]string{"learn", "-o", b.Path("learned.yaml"), "--"}, argv...)...)
	if text := b.Text(t, "learned.yaml"); !strings.Contains(text, "outside/new") {
		t.Errorf("learned nothing:\n%s", text)
	} else {
		clean("the learned policy", text)
	}
}

func jsonNumber(n uint64) string { return strconv.FormatUint(n, 10) }
