// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// whySays is what these tests read of `why --json`.
type whySays struct {
	Verdict string         `json:"verdict"`
	Errno   string         `json:"errno_today"`
	Record  *record.Record `json:"record"`
	Note    string         `json:"note"`
	Objects []struct {
		Rule, Source, Reason, Hint, Fix, YAML, Verdict string
		Chain                                          []struct {
			Step    int
			Rule    string
			Effect  string
			Decides bool
		}
	} `json:"objects"`
}

// why runs `ptguard why --json` and reads its answers, one an act.
func why(t testing.TB, b *ktest.Box, flags []string, words ...string) ([]whySays, ktest.Result) {
	t.Helper()
	argv := append([]string{ktest.Binary(t), "why", "--json"}, flags...)
	r := b.Run(t, ktest.Cmd{Argv: append(argv, words...)})
	var out []whySays
	for dec := json.NewDecoder(strings.NewReader(r.Stdout)); dec.More(); {
		var w whySays
		if err := dec.Decode(&w); err != nil {
			t.Fatalf("%v: %v", err, r)
		}
		out = append(out, w)
	}
	return out, r
}

// anAct is one line for the tracee "many", and the words that `why` takes for it.
type anAct struct{ line, access, object string }

// randomActs makes acts that work without ptguard, each with files of its own, on names
// that are links at times.
func randomActs(t testing.TB, b *ktest.Box, r *rand.Rand, n int) []anAct {
	t.Helper()
	dirs := []string{"work/a", "work/a/b", "work/.c", "outside/a", "outside/b.x", "outside/b.x/deep", "home/.ssh", "home/d"}
	var out []anAct
	for i := range n {
		dir := dirs[r.IntN(len(dirs))]
		real := b.Write(t, fmt.Sprintf("%s/f%d", dir, i), "#!/bin/sh\n")
		if err := os.Chmod(real, 0o755); err != nil {
			t.Fatal(err)
		}
		name := real
		if r.IntN(3) == 0 { // by a link to its folder
			name = b.Path(fmt.Sprintf("work/link%d", i))
			if err := os.Symlink(b.Path(dir), name); err != nil {
				t.Fatal(err)
			}
			name += fmt.Sprintf("/f%d", i)
		}
		fresh := strings.TrimSuffix(name, fmt.Sprintf("/f%d", i)) + fmt.Sprintf("/new%d", i)
		op := []string{"read", "write", "read,write", "look", "attr", "remove", "create", "mkdir", "symlink", "exec", "rename", "link", "list", "udp", "write"}[r.IntN(15)]
		switch op {
		case "create", "mkdir", "symlink":
			out = append(out, anAct{op + " " + fresh, op, fresh})
		case "rename", "link":
			out = append(out, anAct{op + " " + name + " " + fresh, op, name + " " + fresh})
		case "list":
			dir := strings.TrimSuffix(name, fmt.Sprintf("/f%d", i))
			out = append(out, anAct{op + " " + dir, op, dir})
		case "udp":
			ip, port := fmt.Sprintf("127.0.0.%d", 1+r.IntN(3)), 1000+r.IntN(3)
			out = append(out, anAct{fmt.Sprintf("udp %s %d", ip, port), "connect", fmt.Sprintf("udp %s:%d", ip, port)})
		default:
			if op == "write" && i%2 == 0 {
				name = fresh // O_CREAT
			}
			out = append(out, anAct{op + " " + name, op, name})
		}
	}
	return out
}

func randomPolicy(b *ktest.Box, r *rand.Rand) []string {
	places := []string{"work/a", "work/a/b", "outside", "outside/a", "outside/b.x", "outside/b.x/deep", "home/.ssh", "home/d", "outside/**/f*", "outside/b.*", "work/a/*", "home/**"}
	some := []string{"--preset", []string{"permissive", "strict"}[r.IntN(2)]}
	for range 1 + r.IntN(6) {
		flag := []string{"--read", "--write", "--write", "--deny", "--hide", "--deny-exec"}[r.IntN(6)]
		place := b.Path(places[r.IntN(len(places))])
		if flag == "--hide" && r.IntN(2) == 0 {
			place = fmt.Sprintf("**/f*%d", r.IntN(10))
		}
		some = append(some, flag, place)
	}
	switch r.IntN(4) {
	case 0:
		some = append(some, "--connect", "127.0.0.1:*")
	case 1:
		some = append(some, "--deny-net", fmt.Sprintf("udp *:%d", 1000+r.IntN(3)))
	case 2:
		some = append(some, "--no-exec")
	}
	return some
}

// What `why` says and what a run does is the same, for any policy and act. Every act works
// without ptguard, so in a run "ok" means allowed, and anything else refused.
func TestWhyAgreesWithARun(t *testing.T) {
	many := ktest.Tracee(t, "many")
	r := rand.New(rand.NewPCG(20, 26))
	refused, allowed, replays := 0, 0, 0
	for round := range 6 {
		var acts []anAct
		seed := r.Uint64()
		b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { acts = randomActs(t, b, rand.New(rand.NewPCG(seed, 1)), 60) })
		var stdin strings.Builder
		for _, a := range acts {
			stdin.WriteString(a.line + "\n")
		}
		do := func(argv []string) []string {
			res := b.Run(t, ktest.Cmd{Argv: argv, Stdin: strings.NewReader(stdin.String())})
			out := strings.Fields(res.Stdout)
			if len(out) != len(acts) {
				t.Fatalf("%d answers for %d acts: %v", len(out), len(acts), res)
			}
			return out
		}
		for i, answer := range do([]string{many}) {
			if answer != "ok" {
				t.Fatalf("bare: %s: %s", acts[i].line, answer)
			}
		}
		b.Reset(t)
		flags := randomPolicy(b, r)
		// All acts of one kind are asked at once, before anything has happened.
		says := make([]string, len(acts))
		byAccess := map[string][]int{}
		for i, a := range acts {
			byAccess[a.access] = append(byAccess[a.access], i)
		}
		for access, list := range byAccess {
			if slices.Contains([]string{"rename", "link", "connect", "exec", "mkdir", "symlink"}, access) {
				for _, i := range list {
					w, res := why(t, b, flags, append([]string{access}, strings.Fields(acts[i].object)...)...)
					if len(w) != 1 || res.Status != map[bool]int{true: 0, false: 1}[w[0].Verdict == "allow"] {
						t.Fatalf("why %s %s: %v", access, acts[i].object, res)
					}
					says[i] = w[0].Verdict
				}
				continue
			}
			words := []string{access}
			for _, i := range list {
				words = append(words, acts[i].object)
			}
			w, res := why(t, b, flags, words...)
			if len(w) != len(list) {
				t.Fatalf("why %q: %v", words, res)
			}
			for at, i := range list {
				says[i] = w[at].Verdict
			}
		}
		for i, answer := range do(b.Guarded(t, append(flags, "-q"), many)) {
			if (answer == "ok") != (says[i] == "allow") {
				t.Errorf("round %d: %q\n%s: the run gives %s, why says %s", round, flags, acts[i].line, answer, says[i])
			}
			if answer == "ok" {
				allowed++
			} else {
				refused++
			}
		}
		// An audit under another policy, replayed under this one, tells the same.
		b.Reset(t)
		for i, answer := range do(b.Guarded(t, []string{"--audit", "-q", "--trace-level", "decisions"}, many)) {
			if answer != "ok" {
				t.Errorf("audit: %s: %s", acts[i].line, answer)
			}
		}
		for i, verdict := range replayed(t, b, flags, acts) {
			if verdict != "" {
				replays++
			}
			if verdict != "" && (verdict == "allow") != (says[i] == "allow") {
				t.Errorf("round %d: %q\n%s: why says %s, replay %s", round, flags, acts[i].line, says[i], verdict)
			}
		}
		if t.Failed() {
			return
		}
	}
	if refused < 60 || allowed < 60 || replays < 250 {
		t.Errorf("%d refused, %d allowed, %d replayed: the test sees too little", refused, allowed, replays)
	}
}

// replayed gives, for each act on names of its own, the verdict that `replay` gives for the
// box's trace under other flags: the recorded one, unless a change is printed.
func replayed(t testing.TB, b *ktest.Box, flags []string, acts []anAct) []string {
	t.Helper()
	r := b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "replay", "--json", b.Trace}, flags...)})
	if r.Status != 0 && r.Status != 1 {
		t.Fatalf("replay: %v", r)
	}
	changes := map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(r.Stdout)); dec.More(); {
		var c struct{ Now, Was, Access, Object, Program string }
		if err := dec.Decode(&c); err != nil {
			t.Fatal(err)
		}
		changes[c.Was+" "+c.Access+" "+c.Object] = c.Now
	}
	out := make([]string, len(acts))
	for _, rec := range b.Records(t) {
		base := rec.Resolved[strings.LastIndexByte(rec.Resolved, '/')+1:]
		number := strings.TrimPrefix(strings.TrimPrefix(base, "new"), "f")
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(acts) || base == number || acts[i].access == "list" || rec.Verdict == "" || !strings.Contains(acts[i].line, base) {
			continue
		}
		need := rec.Need
		if len(need) == 0 {
			need = rec.Access
		}
		verdict := rec.Verdict
		if now := changes[verdict+" "+strings.Join(need, ",")+" "+rec.Resolved]; now != "" {
			verdict = now
		}
		if out[i] == "" || verdict != "allow" {
			out[i] = verdict
		}
	}
	return out
}

// What `why` tells to change makes the act work; the chain names the rule with its line.
func TestWhyTellsWhatToChange(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "home/.ssh/id_rsa", "key")
		b.Write(t, "outside/f", "x")
		b.Write(t, "policy.yaml", "ptguard: 1\nfiles:\n  deny: [ { path: ./no, reason: \"not yours\" } ]\n")
	})
	policy := []string{"-p", b.Path("policy.yaml")}
	for _, c := range []struct {
		words      []string
		rule, line string
	}{
		{[]string{"read", b.Path("home/.ssh/id_rsa")}, "preset permissive: ~/.ssh", "- ~/.ssh"},
		{[]string{"write", b.Path("outside/f")}, "mode permissive", ""},
		{[]string{"connect", "10.1.2.3:443"}, "mode permissive", ""},
		{[]string{"bind", "0.0.0.0:8000"}, "mode permissive", ""},
		{[]string{"mkdir", b.Path("outside/d")}, "mode permissive", ""},
	} {
		w, r := why(t, b, policy, c.words...)
		if r.Status != 1 || len(w) != 1 || w[0].Verdict != "deny" || w[0].Objects[0].Rule != c.rule || w[0].Objects[0].Source != c.line {
			t.Errorf("%q: %v", c.words, r)
			continue
		}
		if o := w[0].Objects[0]; o.Fix == "" || o.YAML == "" || len(o.Chain) == 0 || !o.Chain[len(o.Chain)-1].Decides {
			t.Errorf("%q: %+v", c.words, o)
		}
		// As a flag, and as a line of a policy.
		fixed := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(w[0].Objects[0].Fix, "~", b.Home), "'", ""))
		if w, r := why(t, b, append(policy, fixed...), c.words...); r.Status != 0 || w[0].Verdict != "allow" {
			t.Errorf("%q with %q: %v", c.words, fixed, r)
		}
		b.Write(t, "fixed.yaml", "ptguard: 1\n"+w[0].Objects[0].YAML+"\n")
		if w, r := why(t, b, append(policy, "-p", b.Path("fixed.yaml")), c.words...); r.Status != 0 || w[0].Verdict != "allow" {
			t.Errorf("%q with %q: %v", c.words, w[0].Objects[0].YAML, r)
		}
	}
	// What is allowed is refused with the flag that it tells.
	for _, words := range [][]string{{"write", "new"}, {"exec", "git", "status"}, {"connect", "127.0.0.1:1"}, {"bind", "udp", "[::1]:1"}, {"look", "/etc"}} {
		r := b.Run(t, ktest.Cmd{Argv: append(append([]string{ktest.Binary(t), "why", "--json"}, policy...), words...)})
		var w struct {
			Objects []struct{ Verdict, Refuse string }
		}
		if err := json.Unmarshal([]byte(r.Stdout), &w); err != nil || w.Objects[0].Verdict != "allow" {
			t.Fatalf("%q: %v %v", words, err, r)
		}
		refuse := strings.Fields(strings.ReplaceAll(w.Objects[0].Refuse, "'", ""))
		if _, r := why(t, b, append(policy, refuse...), words...); r.Status != 1 {
			t.Errorf("%q with %q: %v", words, refuse, r)
		}
	}
	w, _ := why(t, b, policy, "write", "no/x")
	if o := w[0].Objects[0]; o.Rule != b.Path("policy.yaml")+":3:19" || !strings.Contains(o.Source, "path: ./no") || o.Fix != "" || !strings.Contains(o.Hint, "policy.yaml:3:19") {
		t.Errorf("a deny of a file: %+v", o)
	}
}

// A record of a trace is explained with the policy of its run, found in the trace itself.
func TestWhyOfATrace(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "policy.yaml", "ptguard: 1\nfiles:\n  hide: [ \"**/.env\" ]\n")
		b.Write(t, "work/.env", "x")
	})
	script := "cat .env; echo x > ../outside/new; mount -t tmpfs x ."
	r := b.Guard(t, []string{"-p", "../policy.yaml", "--deny", "x y"}, "sh", "-c", script)
	for _, want := range []struct {
		rule, verdict string
		asked         bool
	}{{"../policy.yaml:3:11", "hide", true}, {"mode permissive", "deny", true}, {"guard mounts", "deny", false}} {
		i := slices.IndexFunc(b.Denials(t), func(d record.Record) bool { return d.Rule == want.rule })
		if i < 0 {
			t.Fatalf("no denial by %s: %v", want.rule, r)
		}
		d := b.Denials(t)[i]
		res := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "why", "--json", fmt.Sprintf("%s:%d", b.Trace, d.Seq)}, Dir: b.Home})
		var w whySays
		if err := json.Unmarshal([]byte(res.Stdout), &w); err != nil || res.Status != 1 || w.Verdict != want.verdict || w.Record.Seq != d.Seq {
			t.Fatalf("%v %v", err, res)
		}
		if !want.asked {
			continue
		}
		if w.Note != "" || len(w.Objects) != 1 || w.Objects[0].Rule != want.rule || w.Objects[0].Verdict != want.verdict {
			t.Errorf("want %+v: %+v", want, w)
		}
	}
}

// The policy is made again from the trace whole: with its fence and who is asked, the temp
// folder that the run had for itself, and the scope that the record was decided in.
func TestWhyOfATraceWhole(t *testing.T) {
	scoped := "ptguard: 1\nfiles: { deny: [ ./no ] }\nscopes:\n  user:\n    files: { read: [ ./yes ] }\n"
	for name, c := range map[string]struct {
		flags  []string
		script string
		rule   string
	}{
		"ask":      {[]string{"--ask", "exec:/bin/false"}, "echo >../outside/g", "mode permissive"},
		"fence":    {[]string{"--fence", "."}, "cat ../outside/f", "flag --fence"},
		"hermetic": {[]string{"--preset", "hermetic"}, "cat ../outside/f", "mode strict"},
		"scope":    {[]string{"-p", "../scoped.yaml", "--scope", "user"}, "cat sub", "scope user"},
		"turned":   {[]string{"--scope", "user"}, "cat sub", "scope user"},
		"base":     {[]string{"-p", "../scoped.yaml"}, "cat no", "../scoped.yaml:2:18"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
				b.Write(t, "scoped.yaml", scoped)
				b.Write(t, "outside/f", "x")
				b.Write(t, "work/no", "x")
				b.Write(t, "work/yes", "x")
				b.Write(t, "work/sub", "x")
			})
			r := b.Guard(t, append(c.flags, "--trace-level", "decisions"), "/bin/sh", "-c", c.script+"; : > ${TMPDIR:-/tmp}/mine")
			seen := map[string]bool{}
			for _, d := range b.Records(t) {
				if d.Verdict == "" || d.Resolved == "" {
					continue
				}
				mine := strings.HasSuffix(d.Resolved, "/mine")
				if !mine && d.Verdict == "allow" {
					continue
				}
				res := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "why", "--json", fmt.Sprintf("%s:%d", b.Trace, d.Seq)}, Dir: b.Home})
				var w whySays
				if err := json.Unmarshal([]byte(res.Stdout), &w); err != nil || w.Note != "" || len(w.Objects) != 1 || w.Objects[0].Rule != d.Rule {
					t.Fatalf("record %+v: %v %v", d, err, res)
				}
				seen[w.Objects[0].Rule] = true
			}
			if !seen[c.rule] {
				t.Errorf("want a refusal by %s, saw %v: %v", c.rule, seen, r)
			}
		})
	}
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "scoped.yaml", scoped) })
	policy := []string{"--policy", b.Path("scoped.yaml")}
	for _, c := range []struct {
		scope, path string
		status      int
		rule        string
	}{{"none", "work/sub", 0, "builtin @work"}, {"user", "work/sub", 1, "scope user"}, {"user", "work/yes", 0, b.Path("scoped.yaml") + ":5:22"}} {
		w, r := why(t, b, append([]string{"--scope", c.scope}, policy...), "read", b.Path(c.path))
		if r.Status != c.status || w[0].Objects[0].Rule != c.rule {
			t.Errorf("%+v: %+v", c, w)
		}
	}
	if r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "why", "--scope", "usr", "read", "x"}}); r.Status != 125 || !strings.Contains(r.Stderr, "did you mean") {
		t.Errorf("%v", r)
	}
}

// What stands for repetitions is asked again as what it repeats: a rule went by its arguments.
func TestFoldedRecordIsAskedAgain(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "policy.yaml", "ptguard: 1\nexec: { deny: [ { program: echo, args: [ \"**\", push ] } ] }\n")
	})
	policy := []string{"-p", b.Path("policy.yaml")}
	again := []string{"sh", "-c", "for i in 1 2 3; do /usr/bin/env echo push; done"}
	if r := b.Bare(t, again...); r.Stdout != "push\npush\npush\n" {
		t.Fatalf("bare: %v", r)
	}
	if r := b.Guard(t, policy, again...); r.Stdout != "" {
		t.Fatalf("%v", r)
	}
	records := b.Records(t)
	at := slices.IndexFunc(records, func(r record.Record) bool { return r.Count > 0 })
	if at < 0 {
		t.Fatalf("nothing was folded: %+v", records)
	}
	replay := func(trace string) ktest.Result {
		return b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "replay", trace}, policy...)})
	}
	if r := replay(b.Trace); r.Status != 0 || r.Stdout != "" {
		t.Errorf("the same policy says otherwise: %v", r)
	}
	if w, r := why(t, b, nil, fmt.Sprintf("%s:%d", b.Trace, records[at].Seq)); len(w) != 1 || w[0].Note != "" || len(w[0].Objects) != 1 || w[0].Objects[0].Verdict != "deny" {
		t.Errorf("%v", r)
	}
	// Where that is not in the trace nothing is made up.
	text := b.Text(t, "trace.jsonl")
	lines := strings.SplitAfter(text, "\n")
	b.Write(t, "cut.jsonl", lines[0]+lines[at])
	if r := replay(b.Path("cut.jsonl")); r.Status != 0 || r.Stdout != "" || !strings.Contains(r.Stderr, "0 questions") || !strings.Contains(r.Stderr, "1 records repeat") {
		t.Errorf("%v", r)
	}
	if w, r := why(t, b, nil, fmt.Sprintf("%s:%d", b.Path("cut.jsonl"), records[at].Seq)); r.Status != 1 || len(w) != 1 || w[0].Verdict != "deny" || len(w[0].Objects) != 0 || !strings.Contains(w[0].Note, "repeats a record") {
		t.Errorf("%v", r)
	}
}

// The status is that of the policy that is asked, not of the one that the run had.
func TestWhyOfATraceUnderAnotherPolicy(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { t.Helper(); b.Write(t, "work/f", "x") })
	b.Guard(t, []string{"--deny", "f"}, "cat", "f")
	at := fmt.Sprintf("%s:%d", b.Trace, b.Denials(t)[0].Seq)
	if w, r := why(t, b, nil, at); r.Status != 1 || w[0].Verdict != "deny" {
		t.Errorf("%v", r)
	}
	if w, r := why(t, b, []string{"--preset", "permissive"}, at); r.Status != 0 || w[0].Verdict != "allow" || w[0].Record.Verdict != "deny" {
		t.Errorf("%v", r)
	}
}

// Names of files are not for the terminal to obey, wherever they stand in an answer.
func TestNamesAreNotObeyed(t *testing.T) {
	const esc = "\x1b[31m"
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "work/"+esc+"/p"+esc+".yaml", "ptguard: 1\nfiles: { deny: [ ./no ], read: [ /etc, /etc ] }\ntests: [ \"allow read no\" ]\n")
		b.Write(t, "work/"+esc+"/bad"+esc+".yaml", "ptguard: 1\nfile: {}\n")
		b.Write(t, "work/"+esc+"/seals/a.yaml", "ptguard-seals: 1\nowner: x\nseals: [ { path: "+b.Root+"/s, letters: R, reason: x } ]\n")
		b.Write(t, "work/"+esc+"/no", "")
	})
	here := b.Path("work/" + esc)
	ktest.Binary(t)
	run := func(words ...string) ktest.Result {
		return b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t)}, words...), Dir: here})
	}
	if r := run("run", "--trace", b.Trace, "-p", "p"+esc+".yaml", "cat", "no"); r.Status != 1 {
		t.Fatalf("%v", r)
	}
	for _, words := range [][]string{
		{"why", "-p", "p" + esc + ".yaml", "read", "no"},
		{"why", "write", "/etc/hosts"},
		{"why", b.Trace + ":2"},
		{"replay", b.Trace, "-p", "p" + esc + ".yaml", "--mode", "strict"},
		{"check", "p" + esc + ".yaml", "bad" + esc + ".yaml"},
		{"test", "p" + esc + ".yaml"},
		{"policy", "show", "./p" + esc + ".yaml"},
		{"run", "-p", "bad" + esc + ".yaml", "true"},
		{"run", "--seals", esc, "true"},
		{"seals", "list", "--seals", here + "/seals"},
		{"seals", "check", "p" + esc + ".yaml", "no" + esc},
		{"seals", "explain", "no" + esc},
	} {
		r := run(words...)
		if all := r.Stdout + r.Stderr; strings.Contains(all, "\x1b") || !strings.Contains(all, `\x1b[31m`) && words[0] != "replay" {
			t.Errorf("%q: %v", words, r)
		}
	}
}

// The kernel's own answer of today is the kernel's: a socket that is not there is not there.
func TestWhyOfSockets(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { t.Helper(); b.Write(t, "outside/file", "") })
	for _, name := range []string{"outside/absent", "outside/none/absent", "outside/file", "outside"} {
		r := b.Bare(t, "python3", "-c", "import errno,socket,sys\ntry: socket.socket(socket.AF_UNIX).connect(sys.argv[1])\nexcept OSError as e: print(errno.errorcode[e.errno], end='')", b.Path(name))
		if w, res := why(t, b, nil, "connect", "unix", b.Path(name)); r.Stdout == "" || len(w) != 1 || w[0].Errno != r.Stdout || w[0].Verdict != "deny" {
			t.Errorf("%s: the kernel says %s, why %v", name, r.Stdout, res)
		}
	}
}

func TestWhyBadInput(t *testing.T) {
	b := ktest.NewBox(t, nil)
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"raed", "x"}, "did you mean read?"},
		{[]string{"read"}, "read what?"},
		{[]string{"connect", "example.org:443"}, "by address, not by name"},
		{[]string{"exec", "no-such-program"}, "not found"},
		{[]string{"rename", "x"}, "two names"},
		{[]string{"read", "x", "--json"}, "flags go before"},
		{[]string{"read", "x", "-p", "y"}, "flags go before"},
		{[]string{"read", "x", "--preset=strict"}, "flags go before"},
		{[]string{"/nowhere.jsonl:7"}, "/nowhere.jsonl"},
		{[]string{"127.0.0.1:80"}, "why connect 127.0.0.1:80"},
		{[]string{"--deny", "$HOME", "read", "x"}, "$"},
	} {
		r := b.Run(t, ktest.Cmd{Argv: append([]string{ktest.Binary(t), "why"}, c.words...)})
		if want := 125; r.Status != want && !(r.Status == 127 && c.words[0] == "exec") || !strings.Contains(r.Stderr, c.want) || r.Stdout != "" {
			t.Errorf("%q: %v", c.words, r)
		}
	}
}
