// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"testing"
	"time"

	"ptguard/decode"
)

// ask decides one access on an object of a fresh tree.
func ask(p *Policy, t tree, access decode.Access, given string, made bool) Verdict {
	f := t.file(given)
	f.Made = made
	return p.Decide(&Request{Access: access, File: f}).Verdict
}

// TestMaskVerdicts: where the mask holds, what it answers, and what ends it.
func TestMaskVerdicts(t *testing.T) {
	work := machine().Work
	home := machine().PasswdHome
	files := tree{
		"/": "dir", work: "dir", work + "/.env": "file", work + "/a": "dir", work + "/a/.b": "dir", work + "/a/.b/c": "file",
		work + "/.venv": "dir", work + "/.venv/x": "file", work + "/plain": "file",
		home: "dir", home + "/.app": "dir", home + "/.app/f": "file", home + "/.app/.inner": "file", home + "/.other": "file", "/tmp": "dir", "/tmp/.x": "file",
		"/usr/lib/.build-id": "dir", "/usr/lib/.build-id/f": "file",
	}
	const masks = "files: { masks: { dotfiles: true, except: [.venv] }, read: [ ~/.app ] }\n"
	p := compile(t, nil, masks, FlagValues{})
	for _, c := range []struct {
		path   string
		access decode.Access
		made   bool
		want   Verdict
	}{
		{work + "/plain", decode.Read, false, Allow},
		{work + "/.env", decode.Read, false, Deny},
		{work + "/.env", decode.Write, false, Deny},
		{work + "/.env", decode.Remove, false, Deny},
		{work + "/.env", decode.Look, false, Allow},
		{work + "/.env", decode.Read, true, Allow},
		{work + "/a/.b", decode.List, false, Allow},
		{work + "/a/.b/c", decode.Read, false, Deny},
		{work + "/a/.b/new", decode.Create, false, Deny},
		{work + "/.new", decode.Create | decode.Write, false, Allow},
		{work + "/.venv/x", decode.Read, false, Allow},
		{home + "/.app/f", decode.Read, false, Allow},
		{home + "/.app/.inner", decode.Read, false, Hide},
		{home + "/.app/.inner", decode.Look, false, Hide},
		{home + "/.other", decode.Look, false, Hide},
		{"/tmp/.x", decode.Read, false, Allow},
		{"/usr/lib/.build-id/f", decode.Read, false, Allow},
	} {
		if got := ask(p, files, c.access, c.path, c.made); got != c.want {
			t.Errorf("%s %s made=%t: %v, want %v", c.access, c.path, c.made, got, c.want)
		}
	}
	// A name that was not there is told as such, for it may come to be there before the act.
	r := Request{Access: decode.Create | decode.Read, File: files.file(work + "/.new")}
	if d := p.Decide(&r); !d.Fresh {
		t.Error("a masked name that is not there: the decision does not say that it rests on that")
	}
	named := compile(t, nil, masks, FlagValues{Read: []string{work + "/.env"}, Write: []string{"**/.b/**"}})
	for path, want := range map[string]Verdict{work + "/.env": Allow, work + "/a/.b/c": Allow} {
		if got := ask(named, files, decode.Read, path, false); got != want {
			t.Errorf("named %s: %v, want %v", path, got, want)
		}
	}
}

// TestHermeticVerdicts: what is not granted is not there; what is, is refused where it may
// not be changed.
func TestHermeticVerdicts(t *testing.T) {
	m := machine()
	m.Tmp = []string{"/tmp/own"}
	files := tree{"/": "dir", m.Work: "dir", m.Work + "/f": "file", "/tmp": "dir", "/tmp/own": "dir", "/tmp/other": "file", m.PasswdHome: "dir", m.PasswdHome + "/.ssh": "dir", m.PasswdHome + "/.ssh/id": "file", "/dev": "dir", "/dev/shm": "dir", "/dev/shm/x": "file"}
	p, err := tryCompile([]string{"hermetic"}, "", FlagValues{}, m)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		access decode.Access
		made   bool
		want   Verdict
	}{
		{m.Work + "/f", decode.Read, false, Allow},
		{m.Work + "/f", decode.Write, false, Deny},
		{m.Work + "/new", decode.Create, false, Deny},
		{"/tmp/own/x", decode.Create | decode.Write, false, Allow},
		{"/tmp", decode.List, false, Allow},
		{"/tmp/other", decode.Look, false, Hide},
		{m.PasswdHome + "/.ssh/id", decode.Read, false, Hide},
		{m.PasswdHome + "/.ssh/id", decode.Look, false, Hide},
		{"/etc/shadow", decode.Look, false, Hide},
		{"/dev/shm/x", decode.Look, false, Hide},
		{"/dev/shm/x", decode.Read | decode.Write, true, Allow},
		{"/dev/shm/y", decode.Create | decode.Write, false, Allow},
	} {
		if got := ask(p, files, c.access, c.path, c.made); got != c.want {
			t.Errorf("%s %s made=%t: %v, want %v", c.access, c.path, c.made, got, c.want)
		}
	}
	if n := p.Needs(); !n.Hardened || !n.Looks || !n.Lists || len(n.Families) != 3 {
		t.Errorf("needs: %+v", n)
	}
}

// TestToolPresets: each may write its tool's own folders, and nobody else's.
func TestToolPresets(t *testing.T) {
	home := machine().PasswdHome
	for preset, c := range map[string]struct{ write, refuse []string }{
		"npm":   {[]string{".npm/_cacache/x", ".cache/node-gyp/x"}, []string{".npmrc", ".cargo/registry/x", "go/pkg/x", ".bashrc"}},
		"pip":   {[]string{".cache/pip/x", ".cache/uv/x"}, []string{".pypirc", ".npm/x", ".local/bin/x"}},
		"cargo": {[]string{".cargo/registry/x", ".cargo/.package-cache"}, []string{".cargo/credentials.toml", ".cargo/config.toml", ".cargo/bin/x", ".npm/x"}},
		"go":    {[]string{"go/pkg/mod/x", ".cache/go-build/x"}, []string{"go/bin/x", ".config/go/env", ".npm/x"}},
		"ci":    {[]string{".npm/x", ".cache/anything", "go/pkg/x", ".cargo/registry/x"}, []string{".ssh/config", ".gitconfig", ".profile"}},
		"agent": {[]string{".npm/x", ".cache/pip/x"}, []string{".claude/settings.json", ".ssh/config", "Documents/x"}},
	} {
		p := compile(t, []string{preset}, "", FlagValues{})
		for _, name := range c.write {
			if got := ask(p, world, decode.Create|decode.Write, home+"/"+name, false); got != Allow {
				t.Errorf("%s: %s: %v", preset, name, got)
			}
		}
		for _, name := range c.refuse {
			if got := ask(p, world, decode.Create|decode.Write, home+"/"+name, false); got == Allow {
				t.Errorf("%s: %s may be written", preset, name)
			}
		}
	}
}

// TestLimitTexts: sizes and times as people write them; what is none is an error.
func TestLimitTexts(t *testing.T) {
	p := compile(t, nil, "limits: { processes: 5, memory: 4GiB, cpu: 1h30m, wall: 90s, open-files: 64, file-size: 10KiB, core: 0 }\n", FlagValues{})
	zero := int64(0)
	got := p.Limits()
	if got.Core == nil || *got.Core != zero {
		t.Fatalf("core: %v", got.Core)
	}
	got.Core = nil
	if want := (Limits{Processes: 5, Memory: 4 << 30, CPU: 90 * time.Minute, Wall: 90 * time.Second, OpenFiles: 64, FileSize: 10 << 10}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, text := range []string{"processes: 0", "processes: -1", "memory: 4GB", "memory: 0", "memory: 99999999TiB", "cpu: 10", "wall: -1s", "core: -1", "memory: 1.5GiB", "wall: 0s"} {
		_, err := Read("p.yaml", []byte("ptguard: 1\nlimits: { "+text+" }\n"))
		if _, ok := errors.AsType[*PosError](err); !ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRenameOnTheWayToAGlob: a folder that a denied pattern leads through keeps its name, as
// one does above a denied path; others may be moved.
func TestRenameOnTheWayToAGlob(t *testing.T) {
	files := tree{"/": "dir", "/home/me/p": "dir", "/home/me/p/a": "dir", "/home/me/p/a/keys": "dir", "/home/me/p/a/keys/x": "file", "/home/me/p/a/other": "dir", "/home/me/p/a/keys/deep": "dir"}
	p := compile(t, nil, "files: { deny: [ \"./*/keys/**\", \"**/.env\" ] }\n", FlagValues{})
	for path, want := range map[string]Verdict{
		"/home/me/p/a": Deny, "/home/me/p/a/keys": Deny, "/home/me/p/a/keys/deep": Deny, "/home/me/p/a/other": Allow,
	} {
		r := Request{Access: decode.Remove, Act: ActRenameSource, File: files.file(path)}
		if got := p.Decide(&r).Verdict; got != want {
			t.Errorf("rename %s: %v, want %v", path, got, want)
		}
	}
}
