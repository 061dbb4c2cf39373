// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptguard/decode"
)

// Each file of testdata/errors has one faulty line, and on it `# want LINE:COL TEXT`.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line, col, want := 0, 0, ""
		for i, l := range strings.Split(string(text), "\n") {
			if _, comment, ok := strings.Cut(l, "# want "); ok {
				place, msg, _ := strings.Cut(comment, " ")
				if _, err := fmt.Sscanf(place, "%d:%d", &line, &col); err != nil || line != i+1 {
					t.Fatalf("%s: bad want on line %d", file, i+1)
				}
				want = msg
			}
		}
		if line == 0 {
			t.Fatalf("%s: no want", file)
		}
		s, err := Read(file, text)
		if err == nil {
			var layers []*Source
			if layers, err = Layers(nil, []*Source{s}, nil, nil); err == nil {
				_, err = Compile(layers, machine())
			}
		}
		var pe *PosError
		if !errors.As(err, &pe) {
			t.Errorf("%s: %v, want an error at %d:%d", file, err, line, col)
			continue
		}
		got := pe.Error()
		if pe.File != file || pe.Line != line || pe.Col != col || !strings.Contains(got, want) {
			t.Errorf("%s: got\n%s\nwant %d:%d %s", file, got, line, col, want)
		}
		lines := strings.Split(got, "\n")
		if len(lines) != 3 || strings.Index(lines[2], "^")-strings.Index(lines[1], "| ")-2 != col-1 {
			t.Errorf("%s: the caret is not under column %d:\n%s", file, col, got)
		}
	}
}

func TestReadLimits(t *testing.T) {
	for name, text := range map[string]string{
		"too large":  "ptguard: 1\n" + strings.Repeat("#\n", MaxPolicySize),
		"empty":      "",
		"comment":    "# nothing\n",
		"control":    "ptguard: 1\nmode: strict\x00\n",
		"deep":       "ptguard: 1\nfiles: " + strings.Repeat("[", 100000),
		"deep map":   "ptguard: 1\nfiles: " + strings.Repeat("{a: ", 100000),
		"deep list":  "ptguard: 1\nfiles:\n  " + strings.Repeat("- ", 100000),
		"braces":     "ptguard: 1\nfiles: { read: [ \"/" + strings.Repeat("{a,b}", 40) + "\" ] }\n",
		"many keys":  "ptguard: 1\n" + distinctKeys(80_000, "k%d: 1\n"),
		"flow keys":  "ptguard: 1\nenv: { set: {" + distinctKeys(80_000, "k%d: \"1\",") + "}}\n",
		"nested":     "ptguard: 1\nenv:\n  set:\n" + distinctKeys(80_000, "    k%d: \"1\"\n"),
		"many paths": "ptguard: 1\nfiles: { read: [ " + strings.Repeat("\"/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\",", 18000) + "] }\n",
		"invalid":    "ptguard: 1\nfiles: { read: [ \"/\xff\" \n",
	} {
		if _, err := Read("p.yaml", []byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

func distinctKeys(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A policy of ten thousand rules with their reasons is read.
func TestReadManyRules(t *testing.T) {
	text := "ptguard: 1\nfiles:\n  deny:\n" + distinctKeys(10_000, "    - path: /srv/%d\n      access: [write]\n      reason: because\n")
	s, err := Read("p.yaml", []byte(text))
	if err != nil || len(s.specs) != 10_000 {
		t.Fatal(err)
	}
}

// The example of the manual without the keys that later versions enforce.
func TestExampleOfThePolicyPage(t *testing.T) {
	s, err := Read("policy.yaml", []byte(`ptguard: 1                       # format version
extends: [permissive]
mode: permissive
work: .
unlisted: deny
files:
  read:  [ /opt/data ]
  write: [ ~/.cache/go-build, { file: /var/log/build.log } ]
  deny:  [ { path: "~/.ssh", access: [read, write], reason: "keys are not for builds", hint: "use the deploy agent" } ]
  hide:  [ "**/.env" ]
exec:
  allow: [ /usr/bin/**, ./scripts/*, memfd ]
  deny:  [ { program: git, args: [push, "**"], reason: "pushes go through review" } ]
net:
  connect: [ "127.0.0.1:*", "tcp 10.0.0.0/8:443", "[2001:db8::]/32:443", "@dns", "unix /run/app.sock", "unix @name" ]
  bind:    [ "127.0.0.1:8000-8999" ]
  deny:    [ "unix /run/docker.sock" ]
env:   { pass: [PATH, HOME, "LC_*"], set: { CI: "1" }, drop: [LD_PRELOAD] }
`))
	if err != nil {
		t.Fatal(err)
	}
	sources, err := Layers(nil, []*Source{s}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(sources, machine())
	if err != nil {
		t.Fatal(err)
	}
	r := act(t, "read ~/.ssh/id_rsa")
	if e := p.Explain(r, p.Decide(r)); e.Rule != "policy.yaml:9:20" || e.Reason != "keys are not for builds" || e.Hint != "use the deploy agent" {
		t.Errorf("%+v", e)
	}
	n := p.Needs()
	if !n.Reads || !n.Exec || !n.ExecMap || !n.Argv {
		t.Errorf("needs %+v", n)
	}
	if w := p.WritableRoots(); strings.Join(w, " ") != "/home/me/.cache/go-build /var/log/build.log /home/me/p /tmp" {
		t.Errorf("writable roots %q", w)
	}
	env := p.Env([]string{"PATH=/bin", "LD_PRELOAD=x", "CI=0", "SECRET=1"})
	if strings.Join(env, " ") != "PATH=/bin SECRET=1 CI=1" {
		t.Errorf("env %q", env)
	}
	var pass bool
	for _, w := range p.Warnings() {
		pass = pass || strings.Contains(w.Msg, "env.pass")
	}
	if !pass {
		t.Errorf("no warning of env.pass in mode permissive: %q", p.Warnings())
	}
}

func TestEnvStrict(t *testing.T) {
	p := compile(t, []string{"strict"}, "env: { pass: [\"CARGO_*\"], set: { CI: \"1\" }, drop: [TZ] }", FlagValues{Env: []string{"A=b=c", "KEEP"}})
	got := p.Env([]string{"PATH=/bin", "LC_ALL=C", "LD_PRELOAD=x", "CARGO_HOME=/c", "TZ=UTC", "A=old", "KEEP=1", "AWS_SECRET_ACCESS_KEY=x"})
	if want := "PATH=/bin LC_ALL=C CARGO_HOME=/c KEEP=1 CI=1 A=b=c"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNeeds(t *testing.T) {
	open := compile(t, []string{"open"}, "", FlagValues{}).Needs()
	if open.Reads || open.Writes || open.Exec || open.ExecMap || open.Connect || !open.GuardReads {
		t.Errorf("open: %+v", open)
	}
	permissive := compile(t, nil, "", FlagValues{}).Needs()
	if !permissive.Reads || !permissive.Writes || permissive.ExecMap || permissive.Argv {
		t.Errorf("permissive: %+v", permissive)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ policy, want string }{
		{"files: { write: [ /srv/a/b ], deny: [ /srv/a ] }", "no act can reach this rule: files.deny /srv/a"},
		{"files: { write: [ /srv ], read: [ /opt, /opt ] }", "says the same"},
		{"files: { write: [ / ] }", "broad grant"},
		{"files: { write: [ ~ ] }", "broad grant"},
		{"files: { read: [ ~/.aws ] }", "usually holds credentials"},
		{"files: { read: [ { file: ./.env.local } ] }", "usually holds credentials"},
		{"mode: strict\nfiles: { read: [ /etc ] }", "broad grant"},
		{"exec: { allow: [ /usr/bin/git ], deny: [ { program: git } ] }", "exec.deny git"},
		{"net: { connect: [ \"10.1.0.0/16:443\" ], deny: [ \"10.0.0.0/8:*\" ] }", "net.deny 10.0.0.0/8:*"},
	} {
		p := compile(t, nil, c.policy, FlagValues{})
		found := false
		for _, w := range p.Warnings() {
			found = found || strings.Contains(w.Msg, c.want) && w.Pos != ""
		}
		if !found {
			t.Errorf("%s: %q", c.policy, p.Warnings())
		}
	}
	if w := compile(t, nil, "files: { read: [ ~/.aws/cli ], deny: [ ~/.aws/cli/x ], write: [ /srv/a ] }", FlagValues{}).Warnings(); len(w) != 0 {
		t.Errorf("warnings of a good policy: %q", w)
	}
}

// Without a home the presets' hundred rules for ~ are one warning, and one's own are each one.
func TestWarningsWithoutHome(t *testing.T) {
	m := machine()
	m.PasswdHome, m.EnvHome = "", ""
	p, err := tryCompile(nil, "files: { deny: [ ~/a, ~/b ] }", FlagValues{}, m)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range p.Warnings() {
		said = append(said, w.Pos+": "+w.Msg)
	}
	if len(said) != 3 || !strings.Contains(said[0], "~/a names no place") || !strings.Contains(said[1], "~/b names no place") || !strings.Contains(said[2], "no home folder is known") {
		t.Errorf("%q", said)
	}
}

func TestWorkAndTmp(t *testing.T) {
	for work, bad := range map[string]bool{"/": true, "/home/me": true, "/home": true, "/etc": true, "/usr": true, "/lib64": true, "/root": true, "/home/me/p": false, "/srv": false, "/libexec": true} {
		m := machine()
		m.Work = work
		_, err := tryCompile(nil, "", FlagValues{}, m)
		if (err != nil) != bad {
			t.Errorf("work %s: %v", work, err)
		}
		if bad && (err == nil || !strings.Contains(err.Error(), "--work DIR")) {
			t.Errorf("work %s: %v", work, err)
		}
		m.WorkExplicit = true
		p, err := tryCompile(nil, "", FlagValues{}, m)
		if err != nil || bad != (len(p.Warnings()) == 1) {
			t.Errorf("explicit work %s: %v", work, err)
		}
	}
	m := machine()
	m.Tmp = []string{"/tmp", "/", "/home", "/var", "/var/tmp"}
	p, err := tryCompile(nil, "", FlagValues{}, m)
	if err != nil || len(p.Warnings()) != 3 {
		t.Fatalf("%v %v", err, p)
	}
	verdicts(t, p, `
		write /tmp/x => allow
		write /var/tmp/x => allow
		write /var/x => deny
		write /x => deny
	`)
}

func TestLayers(t *testing.T) {
	texts := map[string]string{
		"conf/base.yaml": "ptguard: 1\nextends: [strict]\nfiles: { deny: [ /srv ] }\n",
		"conf/loop.yaml": "ptguard: 1\nextends: [./top.yaml]\n",
		"conf/top.yaml":  "ptguard: 1\nextends: [base.yaml]\nfiles: { read: [ /opt ] }\n",
	}
	read := func(path string) (*Source, error) {
		text, ok := texts[path]
		if !ok {
			return nil, fmt.Errorf("open %s: no such file", path)
		}
		return Read(path, []byte(text))
	}
	names := func(presets []string, file string) (string, error) {
		top, err := read(file)
		if err != nil {
			return "", err
		}
		sources, err := Layers(presets, []*Source{top}, nil, read)
		var out []string
		for _, s := range sources {
			out = append(out, s.Name())
		}
		return strings.Join(out, " "), err
	}
	if got, err := names(nil, "conf/top.yaml"); err != nil || got != "strict conf/base.yaml conf/top.yaml" {
		t.Errorf("%q %v", got, err)
	}
	if got, err := names([]string{"permissive"}, "conf/top.yaml"); err != nil || got != "permissive conf/base.yaml conf/top.yaml" {
		t.Errorf("--preset: %q %v", got, err)
	}
	texts["conf/base.yaml"] = "ptguard: 1\nextends: [loop.yaml]\n"
	if _, err := names(nil, "conf/top.yaml"); err == nil || !strings.Contains(err.Error(), "extends itself") {
		t.Errorf("loop: %v", err)
	}
	texts["conf/base.yaml"] = "ptguard: 1\nextends: [gone.yaml]\n"
	if _, err := names(nil, "conf/top.yaml"); err == nil || !strings.Contains(err.Error(), "conf/base.yaml:2:11") {
		t.Errorf("missing: %v", err)
	}
}

func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		s, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		n := len(s.specs)
		for _, list := range s.lists {
			n += len(list)
		}
		if got := n > 50; got != (name != "open") {
			t.Errorf("%s: %d rules", name, n)
		}
	}
	p := compile(t, nil, "", FlagValues{})
	if len(p.Lines()) < 100 || p.Digest() != compile(t, nil, "", FlagValues{}).Digest() || p.Digest() == compile(t, nil, "", FlagValues{Deny: []string{"/x"}}).Digest() {
		t.Error("lines or digest")
	}
	for _, l := range p.Lines() {
		if l.Origin == "" || l.Verb == "" || l.Text == "" {
			t.Errorf("line without origin: %+v", l)
		}
	}
}

func TestFlagErrors(t *testing.T) {
	for _, c := range []struct {
		f    FlagValues
		want string
	}{
		{FlagValues{Mode: "stric"}, `--mode: unknown mode "stric" (did you mean "strict"?)`},
		{FlagValues{Write: []string{"$HOME"}}, "--write: `$` in a path"},
		{FlagValues{Write: []string{""}}, "--write: an empty path"},
		{FlagValues{Connect: []string{"localhost:1"}}, "--connect: bad address"},
		{FlagValues{AllowExec: []string{"git"}}, "--allow-exec: \"git\" is a bare name"},
		{FlagValues{Env: []string{"=x"}}, "--env: "},
	} {
		if _, err := FromFlags(c.f); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.f, err)
		}
	}
	p := compile(t, nil, "", FlagValues{Write: []string{"../q", "rel"}, DenyExec: []string{"./script"}})
	verdicts(t, p, `
		write /home/me/q/x => allow --write
		write rel => allow --write
		exec script => deny --deny-exec
	`)
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	presets, err := filepath.Glob("presets/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, presets...) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	read := &Request{Access: decode.Read, File: File{Path: "/srv/x", Exists: true, Mode: typeRegular}}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Read("p.yaml", text)
		if err != nil {
			if _, ok := errors.AsType[*PosError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if bytes.ContainsRune([]byte(err.Error()), 0x1b) {
				t.Fatalf("an escape character reaches the terminal: %q", err)
			}
			return
		}
		p, err := Compile([]*Source{s}, machine())
		if err != nil {
			return
		}
		if d := p.Decide(read); d.Rule == nil || d.Refused() != (d.Errno != 0) {
			t.Fatalf("%+v", d)
		}
		p.Explain(read, p.Decide(read))
		_, _, _ = p.Digest(), p.Needs(), p.Warnings()
	})
}
