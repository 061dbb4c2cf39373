// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"reflect"
	"strings"
	"testing"

	"ptguard/decode"
	"ptguard/seals"
)

// scopesOf compiles a policy with scopes on the machine of the tests.
func scopesOf(t *testing.T, text, start string) (*Policy, *Scopes) {
	t.Helper()
	s, err := Read("policy.yaml", []byte("ptguard: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	base, scopes, err := CompileScopes([]*Source{preset("permissive"), s}, machine(), start)
	if err != nil {
		t.Fatal(err)
	}
	return base, scopes
}

func TestScopes(t *testing.T) {
	base, scopes := scopesOf(t, `
files: { read: [ /opt/data ], deny: [ ./a ] }
scopes:
  api:   { enter: [ /usr/bin/git ], files: { write: [ /srv/out ] } }
  user:  { files: { read: [ ./src ] } }
  quiet: { files: { deny: [ /opt/data ] } }
`, "")
	user, api, quiet := scopes.Named("user").Policy, scopes.Named("api").Policy, scopes.Named("quiet").Policy
	narrow := base.Narrow(quiet)
	both := api.Narrow(user)
	for _, c := range []struct {
		path   string
		access decode.Access
		allow  map[*Policy]bool
	}{
		{"/etc/hosts", decode.Read, map[*Policy]bool{base: true, api: true, user: true, quiet: true, narrow: true, both: true}}, // @runtime
		{"/home/me/p/src/x.go", decode.Read, map[*Policy]bool{base: true, api: true, user: true, quiet: true, narrow: true, both: true}},
		{"/home/me/p/src/x.go", decode.Write, map[*Policy]bool{base: true, api: true, quiet: true, narrow: true}},
		{"/home/me/p/script", decode.Read, map[*Policy]bool{base: true, api: true, quiet: true, narrow: true}},
		{"/opt/data/x", decode.Read, map[*Policy]bool{base: true, api: true}},
		{"/srv/out", decode.Write, map[*Policy]bool{api: true}},
		{"/home/me/p/a/secret", decode.Read, map[*Policy]bool{}}, // a deny holds everywhere
		{"/tmp/x", decode.Create, map[*Policy]bool{base: true, api: true, quiet: true, narrow: true}},
	} {
		for name, p := range map[string]*Policy{"none": base, "api": api, "user": user, "quiet": quiet, "none, then quiet": narrow, "api, then user": both} {
			r := &Request{Access: c.access, File: world.file(c.path)}
			d := p.Decide(r)
			if d.Refused() == c.allow[p] {
				t.Errorf("%s: %s %s: %s by %s", name, c.access, c.path, d.Verdict, d.Rule.Pos)
			}
			if e := p.Explain(r, d); e.Reason == "" {
				t.Errorf("%s: no reason: %+v", name, e)
			}
		}
	}
	exec := func(p *Policy, path string, program bool) bool {
		return !p.Decide(&Request{Access: decode.Exec, Program: program, File: world.file(path)}).Refused()
	}
	if exec(user, "/usr/bin/ls", true) || !exec(user, "/usr/bin/git", true) || !exec(user, "/usr/bin/vim.basic", false) {
		t.Error("scope user executes the programs of other scopes, and what follows from them, only")
	}
	if scopes.Entering("/usr/bin/git").Name != "api" || scopes.Entering("/usr/bin/ls") != nil {
		t.Error("git alone leads into api")
	}
}

func TestScopeMistakes(t *testing.T) {
	for _, text := range []string{
		"scopes: { api: { enter: [ ./script ] } }",
		"files: { write: [ /usr/bin ] }\nscopes: { api: { enter: [ /usr/bin/git ] } }",
		"scopes: { api: { enter: [ /usr/bin/git ] }, build: { files: { write: [ /usr/bin ] } } }",
		"mode: open\nscopes: { api: { enter: [ /usr/bin/git ] } }",
		"scopes: { user: { mode: permissive } }",
	} {
		s, err := Read("policy.yaml", []byte("ptguard: 1\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := CompileScopes([]*Source{preset("permissive"), s}, machine(), ""); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	if _, _, err := CompileScopes([]*Source{preset("permissive")}, machine(), "usr"); err == nil {
		t.Error("an unknown scope to start in is taken")
	}
	// A seal makes a place unwritable, whatever the rules say.
	f, err := seals.Read("s.yaml", []byte("ptguard-seals: 1\nowner: x\nseals: [ { path: /usr/bin, letters: WM, reason: r }, { path: /usr, letters: M, reason: r } ]\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := machine()
	m.Seals = seals.Bind([]*seals.File{f}, seals.Machine{})
	s, err := Read("policy.yaml", []byte("ptguard: 1\nfiles: { write: [ /usr/bin ] }\nscopes: { api: { enter: [ /usr/bin/git ] } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := CompileScopes([]*Source{preset("permissive"), s}, m, ""); err != nil {
		t.Error(err)
	}
}

// Which letters an act raises, in which order (docs/manual.md, Seals).
func TestLettersOfActs(t *testing.T) {
	for _, c := range []struct {
		access decode.Access
		act    Act
		want   string
	}{
		{decode.Read, ActOther, "R"},
		{decode.Write, ActOther, "W"},
		{decode.Read | decode.Write, ActOther, "RW"},
		{decode.Write | decode.Create, ActOther, "W"},
		{decode.List, ActOther, "R"},
		{decode.Exec, ActOther, "R"},
		{decode.Map, ActOther, "R"},
		{decode.Attr, ActOther, "W"},
		{decode.Remove, decode.ActRmdir, "W"},
		{decode.Create, ActMkdir, "W"},
		{decode.Remove, ActRenameSource, "M"},
		{decode.Create | decode.Remove, ActRenameTarget, "W"},
		{decode.Create | decode.Remove, ActExchange, "MW"},
		{decode.Read | decode.Write | decode.Attr, ActLinkSource, "CRW"},
		{decode.Create, ActLinkTarget, "W"},
		{decode.Copy, ActOther, "C"},
		{decode.Connect, ActOther, "W"},
		{decode.Bind, ActOther, "W"},
		{decode.Look, ActOther, ""},
	} {
		got := ""
		for _, l := range letters(&Request{Access: c.access, Act: c.act}) {
			got += l.String()
		}
		if got != c.want {
			t.Errorf("%s act %d: %q, want %q", c.access, c.act, got, c.want)
		}
	}
}

// TestScopesNeeds: what one policy of the run can refuse must stop; only what is the same in
// all of them (Families) may be left to the first.
func TestScopesNeeds(t *testing.T) {
	var all Needs
	flags := reflect.ValueOf(&all).Elem()
	for i := range flags.NumField() {
		if f := flags.Field(i); f.Kind() == reflect.Bool {
			f.SetBool(true)
			if got := (Needs{}).or(all); !reflect.ValueOf(got).Field(i).Bool() {
				t.Errorf("%s of a scope is forgotten", flags.Type().Field(i).Name)
			}
		}
	}
	base, scopes := scopesOf(t, "scopes: { quiet: { mode: strict, files: { deny: [ { path: /opt/data, access: [read] } ] } } }", "")
	if n := base.Needs(); n.Strict || n.Moves {
		t.Errorf("base: %+v", n)
	}
	if n := scopes.Needs(base.Needs()); !n.Strict || !n.Moves {
		t.Errorf("with scopes: %+v", n)
	}
}

// TestScopesTell: what is to be said of a rule is said of one in a scope's section, too, once.
func TestScopesTell(t *testing.T) {
	base, scopes := scopesOf(t, "files: { read: [ /a, /a ] }\nscopes: { quiet: { files: { read: [ /b, /b, ~/.aws ] } } }", "")
	if w := scopes.Warnings(base); len(base.Warnings()) != 1 || len(w) != 3 || w[2].Pos != "policy.yaml:3:41" {
		t.Errorf("%+v", w)
	}
	if l := scopes.Lifted(base); len(base.Lifted()) != 0 || len(l) == 0 || !strings.Contains(l[0], "~/.aws") {
		t.Errorf("%q", l)
	}
}

// TestOpenDrops: a setting that mode open leaves without effect is told.
func TestOpenDrops(t *testing.T) {
	base, _ := scopesOf(t, "mode: open\nhardened: true\nnet: { families: [unix] }\nfiles: { masks: { dotfiles: true } }\n", "")
	if w := base.Warnings(); len(w) != 3 || !strings.Contains(w[0].Msg, "hardened has no effect") {
		t.Errorf("%+v", w)
	}
}
