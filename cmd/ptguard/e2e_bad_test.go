// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// TestBadInput: one clear error, the stated exit status, and nothing ran: the command
// would make the file "ran".
func TestBadInput(t *testing.T) {
	t.Parallel()
	const good = "ptguard: 1\n"
	policy := func(text string) func(t testing.TB, b *ktest.Box) []string {
		return func(t testing.TB, b *ktest.Box) []string {
			return []string{"--policy", b.Write(t, "outside/p.yaml", text)}
		}
	}
	flags := func(f ...string) func(testing.TB, *ktest.Box) []string {
		return func(testing.TB, *ktest.Box) []string { return f }
	}
	for name, c := range map[string]struct {
		flags  func(t testing.TB, b *ktest.Box) []string
		says   []string // parts of the error
		dir    string
		env    []string
		status int // 0: 125
	}{
		"policy missing":     {flags: flags("--policy", "absent.yaml"), says: []string{"absent.yaml", "no such file"}},
		"policy a directory": {flags: flags("--policy", "."), says: []string{"directory"}},
		"policy too large":   {flags: policy(good + strings.Repeat("# filler filler filler\n", 1<<16)), says: []string{"p.yaml", "large"}},
		"policy not yaml":    {flags: policy("ptguard: 1\nfiles: [\n"), says: []string{"p.yaml"}},
		"policy empty":       {flags: policy(""), says: []string{"p.yaml"}},
		"policy binary":      {flags: policy("\x00\x01\xff\xfe"), says: []string{"p.yaml"}},
		"policy a scalar":    {flags: policy("hello\n"), says: []string{"p.yaml:1"}},
		"version":            {flags: policy("ptguard: 2\n"), says: []string{"p.yaml:1:", "2"}},
		"no version":         {flags: policy("mode: strict\n"), says: []string{"p.yaml", "ptguard: 1"}},
		"unknown key":        {flags: policy(good + "files:\n  raed: [ /opt ]\n"), says: []string{"p.yaml:3:3", "raed", "read"}},
		"unknown top key":    {flags: policy(good + "flies: {}\n"), says: []string{"p.yaml:2:1", "flies", "files"}},
		"wrong type":         {flags: policy(good + "mode: [strict]\n"), says: []string{"p.yaml:2:"}},
		"unknown mode":       {flags: policy(good + "mode: permisive\n"), says: []string{"p.yaml:2:", "permisive", "permissive"}},
		"bad path":           {flags: policy(good + "files:\n  read: [ opt/data ]\n"), says: []string{"p.yaml:3:", "opt/data", "./opt/data"}},
		"dollar":             {flags: policy(good + "files:\n  read: [ \"$HOME/x\" ]\n"), says: []string{"p.yaml:3:", "$"}},
		"bad glob":           {flags: policy(good + "files:\n  read: [ \"/opt/[a\" ]\n"), says: []string{"p.yaml:3:", "/opt/[a"}},
		"bad address":        {flags: policy(good + "net:\n  connect: [ \"localhost:80\" ]\n"), says: []string{"p.yaml:3:", "localhost"}},
		"bad port":           {flags: policy(good + "net:\n  connect: [ \"127.0.0.1:99999\" ]\n"), says: []string{"p.yaml:3:", "99999"}},
		"unknown access":     {flags: policy(good + "files:\n  deny: [ { path: /x, access: [raed] } ]\n"), says: []string{"p.yaml:3:", "raed", "read"}},
		"not supported yet":  {flags: policy(good + "scopes: { api: { net: { families: [unix] } } }\n"), says: []string{"p.yaml:2:", "not supported by this version"}},
		"contradiction":      {flags: policy(good + "mode: open\nfiles:\n  deny: [ /x ]\n"), says: []string{"p.yaml:", "open"}},
		"open and a rule":    {flags: flags("--mode", "open", "--deny", "/x"), says: []string{"open"}},
		"twice the same key": {flags: policy(good + "mode: strict\nmode: open\n"), says: []string{"p.yaml:3:", "mode"}},
		"policy in the environment": {
			flags: flags(), env: []string{"PTGUARD_POLICY=/nonexistent/policy.yaml"}, says: []string{"/nonexistent/policy.yaml"},
		},
		"link loop extends": {
			flags: func(t testing.TB, b *ktest.Box) []string {
				b.Write(t, "outside/q.yaml", good+"extends: [ ./p.yaml ]\n")
				return policy(good+"extends: [ ./q.yaml ]\n")(t, b)
			},
			says: []string{".yaml"},
		},
		"unknown preset":    {flags: policy(good + "extends: [permisive]\n"), says: []string{"p.yaml:2:", "permisive", "permissive"}},
		"unknown mode flag": {flags: flags("--mode", "loose"), says: []string{"loose"}},
		"unknown flag":      {flags: flags("--wirte", "x"), says: []string{"wirte"}},
		"bad timeout":       {flags: flags("--timeout", "soon"), says: []string{"soon"}},
		"bad wait":          {flags: flags("--wait", "some"), says: []string{"some"}},
		"bad address flag":  {flags: flags("--connect", "nowhere"), says: []string{"nowhere"}},
		"bad path flag":     {flags: flags("--deny-exec", ""), says: []string{"deny-exec"}},
		// Of a variable that is not set: not as if the flag were not there.
		"empty work":        {flags: flags("--work", ""), says: []string{"--work", "empty"}},
		"empty mode":        {flags: flags("--mode="), says: []string{"--mode", "empty"}},
		"empty preset":      {flags: flags("--preset", ""), says: []string{"--preset", "empty"}},
		"empty scope":       {flags: flags("--scope", ""), says: []string{"--scope", "empty"}},
		"empty trace":       {flags: flags("--trace", ""), says: []string{"--trace", "empty"}},
		"empty seals":       {flags: flags("--seals", ""), says: []string{"--seals", "empty"}},
		"empty policy":      {flags: flags("--policy", ""), says: []string{"--policy", "empty"}},
		"empty read":        {flags: flags("--read", ".", "--read="), says: []string{"--read", "empty"}},
		"empty backstop":    {flags: flags("--backstop", ""), says: []string{"--backstop", "empty"}},
		"keep-fd":           {flags: flags("--keep-fd", "77"), says: []string{"77"}},
		"work missing":      {flags: flags("--work", "absent"), says: []string{"absent"}},
		"work a file":       {flags: func(t testing.TB, b *ktest.Box) []string { return []string{"--work", b.Write(t, "work/file", "")} }, says: []string{"file"}},
		"work implicitly /": {flags: flags(), dir: "/", says: []string{"--work"}},
		"work implicitly home": {
			flags: flags(), dir: "home", says: []string{"--work"},
		},
		"work implicitly above home": {flags: flags(), dir: ".", says: []string{"--work"}},
		"work implicitly /usr":       {flags: flags(), dir: "/usr", says: []string{"--work"}},
		"trace in no folder":         {flags: flags("--trace", "absent/t.jsonl"), says: []string{"absent/t.jsonl"}},
		"trace a folder":             {flags: flags("--trace", "."), says: []string{"trace"}},
		"trace a closed fd":          {flags: flags("--trace", "fd:77"), says: []string{"77"}},
		"log in no folder":           {flags: flags("--log", "absent/log"), says: []string{"absent/log"}},
		"no command":                 {flags: flags(), status: 125, says: []string{"which program"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			b.Env = c.env
			argv := slices.Concat([]string{ktest.Binary(t), "run"}, c.flags(t, b), []string{"--", "touch", b.Path("work/ran")})
			if name == "no command" {
				argv = argv[:2]
			}
			dir := ""
			switch {
			case strings.HasPrefix(c.dir, "/"):
				dir = c.dir
			case c.dir != "":
				dir = b.Path(c.dir)
			}
			bad(t, b, b.Run(t, ktest.Cmd{Argv: argv, Dir: dir}), c.says...)
		})
	}
	if !root() { // root reads everything
		t.Run("policy unreadable", func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			p := b.Write(t, "outside/p.yaml", good)
			if err := os.Chmod(p, 0); err != nil {
				t.Fatal(err)
			}
			bad(t, b, b.Guard(t, []string{"--policy", p}, "touch", "ran"), "p.yaml", "permission denied")
		})
	}
}

// bad checks that r is a failure of ptguard before anything ran: status 125, one error
// line that holds says, perhaps hints, no panic, nothing on stdout.
func bad(t *testing.T, b *ktest.Box, r ktest.Result, says ...string) {
	t.Helper()
	if r.Status != 125 || r.Stdout != "" {
		t.Errorf("want status 125 and no stdout, got %v", r)
	}
	b.Absent(t, "work/ran")
	errors := 0
	for _, line := range r.GuardLines() {
		if strings.HasPrefix(line, "ptguard: error:") {
			errors++
		}
	}
	if errors != 1 {
		t.Errorf("want one error line, got %v", r)
	}
	for _, word := range says {
		if !strings.Contains(r.Stderr, word) {
			t.Errorf("the error does not say %q: %v", word, r)
		}
	}
	if strings.Contains(r.Stderr, "goroutine ") {
		t.Errorf("panic: %v", r)
	}
}

// TestBadTrace: a trace that cannot be written is one warning and never another verdict.
func TestBadTrace(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, fillOutside)
	script := "for i in 1 2 3; do echo x >>../outside/f$i; echo x >>../outside/f; done; echo out; exit 3"
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "run", "--trace", "/dev/full", "--", "sh", "-c", script}})
	if r.Status != 3 || r.Stdout != "out\n" || b.Text(t, "outside/f") != "old\n" {
		t.Errorf("full disk: want status 3 and no write, got %v", r)
	}
	warnings := 0
	for _, line := range r.GuardLines() {
		if strings.Contains(line, "warning") && strings.Contains(line, "trace") {
			warnings++
		}
	}
	if warnings != 1 {
		t.Errorf("full disk: want one warning, got %d in %v", warnings, r)
	}
	// A pipe whose reader is gone.
	r = b.Run(t, ktest.Cmd{Argv: slices.Concat(under(`{ sleep 0 | :; } ; exec 7> >(exec true); until ! kill -0 $! 2>/dev/null; do :; done; "$@"`),
		[]string{ktest.Binary(t), "run", "--trace", "fd:7", "--", "sh", "-c", script})})
	if r.Status != 3 || r.Stdout != "out\n" || b.Text(t, "outside/f") != "old\n" {
		t.Errorf("closed pipe: want status 3 and no write, got %v", r)
	}
}

// TestBadWork: a work folder that is too wide, given explicitly, is one warning.
func TestBadWork(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	r := b.Guard(t, []string{"--work", b.Home}, "true")
	if r.Status != 0 || len(r.GuardLines()) != 1 {
		t.Errorf("want one warning and status 0, got %v", r)
	}
	r.WantLine(t, "warning", b.Home)
}

// TestCheck: ptguard check finds the same errors, and rules that can never fire.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	good := b.Write(t, "outside/good.yaml", "ptguard: 1\nfiles:\n  read: [ /opt ]\n")
	if r := b.Bare(t, ktest.Binary(t), "check", good); r.Status != 0 {
		t.Errorf("good policy: %v", r)
	}
	wrong := b.Write(t, "outside/wrong.yaml", "ptguard: 1\nfiles:\n  raed: [ /opt ]\n")
	if r := b.Bare(t, ktest.Binary(t), "check", wrong); r.Status != 1 || !strings.Contains(r.Stdout+r.Stderr, "wrong.yaml:3:3") {
		t.Errorf("wrong policy: want status 1 and the place, got %v", r)
	}
	never := b.Write(t, "outside/never.yaml", "ptguard: 1\nfiles:\n  read: [ /opt/a ]\n  deny: [ /opt ]\n")
	if r := b.Bare(t, ktest.Binary(t), "check", never); r.Status != 0 || !strings.Contains(r.Stdout+r.Stderr, "never.yaml:3:") {
		t.Errorf("dead rule: want status 0 and a warning with its place, got %v", r)
	}
	hide := b.Write(t, "outside/hide.yaml", "ptguard: 1\nfiles:\n  hide: [ \"**/.env\" ]\n")
	if r := b.Bare(t, ktest.Binary(t), "check", hide); r.Status != 0 || strings.Contains(r.Stdout+r.Stderr, "warning:") {
		t.Errorf("hide: want no warning, got %v", r)
	}
	mark := b.Write(t, "outside/mark.yaml", "\ufeffptguard: 1\nfiles: { raed: [ /opt ] }\n") // YAML allows a byte order mark
	if r := b.Bare(t, ktest.Binary(t), "check", mark); r.Status != 1 || !strings.Contains(r.Stdout, "mark.yaml:2:10") {
		t.Errorf("byte order mark: %v", r)
	}
	if r := b.Guard(t, []string{"--mode", "permissive", "--fence", "."}, "true"); r.Status != 0 || !strings.Contains(r.Stderr, "mode permissive does not hold with a fence") {
		t.Errorf("mode and fence: %v", r)
	}
	scoped := b.Write(t, "outside/scoped.yaml", "ptguard: 1\nscopes:\n  api:\n    enter: [ /usr/bin/git ]\n    files: { write: [ /opt/a ] }\n")
	if r := b.Bare(t, ktest.Binary(t), "policy", "show", scoped); r.Status != 0 || !strings.Contains(r.Stdout, "scope api, mode permissive") || strings.Count(r.Stdout, "/opt/a") != 1 || !strings.Contains(r.Stdout, "scope user, mode strict") {
		t.Errorf("policy show: %v", r)
	}
	if r := b.Bare(t, ktest.Binary(t), "check", b.Path("outside/absent.yaml")); r.Status != 1 {
		t.Errorf("absent policy: want status 1, got %v", r)
	}
	if r := b.Bare(t, ktest.Binary(t), "version"); r.Status != 0 || !strings.Contains(r.Stdout, "ptguard") {
		t.Errorf("version: %v", r)
	}
	if r := b.Bare(t, ktest.Binary(t), "doctor"); r.Status != 0 || !strings.Contains(r.Stdout, "ptrace") || !strings.Contains(r.Stdout, "seccomp") {
		t.Errorf("doctor: %v", r)
	}
}

// TestDump: what a run recorded can be read.
func TestDump(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, fillOutside)
	b.Guard(t, nil, "sh", "-c", "echo x >>../outside/f")
	for _, format := range [][]string{nil, {"--format", "summary"}, {"--format", "jsonl"}} {
		r := b.Bare(t, slices.Concat([]string{ktest.Binary(t), "dump"}, format, []string{b.Trace})...)
		if r.Status != 0 || !strings.Contains(r.Stdout, "outside/f") && !strings.Contains(r.Stdout, "open") || r.Stderr != "" {
			t.Errorf("dump %v: %v", format, r)
		}
	}
	if r := b.Bare(t, ktest.Binary(t), "dump", b.Path("absent.jsonl")); r.Status == 0 || len(r.GuardLines()) == 0 {
		t.Errorf("dump of an absent file: %v", r)
	}
}

// TestLinkToPolicy: the tree cannot lead the next run to another policy by a link on the way
// to this one's, and may use what else lies behind such a link.
func TestLinkToPolicy(t *testing.T) {
	b := ktest.NewBox(t, nil)
	b.Write(t, "outside/p.yaml", "ptguard: 1\n")
	b.Write(t, "work/sub/p.yaml", "ptguard: 1\n")
	for name, target := range map[string]string{"work/link.yaml": b.Path("outside/p.yaml"), "work/dir": "sub"} {
		if err := os.Symlink(target, b.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	r := b.Guard(t, []string{"-p", "link.yaml", "-p", "dir/p.yaml"}, "sh", "-c",
		"rm -f link.yaml; mv link.yaml x; ln -sfn x link.yaml; rm dir; mv dir y; echo x >dir/other; cat dir/other link.yaml dir/p.yaml; echo x >/dev/stderr")
	if r.Status != 0 || r.Stdout != "x\nptguard: 1\nptguard: 1\n" {
		t.Errorf("%v", r)
	}
}
