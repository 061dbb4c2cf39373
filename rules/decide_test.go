// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"ptguard/decode"
)

// verdicts runs lines "act => verdict"; after the verdict may stand a part of the rule.
func verdicts(t *testing.T, p *Policy, lines string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		text, want, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			t.Fatalf("bad line %q", line)
		}
		verdict, rule, _ := strings.Cut(want, " ")
		r := act(t, text)
		d := p.Decide(r)
		if d.Rule == nil {
			t.Errorf("%s: no rule", text)
			continue
		}
		if d.Verdict.String() != verdict || !strings.Contains(d.Rule.Pos, rule) {
			t.Errorf("%s: %s by %q, want %s", text, d.Verdict, d.Rule.Pos, want)
		}
		if d.Refused() != (d.Errno != 0) {
			t.Errorf("%s: %s with errno %d", text, d.Verdict, d.Errno)
		}
	}
}

// The table of decisions, as far as a request can express it.
func TestDefaultPreset(t *testing.T) {
	p := compile(t, nil, "", FlagValues{})
	verdicts(t, p, `
		exec /bin/ls => allow
		create .git/HEAD => allow @work
		look,write /tmp/x => allow @tmp
		connect unix /run/nscd/socket => allow @names
		connect unix /var/run/nscd/socket => allow @names
		connect unix /dev/log => allow /dev/log
		look ~/.ssh => allow mode
		read ~/.ssh/id_rsa => deny preset permissive: ~/.ssh
		list ~/.ssh => deny preset permissive: ~/.ssh
		exec ~/.ssh/id_rsa => deny preset permissive: ~/.ssh
		write /etc/hosts => deny mode permissive
		read /etc/hosts => allow
		link-source ~/.bashrc => deny preset permissive: ~/.bashrc
		read ~/.bashrc => allow mode permissive
		read ~/.cargo/credentials.toml => deny ~/.cargo/credentials*
		write .git/hooks/pre-commit => deny .git/hooks/**
		rename-source .git/hooks => deny .git/hooks/**
		rename-source .git => deny .git/hooks/**
		create .git/index.lock => allow @work
		connect unix /var/run/docker.sock => deny docker
		connect unix /run/user/1000/bus => deny bus
		connect unix /tmp/ssh-x/agent.1 => deny @ssh-agent
		connect unix /tmp/tmux-1000/default => deny tmux
		connect unix @/tmp/.X11-unix/X0 => deny X11
		connect unix @foreign => deny mode permissive
		bind unix @mine => allow abstract
		bind unix /tmp/s => allow @tmp
		connect unix sock => allow @work
		connect unix /run/app.sock => deny mode permissive
		connect 127.0.0.1:5432 => allow
		connect 127.9.9.9:1 => allow
		connect [::1]:5432 => allow
		connect [::ffff:127.0.0.1]:5432 => allow
		connect 0.0.0.0:5432 => allow
		connect [::]:5432 => allow
		connect 10.0.0.1:443 => deny
		connect udp 10.0.0.53:53 => deny
		bind 127.0.0.1:0 => allow
		bind 0.0.0.0:8000 => deny
		bind [::]:8000 => deny
	`)
	// A hard link of a file that a rule names is held by its inode.
	p = compile(t, nil, "", FlagValues{Deny: []string{"~/.ssh/id_rsa"}})
	verdicts(t, p, `
		read hard => deny --deny
		link-source hard => deny --deny
		read src/x.go => allow
	`)
}

func TestTheTreesOwn(t *testing.T) {
	p := compile(t, nil, "", FlagValues{})
	agent := act(t, "connect unix /tmp/ssh-x/agent.1")
	agent.File.Made = true
	own := act(t, "connect unix @own")
	own.Addr.Tree = true
	pipe := &Request{Access: decode.Write, File: File{Nameless: true, Exists: true, Mode: typeFIFO | 0o600}}
	stderr := &Request{Access: decode.Write, File: File{Path: "/var/log/run.log", Exists: true, Mode: typeRegular, Held: decode.Write}}
	more := &Request{Access: decode.Read | decode.Write, File: File{Path: "/var/log/run.log", Exists: true, Mode: typeRegular, Held: decode.Read}}
	hook := act(t, "create sub/.git/hooks/x")
	memfd := &Request{Access: decode.Exec, Program: true, File: File{Nameless: true, Memfd: true, Exists: true, Mode: typeRegular | 0o777}}
	for name, c := range map[string]struct {
		r    *Request
		want Verdict
	}{
		"own agent": {agent, Allow}, "own abstract": {own, Allow}, "pipe": {pipe, Allow}, "stderr": {stderr, Allow},
		"more than held": {more, Deny}, "hook elsewhere": {hook, Allow}, "exec of memfd": {memfd, Deny},
		"autobind": {&Request{Access: decode.Bind, Addr: Addr{Family: syscall.AF_UNIX, Autobind: true}}, Allow},
		"unspec":   {&Request{Access: decode.Connect, Addr: Addr{Family: syscall.AF_UNSPEC}}, Allow},
		"netlink":  {&Request{Access: decode.Bind, Addr: Addr{Family: syscall.AF_NETLINK}}, Allow},
		"vsock":    {&Request{Access: decode.Connect, Addr: Addr{Family: 40}}, Deny},
		"no ip":    {&Request{Access: decode.Connect, Addr: Addr{Family: syscall.AF_INET}}, Deny},
		"nothing":  {&Request{}, Deny},
	} {
		if d := p.Decide(c.r); d.Verdict != c.want {
			t.Errorf("%s: %s by %s, want %s", name, d.Verdict, d.Rule.Pos, c.want)
		}
	}
}

func TestLift(t *testing.T) {
	p := compile(t, nil, "", FlagValues{Read: []string{"~/.aws"}, Write: []string{"~/.bashrc"}, Connect: []string{"unix /run/user/1000/bus", "unix @/tmp/.X11-unix/X0"}})
	verdicts(t, p, `
		read ~/.aws/credentials => allow --read
		write ~/.aws/credentials => deny ~/.aws
		write ~/.bashrc => allow --write
		read ~/.ssh/id_rsa => deny ~/.ssh
		connect unix /run/user/1000/bus => allow --connect
		connect unix @/tmp/.X11-unix/X0 => allow --connect
		connect unix @/tmp/.X11-unix/X1 => deny X11
	`)
	if l := strings.Join(p.Lifted(), "\n"); !strings.Contains(l, "~/.aws") || strings.Contains(l, "~/.ssh") {
		t.Errorf("lifted: %s", l)
	}
	// Never an ancestor, @work, @tmp, or a glob that starts with **/.
	p = compile(t, nil, "files: { read: [ ~, '**/.ssh/**' ], write: ['@work', '@tmp'] }", FlagValues{Write: []string{"~"}})
	verdicts(t, p, `
		read ~/.ssh/id_rsa => deny ~/.ssh
		write .git/hooks/x => deny hooks
		connect unix /tmp/tmux-1/x => deny tmux
	`)
	if l := p.Lifted(); len(l) != 0 {
		t.Errorf("lifted: %q", l)
	}
	// A path beneath the root lifts for itself only.
	p = compile(t, nil, "files: { read: [ '~/.aws/config' ], write: ['@work/.git/hooks'] }", FlagValues{})
	verdicts(t, p, `
		read ~/.aws/config => allow policy.yaml:2:18
		read ~/.aws/credentials => deny ~/.aws
		write .git/hooks/x => allow
		rename-source .git => allow
	`)
}

func TestLayersAndOrder(t *testing.T) {
	p := compile(t, nil, `
files:
  write: [ /srv/w, { file: /var/log/build.log }, /srv/new/deep/dir, "/var/cache/*.db" ]
  deny:  [ ./a/secret, /srv/w/no, { path: /opt/data, access: [read], reason: "not for builds", hint: "ask" }, "./conf/*.key" ]
  hide:  [ "**/.env", ./hidden ]
`, FlagValues{Write: []string{"/srv/w/no/inner"}})
	verdicts(t, p, `
		write /srv/w => allow policy.yaml:4:12
		create /srv/w/x/y => allow
		create /srv/workspace => deny mode
		write /srv/w/no/inner => deny policy.yaml
		read a/secret => deny policy.yaml
		look a/secret => allow
		read a/secretive => allow
		read a/secret/beneath => deny
		rename-source a => deny policy.yaml
		exchange a => deny policy.yaml
		rename-source src => allow
		rename-source src/x.go => allow
		rename-source conf => deny policy.yaml
		write /var/log/build.log => allow
		create /var/log/build.log => allow
		write /var/log/build.log/x => deny
		create /var/log/build.log.1 => deny
		read /opt/data/x => deny policy.yaml
		write /var/cache/a.db => allow
		write /var/cache/.b.db => allow
		write /var/cache/sub/a.db => deny
		read sub/.env => hide
		look .env => hide
		read .env/in => hide
		look hidden/x => hide
		create .env => hide
		read .envrc => allow
		mkdir /srv/new => allow
		mkdir /srv/new/deep => allow
		mkdir /srv/new/other => deny
		create /srv/new => deny
		rename-target /srv/w => deny
		symlink /srv/w => deny
		link-target /srv/w => deny
		mkdir /srv/w => allow
		remove /srv/w => allow
		rename-target /srv/w/x => allow
		rename-target src => allow
	`)
	if d := p.Decide(act(t, "create .env")); d.Errno != syscall.EPERM {
		t.Errorf("making a hidden name: errno %d, want EPERM", d.Errno)
	}
	if d := p.Decide(act(t, "read .env")); d.Errno != syscall.ENOENT {
		t.Errorf("reading a hidden name: errno %d, want ENOENT", d.Errno)
	}
	// `..` out of a hidden directory.
	r := act(t, "read src/x.go")
	r.File.Spellings = []string{"/home/me/p/hidden/../src/x.go"}
	if d := p.Decide(r); d.Verdict != Hide {
		t.Errorf("through a hidden directory: %s", d.Verdict)
	}
	r.File.Spellings = []string{"/home/me/p/a/../src/x.go"}
	if d := p.Decide(r); d.Verdict != Allow {
		t.Errorf("through an open directory: %s by %s", d.Verdict, d.Rule.Pos)
	}
}

// What may not be read is not renamed: it could be read under the new name. Removing it
// gives nobody anything.
func TestRenameOfUnreadable(t *testing.T) {
	p := compile(t, nil, `
files:
  deny: [ { path: [ ./a, "**/*.key" ], access: [read] }, { path: ./src, access: [attr] } ]
`, FlagValues{})
	verdicts(t, p, `
		read a/secret => deny policy.yaml
		rename-source a/secret => deny policy.yaml
		exchange a/secret => deny policy.yaml
		rename-source src/x.key => deny policy.yaml
		remove a/secret => allow
		write a/secret => allow
		rename-source src/x.go => allow
	`)
}

// A rule on a link holds for the link, its target and the object.
func TestLinks(t *testing.T) {
	p := compile(t, nil, "", FlagValues{Deny: []string{"/bin/sh", "link", "/var/run/app.sock"}})
	verdicts(t, p, `
		exec /bin/sh => deny --deny
		exec /usr/bin/dash => deny --deny
		read /usr/bin/dash => deny --deny
		exec /usr/bin/git => allow
		connect unix /run/app.sock => deny --deny
	`)
	// An allow holds for the target only.
	p = compile(t, nil, "", FlagValues{Write: []string{"/var/run/x"}})
	verdicts(t, p, `
		write /run/x => allow
		write /var/run/x => allow
	`)
	r := act(t, "write /run/x")
	r.File.Path, r.File.Spellings = "/elsewhere/x", []string{"/run/x", "/var/run/x"}
	if d := p.Decide(r); d.Verdict != Deny {
		t.Error("a re-pointed link widens the policy")
	}
	_, err := tryCompile(nil, "files: { write: [ ./out ] }", FlagValues{}, machine())
	if err == nil || !strings.Contains(err.Error(), "leads outside") {
		t.Errorf("a write rule that leads out of @work: %v", err)
	}
}

func TestExec(t *testing.T) {
	p := compile(t, nil, `
exec:
  deny: [ { program: git, args: [push, "**"] }, { program: vi }, /opt/bad/** ]
`, FlagValues{DenyExec: []string{"curl", "./script"}})
	verdicts(t, p, `
		exec /usr/bin/git push => deny policy.yaml
		exec /usr/bin/git push origin main => deny policy.yaml
		exec /usr/bin/git pull => allow
		exec /usr/bin/git -C d push => allow
		exec /usr/bin/vi => deny policy.yaml
		exec /usr/bin/vim.basic => allow
		exec /opt/bad/x => deny policy.yaml
		exec /opt/badly => allow
		exec /home/me/bin/curl => deny --deny-exec
		exec script => deny --deny-exec
		map script => deny --deny-exec
		map /usr/lib64/libc.so.6 => allow
		map /usr/lib64/ld-linux-x86-64.so.2 => allow
		map /usr/bin/git => allow
		exec /lib64/ld-linux-x86-64.so.2 /home/me/p/script => allow
	`)
	p = compile(t, nil, "exec: { allow: [ /usr/bin/ls, { program: /usr/bin/git, args: [status] }, ./scripts/*, memfd ], deny: [ ./scripts/no ] }", FlagValues{})
	verdicts(t, p, `
		exec /bin/ls => allow policy.yaml
		exec /usr/bin/dash => allow command
		exec /usr/bin/git status => allow policy.yaml
		exec /usr/bin/git push => deny policy.yaml
		exec scripts/yes => allow
		exec scripts/no => deny policy.yaml
		exec scripts/sub/x => deny
		exec /usr/bin/vim.basic => deny policy.yaml:2:18
		map /usr/bin/vim.basic => deny policy.yaml
		map /usr/bin/ls => allow
		interpret /usr/lib64/ld-linux-x86-64.so.2 => allow
		interpret /usr/bin/vim.basic => deny
		exec script => deny
	`)
	memfd := &Request{Access: decode.Exec, Program: true, File: File{Nameless: true, Memfd: true, Exists: true}}
	if d := p.Decide(memfd); d.Verdict != Allow {
		t.Error("exec.allow: [memfd] does not allow memfd")
	}
	p = compile(t, []string{"strict"}, "", FlagValues{})
	verdicts(t, p, `
		exec /usr/bin/ls => allow
		exec script => allow @work
		exec /tmp/x => allow @tmp
		exec /opt/tool => deny mode strict
		exec /usr/bin/dash => allow
	`)
	p = compile(t, nil, "", FlagValues{NoExec: true})
	verdicts(t, p, `exec /usr/bin/ls => deny --no-exec`)
	r := act(t, "exec /usr/bin/dash")
	r.First = true
	if d := p.Decide(r); d.Verdict != Allow {
		t.Error("--no-exec refuses the command itself")
	}
}

func TestStrict(t *testing.T) {
	p := compile(t, []string{"strict"}, "files: { read: [ /opt/data ] }", FlagValues{})
	verdicts(t, p, `
		read /opt/data/x => allow policy.yaml
		write /opt/data/x => deny
		read /opt/database => deny mode strict
		read ~/notes => deny mode strict
		look /opt => allow
		look ~/notes => deny
		read src/x.go => allow @work
		create /tmp/x => allow @tmp
		read /usr/lib64/libc.so.6 => allow @runtime
		read /etc/hosts => allow @runtime
		read /etc/ld.so.cache => allow @runtime
		read /etc/shadow => deny
		write /etc/hosts => deny
		connect 127.0.0.1:80 => deny
		bind 127.0.0.1:80 => allow
		connect unix /run/nscd/socket => deny
	`)
	own := act(t, "connect 127.0.0.1:80")
	own.Addr.Tree = true
	if d := p.Decide(own); d.Verdict != Allow {
		t.Error("@tree does not cover what the tree bound")
	}
	hidden := compile(t, []string{"strict"}, "unlisted: hide", FlagValues{})
	verdicts(t, hidden, `
		read ~/notes => hide mode strict
		read src/x.go => allow
	`)
}

func TestOpen(t *testing.T) {
	p := compile(t, []string{"open"}, "", FlagValues{})
	verdicts(t, p, `
		write /etc/hosts => allow mode open
		read ~/.ssh/id_rsa => allow mode open
		connect 10.0.0.1:80 => allow
	`)
	for _, f := range []FlagValues{{Read: []string{"/x"}}, {Deny: []string{"/x"}}, {Connect: []string{"*:1"}}, {NoExec: true}, {DenyExec: []string{"git"}}} {
		if _, err := tryCompile([]string{"open"}, "", f, machine()); err == nil || !strings.Contains(err.Error(), "contradicts mode open") {
			t.Errorf("%+v with mode open: %v", f, err)
		}
	}
	// --mode open over the permissive preset is no contradiction: only rules of files and flags are.
	if _, err := tryCompile(nil, "", FlagValues{Mode: "open"}, machine()); err != nil {
		t.Error(err)
	}
}

func TestNet(t *testing.T) {
	p := compile(t, nil, "", FlagValues{Connect: []string{"127.0.0.1:8080"}, Bind: []string{"127.0.0.1:8000-8010"}})
	verdicts(t, p, `
		connect 127.0.0.1:8080 => allow --connect
		connect 0.0.0.0:8080 => allow --connect
		connect [::ffff:127.0.0.1]:8080 => allow --connect
		connect [::ffff:0.0.0.0]:8080 => allow --connect
		connect [::1]:8080 => deny
		connect [::]:8080 => deny
		connect 127.0.0.1:5432 => deny
		bind 127.0.0.1:8000 => allow --bind
		bind 127.0.0.1:8011 => deny
		bind 0.0.0.0:8000 => deny
		connect unix /run/nscd/socket => allow @names
	`)
	p = compile(t, nil, `net: { connect: ["@preset", "tcp 10.0.0.0/8:443", "[2001:db8::]/32:443", "@dns", "unix /run/app.sock", "unix @name"], bind: ["*:9000"], deny: ["127.0.0.1:5432"] }`, FlagValues{})
	verdicts(t, p, `
		connect 127.0.0.1:80 => allow preset
		connect 127.0.0.1:5432 => deny policy.yaml
		connect 0.0.0.0:5432 => deny policy.yaml
		connect [::ffff:127.0.0.1]:5432 => deny policy.yaml
		connect udp 127.0.0.1:5432 => deny policy.yaml
		connect tcp 10.1.2.3:443 => allow
		connect udp 10.1.2.3:443 => deny
		connect 10.1.2.3:443 => deny
		connect tcp 11.1.2.3:443 => deny
		connect [2001:db8:1::1]:443 => allow
		connect [2001:db9::1]:443 => deny
		connect udp 10.0.0.53:53 => allow
		connect unix /run/app.sock => allow
		connect unix @name => allow
		connect unix @names => deny
		bind 0.0.0.0:9000 => allow
		bind [::]:9000 => allow
		bind 127.0.0.1:80 => deny
	`)
}

func TestGuards(t *testing.T) {
	p := compile(t, []string{"open"}, "", FlagValues{}) // guards stand in every mode
	proc := func(a decode.Access, o Owner, path string) *Request {
		return &Request{Access: a, File: File{Path: path, Owner: o, Exists: true, Mode: typeRegular | 0o444}}
	}
	for _, c := range []struct {
		r    *Request
		want Verdict
	}{
		{proc(decode.Read, OwnerOutsider, "/proc/7/environ"), Deny},
		{proc(decode.Read, OwnerOutsider, "/proc/7/maps"), Deny},
		{proc(decode.Read, OwnerOutsider, "/proc/7/task/7/mem"), Deny},
		{proc(decode.List, OwnerOutsider, "/proc/7/fd"), Deny},
		{proc(decode.Read, OwnerOutsider, "/proc/7/stat"), Allow},
		{proc(decode.Read, OwnerOutsider, "/proc/7/task/8/status"), Allow},
		{proc(decode.List, OwnerOutsider, "/proc/7"), Allow},
		{proc(decode.Look, OwnerOutsider, "/proc/7/exe"), Allow},
		{proc(decode.Write, OwnerOutsider, "/proc/7/oom_score_adj"), Deny},
		{proc(decode.Read, OwnerOutsider, "/mnt/proc/7/environ"), Deny},
		{proc(decode.Read, OwnerGuard, "/proc/5/status"), Allow},
		{proc(decode.Read, OwnerGuard, "/proc/5/limits"), Deny},
		{proc(decode.Look, OwnerGuard, "/proc/5/exe"), Deny},
		{&Request{Access: decode.Read, File: File{Path: "/etc/hosts", Exists: true, Via: OwnerOutsider}}, Deny},
		{proc(decode.Write, OwnerNone, "/proc/sys/kernel/core_pattern"), Deny},
		{proc(decode.Read, OwnerNone, "/proc/sys/kernel/core_pattern"), Allow},
		{proc(decode.Write, OwnerNone, "/sys/fs/cgroup/x/cgroup.procs"), Deny},
		{proc(decode.Create, OwnerNone, "/sys/fs/cgroup/new"), Deny},
		{proc(decode.Write, OwnerNone, "/system"), Allow},
		{proc(decode.Read, OwnerNone, "/proc/kcore"), Deny},
		{proc(decode.Read, OwnerNone, "/proc/kmsg"), Deny},
		{&Request{Access: decode.Create, Act: ActMknod, NodeType: typeBlock, File: File{Path: "/tmp/b"}}, Deny},
		{&Request{Access: decode.Create, Act: ActMknod, NodeType: typeChar, File: File{Path: "/tmp/c"}}, Deny},
		{&Request{Access: decode.Create, Act: ActMknod, NodeType: typeFIFO, File: File{Path: "/tmp/f"}}, Allow},
		{&Request{Access: decode.Reach}, Deny},
	} {
		d := p.Decide(c.r)
		if d.Verdict != c.want {
			t.Errorf("%s %s (owner %d): %s by %s, want %s", c.r.Access, c.r.File.Path, c.r.File.Owner, d.Verdict, d.Rule.Pos, c.want)
		}
		if e := p.Explain(c.r, d); d.Refused() && (e.Layer != "guard" || e.Fix != "" || e.Reason == "") {
			t.Errorf("%s %s: explained as %+v", c.r.Access, c.r.File.Path, e)
		}
	}
	m := machine()
	m.Protected = []string{"/home/me/p/a/secret"}
	p, err := tryCompile(nil, "", FlagValues{Write: []string{"./a/secret"}}, m)
	if err != nil {
		t.Fatal(err)
	}
	verdicts(t, p, `
		write a/secret => deny own-files
		remove a/secret => deny own-files
		rename-source a => deny own-files
		read a/secret => allow
		write a/other => allow
	`)
}

func TestOwnProcAndDevices(t *testing.T) {
	p := compile(t, []string{"strict"}, "", FlagValues{})
	dev := func(a decode.Access, mode uint32, major, minor uint64, path string) *Request {
		return &Request{Access: a, File: File{Path: path, Exists: true, Mode: mode, Rdev: major<<8 | minor}}
	}
	own := func(a decode.Access, path string) *Request {
		return &Request{Access: a, File: File{Path: path, Owner: OwnerTree, Exists: true, Mode: typeRegular | 0o644}}
	}
	pts := dev(decode.Read|decode.Write, typeChar|0o620, 136, 3, "/dev/pts/3")
	ownPTS := dev(decode.Read|decode.Write, typeChar|0o620, 136, 4, "/dev/pts/4")
	ownPTS.File.OwnPTY = true
	rw := decode.Read | decode.Write
	for _, c := range []struct {
		r    *Request
		want Verdict
	}{
		{dev(rw, typeChar, 1, 3, "/dev/null"), Allow},
		{dev(rw, typeChar, 1, 3, "/srv/chroot/dev/null"), Allow},
		{dev(rw, typeChar, 1, 9, "/dev/urandom"), Allow},
		{dev(rw, typeChar, 5, 0, "/dev/tty"), Allow},
		{dev(rw, typeChar, 5, 1, "/dev/console"), Deny},
		{dev(rw, typeChar, 1, 1, "/dev/mem"), Deny},
		{dev(decode.Read, typeBlock, 1, 3, "/dev/ram3"), Deny},
		{dev(decode.Read, typeBlock, 8, 0, "/home/me/p/sda"), Deny}, // @work does not name it
		{dev(decode.Remove, typeChar, 1, 3, "/dev/null"), Deny},
		{pts, Deny},
		{ownPTS, Allow},
		{own(decode.Read, "/proc/9/maps"), Allow},
		{own(decode.Write, "/proc/9/comm"), Allow},
		{own(decode.Write, "/proc/9/task/10/comm"), Allow},
		{own(decode.Write, "/proc/9/oom_score_adj"), Allow},
		{own(decode.Write, "/proc/9/mem"), Deny},
		{own(decode.Write, "/proc/9/uid_map"), Deny},
	} {
		if d := p.Decide(c.r); d.Verdict != c.want {
			t.Errorf("%s %s: %s by %s, want %s", c.r.Access, c.r.File.Path, d.Verdict, d.Rule.Pos, c.want)
		}
	}
	p = compile(t, nil, "", FlagValues{Read: []string{"/dev/sda", "/"}})
	if d := p.Decide(dev(decode.Read, typeBlock, 8, 0, "/dev/sda")); d.Verdict != Allow {
		t.Error("a rule that names a device does not allow it")
	}
	if d := p.Decide(dev(decode.Read, typeBlock, 8, 16, "/dev/sdb")); d.Verdict != Deny {
		t.Error("--read / names every device")
	}
}

func TestExplain(t *testing.T) {
	p := compile(t, nil, "", FlagValues{Write: []string{"/srv/w", "/srv/w/out", "/home/me/p/gen"}})
	for _, c := range []struct{ act, reason, hint, fix string }{
		{"write /etc/hosts", "outside the writable roots", "writable here: /srv/w, /home/me/p, /tmp", "--write /etc/hosts"},
		{"mkdir ~/.npm/_cacache/tmp", "outside the writable roots", "writable here", "--write ~/.npm"},
		{"create ~/.cache/pip/x/y", "", "", "--write ~/.cache/pip"},
		{"read ~/.ssh/id_rsa", "private keys", "only a rule that names ~/.ssh", "--read ~/.ssh/id_rsa"},
		{"connect 10.0.0.1:443", "no net.connect rule", "connectable here: 127.0.0.0/8:*", "--connect @preset --connect 10.0.0.1:443"},
		{"connect udp 10.0.0.2:53", "no net.connect rule", "", "--connect @preset --connect 10.0.0.2:53"},
		{"connect udp 10.0.0.53:53", "no net.connect rule", "", "--connect @preset --connect @dns"},
		{"mkdir ~/.cache", "", "", "--write ~/.cache"},
		{"create ~/go/pkg/mod/cache/x", "", "", "--write ~/go/pkg"},
		{"create ~/notes/x", "", "", "--write ~/notes/x"},
		{"create ~/.local/share/uv/x", "", "", "--write ~/.local/share/uv"},
		{"rename-target /opt/a/b", "", "", "--write /opt/a"},
		{"symlink ~/.cache/x", "", "", "--write ~/.cache"},
		{"create /opt/lib/__pycache__/x.pyc.1234", "", "", "--write /opt/lib/__pycache__"},
		{"connect unix /run/docker.sock", "container engine", "", "--connect @preset --connect 'unix /run/docker.sock'"},
		{"connect unix @x", "abstract", "", "--connect @preset --connect 'unix @x'"},
		{"bind 0.0.0.0:8000", "every interface", "listen on 127.0.0.1 instead", "--bind @preset --bind '*:8000'"},
		{"write /etc/it's*", "", "", `--write '/etc/it'\''s\*'`},
		{"rename-target /srv/w", "may take the name of a writable root", "", ""},
	} {
		r := act(t, c.act)
		d := p.Decide(r)
		e := p.Explain(r, d)
		if !d.Refused() || !strings.Contains(e.Reason, c.reason) || !strings.Contains(e.Hint, c.hint) || c.fix != "" && e.Fix != c.fix {
			t.Errorf("%s: %s %+v", c.act, d.Verdict, e)
		}
		if strings.HasSuffix(e.Reason, ".") || strings.Contains(e.Reason, "\n") {
			t.Errorf("%s: reason %q", c.act, e.Reason)
		}
	}
	for _, text := range []string{"rename-target ~/x", "rename-target ~/.bashrc", "rename-target /srv/w"} {
		r := act(t, text)
		if e := p.Explain(r, p.Decide(r)); e.Fix != "" && e.Fix != "--write /srv" {
			t.Errorf("%s: %q does not help", text, e.Fix)
		}
	}
	p = compile(t, nil, "exec: { allow: [ /usr/bin/ls ] }", FlagValues{Deny: []string{"/opt"}})
	r := act(t, "exec /bin/git")
	if e := p.Explain(r, p.Decide(r)); e.Fix != "--allow-exec /usr/bin/git" {
		t.Errorf("exec: %+v", e)
	}
	r = act(t, "read /opt/data/x")
	if e := p.Explain(r, p.Decide(r)); e.Fix != "" || e.Rule != "flag --deny" || e.Layer != "flag" {
		t.Errorf("deny of a flag: %+v", e)
	}
}

// Where $HOME is not the password file's home, ~ would be read in two ways.
func TestFixWithTwoHomes(t *testing.T) {
	m := machine()
	m.EnvHome = "/tmp/box/home"
	m.Tmp = nil
	p, err := tryCompile(nil, "", FlagValues{}, m)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"create /tmp/box/home/.npm/x/y": "--write /tmp/box/home/.npm", "create ~/.npm/x": "--write /home/me/.npm"} {
		r := act(t, text)
		if e := p.Explain(r, p.Decide(r)); e.Fix != want {
			t.Errorf("%s: %q, want %q", text, e.Fix, want)
		}
	}
	// A deny holds for both.
	verdicts(t, p, `
		read /tmp/box/home/.ssh/x => deny ~/.ssh
		read ~/.ssh/x => deny ~/.ssh
	`)
}

// Every fix that Explain gives must work: with the flag added, the act is allowed.
func TestFixesWork(t *testing.T) {
	for _, text := range []string{
		"write /etc/hosts", "create ~/.npm/x/y", "mkdir ~/.npm/a", "read ~/.ssh/id_rsa", "write ~/.bashrc", "read ~/.cargo/credentials.toml",
		"connect 10.0.0.1:443", "connect tcp 10.0.0.1:443", "connect [2001:db8::1]:443", "bind 0.0.0.0:80", "bind [::]:80", "bind 10.0.0.1:80",
		"connect unix /run/docker.sock", "connect unix /run/app.sock", "connect unix @x*y", "connect unix /tmp/tmux-1/x", "write .git/hooks/x",
		"write /srv/a{b}$c", "rename-target /opt/a/b", "symlink /opt/a/b", "connect unix @/tmp/.X11-unix/X0",
	} {
		for _, preset := range []string{"permissive", "strict"} {
			p := compile(t, []string{preset}, "", FlagValues{})
			r := act(t, text)
			d := p.Decide(r)
			if !d.Refused() {
				t.Errorf("%s: allowed under %s", text, preset)
				continue
			}
			e := p.Explain(r, d)
			f := fixFlags(t, e.Fix)
			p = compile(t, []string{preset}, "", f)
			if d := p.Decide(r); d.Refused() {
				t.Errorf("%s under %s: with %s still %s by %s", text, preset, e.Fix, d.Verdict, d.Rule.Pos)
			}
		}
	}
}

// fixFlags reads what Explain tells people to paste.
func fixFlags(t *testing.T, fix string) (f FlagValues) {
	t.Helper()
	for option := range strings.SplitSeq(strings.TrimPrefix(fix, "--"), " --") {
		flag, value, _ := strings.Cut(option, " ")
		if strings.HasPrefix(value, "'") {
			value = strings.ReplaceAll(value[1:len(value)-1], `'\''`, "'")
		}
		switch flag {
		case "write":
			f.Write = append(f.Write, value)
		case "read":
			f.Read = append(f.Read, value)
		case "connect":
			f.Connect = append(f.Connect, value)
		case "bind":
			f.Bind = append(f.Bind, value)
		default:
			t.Fatalf("fix %q", fix)
		}
	}
	return f
}

// A tool that makes a shared folder wants one beneath it; its name tells which. With the
// fix, the folder above may be made too.
func TestFixByProgram(t *testing.T) {
	for _, c := range []struct{ comm, act, fix string }{
		{"go", "mkdir ~/.cache", "--write ~/.cache/go-build"},
		{"go", "mkdir ~/.config", "--write ~/.config/go"},
		{"go", "mkdir ~/go", "--write ~/go/pkg"},
		{"pip", "mkdir ~/.cache", "--write ~/.cache/pip"},
		{"sh", "mkdir ~/.cache", "--write ~/.cache"},
		{"sh", "mkdir ~/go", "--write ~/go"},
	} {
		p := compile(t, nil, "", FlagValues{})
		r := act(t, c.act)
		r.Comm = c.comm
		e := p.Explain(r, p.Decide(r))
		if e.Fix != c.fix {
			t.Errorf("%s: %s: %q, want %q", c.comm, c.act, e.Fix, c.fix)
			continue
		}
		p = compile(t, nil, "", fixFlags(t, e.Fix))
		if d := p.Decide(r); d.Refused() {
			t.Errorf("%s: %s: with %s still %s by %s", c.comm, c.act, e.Fix, d.Verdict, d.Rule.Pos)
		}
	}
}

// A rule of one's own replaces the preset's addresses: the fix keeps them, and does not
// bring back what was replaced.
func TestFixKeepsAddresses(t *testing.T) {
	remote, local := act(t, "connect 10.0.0.1:443"), act(t, "connect 127.0.0.1:80")
	p := compile(t, nil, "", FlagValues{})
	f := fixFlags(t, p.Explain(remote, p.Decide(remote)).Fix)
	p = compile(t, nil, "", f)
	if p.Decide(remote).Refused() || p.Decide(local).Refused() {
		t.Errorf("with %v: %s, %s", f.Connect, p.Decide(remote).Verdict, p.Decide(local).Verdict)
	}
	p = compile(t, nil, "", FlagValues{Connect: []string{"10.0.0.2:443"}})
	if e := p.Explain(local, p.Decide(local)); e.Fix != "--connect 127.0.0.1:80" {
		t.Errorf("%+v", e)
	}
}

func TestNonUTF8(t *testing.T) {
	p := compile(t, nil, `files: { deny: [ "/srv/?", "/srv/x[!a]" ] }`, FlagValues{Deny: []string{"/srv/b\xff"}})
	for path, want := range map[string]Verdict{"/srv/\xff": Deny, "/srv/\xc3\xa9": Deny, "/srv/\xff\xfe": Allow, "/srv/x\xff": Deny, "/srv/xa": Allow, "/srv/b\xff/y": Deny, "/srv/b\xfe": Allow} {
		r := &Request{Access: decode.Read, File: File{Path: path, Exists: true, Mode: typeRegular}}
		if d := p.Decide(r); d.Verdict != want {
			t.Errorf("%q: %s, want %s", path, d.Verdict, want)
		}
	}
}

func TestAllowDoesNotAllocate(t *testing.T) {
	p := compile(t, nil, `files: { deny: ["**/*.pem", "**/.env", "/srv/*/x/**/y"] }
exec: { deny: [ { program: git, args: ["push", "**"] } ] }`, FlagValues{Write: []string{"/srv/w"}})
	link := act(t, "read /bin/ls")
	for _, r := range []*Request{
		act(t, "read src/x.go"), act(t, "write src/deep/er/x"), act(t, "exec /usr/bin/git status now"), act(t, "write /srv/w/x"),
		act(t, "connect 127.0.0.1:80"), act(t, "connect unix /run/nscd/socket"), link, act(t, "map /usr/lib64/libc.so.6"),
	} {
		if d := p.Decide(r); d.Refused() {
			t.Errorf("%s %s: %s", r.Access, r.File.Path, d.Verdict)
		}
		if n := testing.AllocsPerRun(100, func() { p.Decide(r) }); n != 0 {
			t.Errorf("%s %s: %v allocations", r.Access, r.File.Path, n)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, rules := range []int{10, 10_000} {
		b.Run(fmt.Sprint(rules), func(b *testing.B) {
			var f FlagValues
			for i := range rules / 2 {
				f.Write = append(f.Write, fmt.Sprintf("/srv/%d/w", i))
				f.Deny = append(f.Deny, fmt.Sprintf("/srv/%d/w/no", i))
			}
			p := compile(b, nil, "", f)
			r := act(b, "write /srv/3/w/some/file.o")
			b.ReportAllocs()
			for b.Loop() {
				if d := p.Decide(r); d.Refused() {
					b.Fatal(d)
				}
			}
		})
	}
}

// What has a name that cannot be told is refused, but for what a descriptor holds and for
// looking where nothing is hidden; what has none at all is the tree's own.
func TestUnreachable(t *testing.T) {
	ask := func(p *Policy, access, held decode.Access, unreachable bool) Verdict {
		return p.Decide(&Request{Access: access, File: File{Nameless: true, Unreachable: unreachable, Exists: true, Mode: typeRegular | 0o644, Held: held}}).Verdict
	}
	permissive := compile(t, nil, "", FlagValues{})
	hides := compile(t, nil, "files: { hide: [ \"**/.env\" ] }", FlagValues{})
	open := compile(t, nil, "mode: open", FlagValues{})
	for _, p := range []*Policy{permissive, hides} {
		for _, access := range []decode.Access{decode.Read, decode.Write, decode.List, decode.Create, decode.Remove, decode.Attr, decode.Map, decode.Read | decode.Write} {
			if got := ask(p, access, 0, true); got != Deny {
				t.Errorf("%v: %v", access, got)
			}
			if got := ask(p, access, 0, false); got != Allow {
				t.Errorf("%v of a pipe: %v", access, got)
			}
			if got := ask(p, access, access, true); got != Allow {
				t.Errorf("%v, held: %v", access, got)
			}
			if got := ask(open, access, 0, true); got != Allow {
				t.Errorf("%v in mode open: %v", access, got)
			}
		}
	}
	if a, b := ask(permissive, decode.Look, 0, true), ask(hides, decode.Look, 0, true); a != Allow || b != Deny {
		t.Errorf("look: %v, and %v where something is hidden", a, b)
	}
}
