// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ptguard/decode"
)

func fenced(dir string) FlagValues { return FlagValues{Fence: &dir} }

// TestFence is the two lines of seed-behaviours.md 2.7: what a program of the agent names
// meets the fence and the lists only; what a sanctioned program opens by itself keeps the
// built-in roots.
func TestFence(t *testing.T) {
	flags := fenced("src")
	flags.Write, flags.Read = []string{"/srv/out"}, []string{"/opt/data"}
	p := compile(t, nil, "", flags)
	if p.Mode() != ModeStrict || p.Asking() != (Asking{On: true, Fenced: true, Fence: "/home/me/p/src", Via: "tty", Timeout: time.Minute}) {
		t.Errorf("mode %s, %+v", p.Mode(), p.Asking())
	}
	verdicts(t, p, `
		read src/x.go => allow fence
		write src/x.go => allow fence
		create src/new => allow fence
		read,exec src/tool => allow
		write /srv/out/x => allow flag --write
		read /srv/out/x => allow flag --write
		read /opt/data/x => allow flag --read
		write /opt/data/x => ask flag --fence
		read a/secret => ask flag --fence
		write a/new => ask
		create /tmp/x => ask flag --fence
		list /tmp => ask flag --fence
		read /usr/lib64/libc.so.6 => allow @runtime
		look /home/me => allow fence
		read /etc/hosts => allow @runtime
		exec /usr/bin/git => allow
		write /etc/hosts => ask flag --fence
		read ~/.ssh/id_rsa => deny preset
		connect tcp 10.1.2.3:80 => ask flag --fence
		connect 127.0.0.1:80 => allow
		connect unix @app => ask
		connect unix /run/app.sock => ask
		connect unix /run/docker.sock => deny preset
	`)
	for line, want := range map[string]Verdict{
		"create /tmp/x": Allow, "write a/new": Allow, "read a/secret": Allow, "list /tmp": Allow,
		"read src/x.go": Allow, "write /opt/data/x": Ask, "read ~/.npm/x": Ask, "read ~/.ssh/id_rsa": Deny,
	} {
		r := act(t, line)
		r.Scope = ScopeAPI
		if d := p.Decide(r); d.Verdict != want {
			t.Errorf("in scope api: %s: %s by %s, want %s", line, d.Verdict, d.Rule.Pos, want)
		}
	}
	r := act(t, "read a/secret")
	r.Silent = true
	if d := p.Decide(r); d.Verdict != Deny || d.Rule.Layer != LayerFence {
		t.Errorf("silent: %+v", d)
	}
	e := p.Explain(act(t, "write /etc/hosts"), p.Decide(act(t, "write /etc/hosts")))
	if e.Reason != "outside the fence /home/me/p/src" || !strings.Contains(e.Hint, "writable here: /srv/out, /home/me/p/src") || e.Layer != "fence" || e.Fix != "--write /etc/hosts" {
		t.Errorf("%+v", e)
	}
}

// TestFenceWithoutFolder: every path asks, the current directory too.
func TestFenceWithoutFolder(t *testing.T) {
	p := compile(t, nil, "", fenced(""))
	verdicts(t, p, `
		read src/x.go => ask flag --fence
		create x => ask flag --fence
		look . => ask
		create /tmp/x => ask
		read /usr/lib64/libc.so.6 => allow
		exec /usr/bin/dash => allow
	`)
}

// TestFenceOfAPolicy: the last that is stated holds, and a fence is strict.
func TestFenceOfAPolicy(t *testing.T) {
	policy := "mode: permissive\nask: { fence: ., via: \"unix:/run/asker\", timeout: 5s }\n"
	p := compile(t, nil, policy, FlagValues{})
	if got, want := p.Asking(), (Asking{On: true, Fenced: true, Fence: "/home/me/p", Via: "unix:/run/asker", Timeout: 5 * time.Second}); got != want || p.Mode() != ModeStrict {
		t.Errorf("%s %+v, want %+v", p.Mode(), got, want)
	}
	flags := fenced("src")
	flags.Ask = "exec:/usr/bin/git --x"
	p = compile(t, nil, policy, flags)
	if got := p.Asking(); got.Fence != "/home/me/p/src" || got.Via != flags.Ask || got.Timeout != 5*time.Second {
		t.Errorf("%+v", got)
	}
	a, b := compile(t, nil, policy, FlagValues{}), compile(t, nil, policy, flags)
	if a.Digest() == b.Digest() {
		t.Error("two fences have one digest")
	}
}

// TestAskWithoutFence: where nothing has decided, the mode's refusal is a question; every
// other refusal stays one.
func TestAskWithoutFence(t *testing.T) {
	verdicts(t, compile(t, nil, "", FlagValues{Ask: "tty", Deny: []string{"/srv/out"}}), `
		read /opt/data/x => allow mode permissive
		write /etc/hosts => ask mode permissive
		write /srv/out/x => deny flag --deny
		read ~/.aws/credentials => deny preset
		connect tcp 10.1.2.3:80 => ask mode permissive
		bind tcp 0.0.0.0:80 => ask mode permissive
	`)
	verdicts(t, compile(t, []string{"strict"}, "", FlagValues{Ask: "tty", AllowExec: []string{"/usr/bin/git"}}), `
		exec /usr/bin/ls => deny flag --allow-exec
		read /opt/data/x => ask mode strict
	`)
	verdicts(t, compile(t, []string{"strict"}, "", FlagValues{Ask: "tty"}), `
		exec /opt/data/x => ask mode strict
	`)
	verdicts(t, compile(t, []string{"strict"}, "unlisted: hide", FlagValues{Ask: "tty"}), `
		read /opt/data/x => ask mode strict
	`)
}

// TestQuestion: what is asked, what the answers give, and which are too broad to keep.
func TestQuestion(t *testing.T) {
	p := compile(t, nil, "", fenced("src"))
	for _, c := range []struct {
		act, question, kept string
		broad               bool
	}{
		{"read /opt/data/x", "read /opt/data/x", "read /opt/data", false},
		{"list /opt/data", "read /opt/data", "read /opt/data", false},
		{"look /opt/data", "read /opt/data", "read /opt/data", false},
		{"write /opt/data/x", "write /opt/data/x", "write /opt/data", false},
		{"mkdir /opt/data/new", "write /opt/data/new", "write /opt/data", false},
		{"exec /opt/data/x", "execute /opt/data/x", "exec /opt/data", false},
		{"read ~/notes", "read /home/me/notes", "read /home/me", true},
		{"read /home/you", "read /home/you", "read /home", true},
		{"write /etc/hosts", "write /etc/hosts", "write /etc", true},
		{"create /x", "write /x", "write /", true},
		{"create /tmp/x", "write /tmp/x", "write /tmp", true},
		{"connect tcp 10.1.2.3:80", "connect to tcp 10.1.2.3:80", "connect tcp 10.1.2.3:80", false},
		{"connect tcp [2001:db8::1]:80", "connect to tcp [2001:db8::1]:80", "connect tcp [2001:db8::1]:80", false},
		{"connect unix @app", "connect to unix @app", "connect unix @app", false},
		{"connect unix /run/app.sock", "connect to /run/app.sock", "connect /run/app.sock", false},
	} {
		r := act(t, c.act)
		d := p.Decide(r)
		if d.Verdict != Ask {
			t.Errorf("%s: %s by %s", c.act, d.Verdict, d.Rule.Pos)
			continue
		}
		q := p.Question(r, d)
		if got := q.Verb + " " + q.Object; got != c.question || q.Kept.String() != c.kept || q.Broad != c.broad {
			t.Errorf("%s: %s; kept %s, broad %v", c.act, got, q.Kept.String(), q.Broad)
		}
		// Each answer allows the very request that was asked about.
		for _, g := range []Grant{q.Once, q.Kept} {
			r := act(t, c.act)
			r.Grants = &Answers{}
			r.Grants.Add(g)
			if d := p.Decide(r); d.Verdict != Allow || d.Rule.Layer != LayerGrant {
				t.Errorf("%s: after %s: %s by %s", c.act, g.String(), d.Verdict, d.Rule.Pos)
			}
		}
	}
}

// TestGrants: what a grant covers and what it never does.
func TestGrants(t *testing.T) {
	p := compile(t, nil, "", fenced("src"))
	for _, c := range []struct{ grant, lines string }{
		{"run read /opt/data", `
			read /opt/data/x => allow grant run
			list /opt/data => allow grant run
			look /opt => allow grant run
			list /opt => ask
			write /opt/data/x => ask
			exec /opt/data/x => ask
			read /opt/database => ask
		`},
		{"run write /opt/data", `
			read /opt/data/x => allow grant run
			write /opt/data/x => allow grant run
			mkdir /opt/data => allow grant run
			symlink /opt/data/l => allow grant run
			exec /opt/data/x => ask
			look,write /opt => ask
		`},
		{"run write /srv/gone", `
			mkdir /srv/gone => allow grant run
			symlink /srv/gone => ask
			rename-target /srv/gone => ask
			create /srv/gone/x => allow grant run
		`},
		{"once write /opt/data/x", `
			write /opt/data/x => allow grant once
			write /opt/data/y => ask
		`},
		{"always exec /opt/data", `
			exec /opt/data/x => allow grant always
			write /opt/data/x => ask
		`},
		{"run write /", `
			write /etc/hosts => allow grant run
			read ~/.ssh/id_rsa => deny preset
			write ~/.bashrc => deny preset
		`},
		{"run connect /run/app.sock", `
			connect unix /run/app.sock => allow grant run
			read /run/app.sock => ask
		`},
	} {
		words := strings.Fields(c.grant)
		g := &Answers{}
		g.Add(Grant{Kind: GrantKind(words[0]), Access: GrantAccess(words[1]), Path: words[2]})
		for line := range strings.SplitSeq(strings.TrimSpace(c.lines), "\n") {
			text, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
			verdict, rule, _ := strings.Cut(want, " ")
			r := act(t, text)
			r.Grants = g
			if d := p.Decide(r); d.Verdict.String() != verdict || !strings.Contains(d.Rule.Pos, rule) {
				t.Errorf("with %s: %s: %s by %s, want %s", c.grant, text, d.Verdict, d.Rule.Pos, want)
			}
		}
	}
}

// TestGrantsAreNarrow: another object in the place of the one that was asked about, another
// port, a device.
func TestGrantsAreNarrow(t *testing.T) {
	p := compile(t, nil, "", fenced("src"))
	ask := func(r *Request) Question { return p.Question(r, p.Decide(r)) }
	r := act(t, "read /opt/data/x")
	once := &Answers{}
	once.Add(ask(r).Once)
	r.Once = once
	if d := p.Decide(r); d.Verdict != Allow {
		t.Errorf("the same: %s", d.Verdict)
	}
	r.File.Inode.Ino++
	if d := p.Decide(r); d.Verdict != Ask {
		t.Errorf("another inode: %s", d.Verdict)
	}
	r = act(t, "connect tcp 10.1.2.3:80")
	once = &Answers{}
	once.Add(ask(r).Once)
	for line, want := range map[string]Verdict{"connect tcp 10.1.2.3:80": Allow, "connect tcp 10.1.2.3:81": Ask, "connect udp 10.1.2.3:80": Ask, "connect tcp 10.1.2.4:80": Ask, "bind tcp 10.1.2.3:80": Ask} {
		r := act(t, line)
		r.Once = once
		if d := p.Decide(r); d.Verdict != want {
			t.Errorf("%s: %s, want %s", line, d.Verdict, want)
		}
	}
	disk := &Request{Access: decode.Read, File: File{Path: "/dev/sdz", Exists: true, Mode: typeBlock | 0o660, Rdev: 8 << 8}, Grants: &Answers{}}
	disk.Grants.Add(Grant{Kind: GrantRun, Access: decode.Write, Path: "/dev"})
	if d := p.Decide(disk); d.Verdict != Deny {
		t.Errorf("a device: %s", d.Verdict)
	}
	if got := fmt.Sprint(GrantAccess("read"), GrantAccess("connect"), GrantAccess("all")); got != fmt.Sprint(decode.Read, decode.Connect, decode.Access(0)) {
		t.Error(got)
	}
}
