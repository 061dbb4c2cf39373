// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptguard/decode"
)

func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		flags  FlagValues
		want   string
		why    string
	}{
		"default":        {want: "/home/me/p tree|/tmp tree|/dev/shm tree"},
		"read is none":   {flags: FlagValues{Read: []string{"/opt/data"}}, want: "/home/me/p tree|/tmp tree|/dev/shm tree"},
		"folder":         {flags: FlagValues{Write: []string{"/opt/data"}}, want: "/opt/data tree|/home/me/p tree|/tmp tree|/dev/shm tree"},
		"through a link": {flags: FlagValues{Write: []string{"/var/run/nscd"}}, want: "/run/nscd tree|/home/me/p tree|/tmp tree|/dev/shm tree"},
		"absent":         {flags: FlagValues{Write: []string{"/opt/data/a/b"}}, want: "/opt/data tree for /opt/data/a/b|/home/me/p tree|/tmp tree|/dev/shm tree"},
		"one file":       {policy: "files: { write: [ { file: /opt/data/x } ] }", want: "/opt/data/x|/home/me/p tree|/tmp tree|/dev/shm tree"},
		"one absent":     {policy: "files: { write: [ { file: /opt/data/y } ] }", want: "/home/me/p tree|/tmp tree|/dev/shm tree"},
		"glob":           {policy: "files: { write: [ '/opt/data/*.log' ] }", want: "/opt/data tree|/home/me/p tree|/tmp tree|/dev/shm tree"},
		"bind":           {flags: FlagValues{Bind: []string{"unix /run/mine.sock"}}, want: "/home/me/p tree|/tmp tree|/dev/shm tree"},
		"connect":        {flags: FlagValues{Connect: []string{"unix /run/app.sock"}}, want: "/home/me/p tree|/tmp tree|/dev/shm tree"},
		"everywhere":     {flags: FlagValues{Write: []string{"/"}}, why: "a write rule covers /"},
		"absent at root": {flags: FlagValues{Write: []string{"/new/x"}}, want: "/home/me/p tree|/tmp tree|/dev/shm tree"},
		"absent at home": {flags: FlagValues{Write: []string{"~/.cache/go-build"}}, want: "/home/me/p tree|/tmp tree|/dev/shm tree"},
		"asking":         {flags: FlagValues{Ask: "tty"}, why: "answers may open more places while the program runs"},
		"open":           {policy: "extends: [open]", why: "mode open lets the tree change everything"},
	} {
		t.Run(name, func(t *testing.T) {
			presets := []string(nil)
			if strings.Contains(c.policy, "open") {
				presets, c.policy = []string{"open"}, ""
			}
			places, why := compile(t, presets, c.policy, c.flags).Places()
			var words []string
			for _, pl := range places {
				text := pl.Path
				if pl.Tree {
					text += " tree"
				}
				if pl.For != "" {
					text += " for " + pl.For
				}
				words = append(words, text)
			}
			if got := strings.Join(words, "|"); got != c.want || why != c.why {
				t.Errorf("got  %s, %q\nwant %s, %q", got, why, c.want, c.why)
			}
		})
	}
}

// TestPlacesCover: wherever Decide allows to change a name, one of the places covers it, but
// for the root of a rule itself and what Places states.
func TestPlacesCover(t *testing.T) {
	var names []string
	for name := range world {
		names = append(names, name, name+"/new", name+"/deep/new")
	}
	slices.Sort(names)
	policies := 0
	for _, write := range [][]string{nil, {"/opt/data"}, {"~/.cache/x"}, {"/run/nscd", "~"}, {"/opt/data/x"}, {"~/p/a"}, {"/etc"}, {"/var/run"}, {"~/.npm", "~/.cargo"}} {
		for _, text := range []string{"", "mode: strict", "files: { write: [ '~/.ssh/*', { file: /etc/hosts } ], deny: [ ./a ] }"} {
			policies++
			p := compile(t, nil, text, FlagValues{Write: write})
			places, why := p.Places()
			if why != "" {
				t.Fatalf("%v %s: %s", write, text, why)
			}
			cover := p.Cover()
			for _, name := range []string{"/usr/bin/x", "/proc/1/mem", "/optional", "/"} {
				if cover.Holds(name) {
					t.Errorf("write %v %s: no rule lets %s be changed, but it is covered", write, text, name)
				}
			}
			for _, name := range names {
				for _, verb := range []string{"write", "create", "remove"} {
					r := &Request{File: world.file(name)}
					a, err := decode.ParseAccess(verb)
					if err != nil {
						t.Fatal(err)
					}
					r.Access = a
					d := p.Decide(r)
					if !d.Refused() && !cover.Holds(r.File.Path) && !strings.HasPrefix(fmt.Sprint(d.Rule.Pos), "builtin own") {
						t.Errorf("write %v %s: %s %s is allowed by %s and not covered", write, text, verb, name, d.Rule.Pos)
					}
					root := slices.ContainsFunc(p.entries, func(e *entry) bool { return !e.role.denies() && e.root == r.File.Path })
					if d.Refused() || root && verb != "write" || strings.HasPrefix(fmt.Sprint(d.Rule.Pos), "builtin own") {
						continue
					}
					if !slices.ContainsFunc(places, func(pl Place) bool {
						return (pl.Path == r.File.Path || pl.Tree && contains(pl.Path, r.File.Path))
					}) && (r.File.Exists || verb != "write") {
						t.Errorf("write %v %s: %s %s is allowed by %s and in no place: %+v", write, text, verb, name, d.Rule.Pos, places)
					}
				}
			}
		}
	}
	if policies != 27 {
		t.Fatal(policies)
	}
}

// TestPlacesOfScopes: a scope may write where the others may not.
func TestPlacesOfScopes(t *testing.T) {
	s, err := Read("policy.yaml", []byte("ptguard: 1\nscopes: { user: { mode: strict }, api: { enter: [ /usr/bin/git ], files: { write: [ /opt/data ] } } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	base, scopes, err := CompileScopes([]*Source{preset("permissive"), s}, machine(), "")
	if err != nil {
		t.Fatal(err)
	}
	places, why := scopes.Places(base)
	if why != "" || !slices.Contains(places, Place{Path: "/opt/data", Tree: true}) || !slices.Contains(places, Place{Path: "/home/me/p", Tree: true}) {
		t.Errorf("%+v, %q", places, why)
	}
	if alone, _ := base.Places(); slices.Contains(alone, Place{Path: "/opt/data", Tree: true}) {
		t.Errorf("without the scope: %+v", alone)
	}
}
