// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// scopeBox has programs that enter scope api in a folder beside the work folder, and a
// policy that says so. ROOT in it is the box's root.
func scopeBox(more string) func(testing.TB, *ktest.Box) {
	return func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/f", "content\n")
		b.Script(t, "api/put", "#!/bin/sh\necho \"$1\" > "+b.Work+"/out && echo \"put in $(readlink /run/ptguard/scope)\"\n")
		text, err := os.ReadFile(ktest.Tracee(t, "scopes"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.Path("api/tool"), text, 0o755); err != nil {
			t.Fatal(err)
		}
		b.Write(t, "p.yaml", strings.ReplaceAll("ptguard: 1\nscopes:\n  api: { enter: [ ROOT/api/* ] }\n"+more, "ROOT", b.Root))
	}
}

func scopeFlags(more ...string) func(*ktest.Box) []string {
	return func(b *ktest.Box) []string { return append([]string{"-p", b.Path("p.yaml")}, more...) }
}

// What is there without ptguard: nothing.
const noScope = "-"

// Narrowing from C: the thread and what it starts, for good.
func TestScopesNarrow(t *testing.T) {
	b := ktest.NewBox(t, scopeBox(""))
	tracee := ktest.Tracee(t, "scopes")
	for _, c := range []struct{ act, bare, guarded string }{
		{
			"narrow",
			"before " + noScope + "\nopens ok\nnarrow ENOENT\nafter " + noScope + "\nopens ok\nagain ENOENT\napi ENOENT\nunknown ENOENT\nchild " + noScope + "\nchild opens ok\nshort -1\n",
			"before none\nopens ok\nnarrow ok\nafter user\nopens EPERM\nagain ok\napi EPERM\nunknown ENOENT\nchild user\nchild opens EPERM\nshort 2\n",
		},
		{
			"thread",
			"narrow ENOENT\nthread " + noScope + "\nthread opens ok\nmain " + noScope + "\nmain opens ok\n",
			"narrow ok\nthread user\nthread opens EPERM\nmain none\nmain opens ok\n",
		},
		{"forks", "wrong 300\n", "wrong 0\n"},
		{"parent", "kill ok\nmem ok\nparent kills ok\n", "kill EPERM\nmem EPERM\nparent kills ok\n"},
	} {
		if got := b.Bare(t, tracee, c.act, "f"); got.Stdout != c.bare {
			t.Errorf("%s: bare %v", c.act, got)
		}
		if got := b.Guard(t, scopeFlags()(b), tracee, c.act, "f"); got.Stdout != c.guarded || got.Status != 0 {
			t.Errorf("%s: %v\nwant %s", c.act, got, c.guarded)
		}
	}
	if _, err := os.Lstat("/run/ptguard/scope"); err == nil {
		t.Error("something was really made beneath /run")
	}
}

// The same from other languages, without a library; and the way back in by a program.
func TestScopesInLanguages(t *testing.T) {
	for name, argv := range map[string][]string{
		"python": {"/usr/bin/python3", "-c", `
import os, subprocess
print(os.readlink("/run/ptguard/scope"))
os.mkdir("/run/ptguard/scope/user")
print(os.readlink("/run/ptguard/scope"))
try: open("f")
except PermissionError: print("refused")
print(subprocess.run(["ROOT/api/put", "x"], capture_output=True, text=True).stdout, end="")
`},
		"node": {"node", "-e", `
const fs = require("fs"), cp = require("child_process");
console.log(fs.readlinkSync("/run/ptguard/scope"));
fs.mkdirSync("/run/ptguard/scope/user");
console.log(fs.readlinkSync("/run/ptguard/scope"));
try { fs.readFileSync("f") } catch (e) { console.log(e.code == "EPERM" ? "refused" : e.code) }
process.stdout.write(cp.execFileSync("ROOT/api/put", ["x"]));
`},
		"bash": {"bash", "-c", `
readlink /run/ptguard/scope
: > /run/ptguard/scope/user
x=$(ROOT/api/tool env); echo user # readlink is a program, which scope user does not execute
{ read -r x < f; } 2>/dev/null || echo refused
ROOT/api/put x
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				ArgvOf: func(b *ktest.Box) []string {
					out := slices.Clone(argv)
					for i := range out {
						out[i] = strings.ReplaceAll(out[i], "ROOT", b.Root)
					}
					return out
				},
				Fill: scopeBox(""), FlagsOf: scopeFlags(), BareStatus: bareOf[name],
				Status: 0, Stdout: "none\nuser\nrefused\nput in api\n",
				Want: []ktest.Want{{Kind: record.KindScope, Layer: "scope", Access: "read", Path: "f", Rule: "scope user", Errno: "EPERM", Hint: "/api/*"}},
			})
		})
	}
}

// Without ptguard nothing answers readlink, and each language says so in its own way.
var bareOf = map[string]int{"python": 1, "node": 1, "bash": 0}

// Scope user: no direct access to files, programs and addresses, whatever the policy grants
// elsewhere; the programs of another scope have it, and the refusal names them.
func TestScopesUser(t *testing.T) {
	tracee := ktest.Tracee(t, "act")
	for _, c := range []struct {
		name   string
		argv   []string
		access string
	}{
		{"read", []string{tracee, "open-r", "f"}, "read"},
		{"write", []string{tracee, "open-w", "f"}, "write"},
		{"create", []string{tracee, "creat", "g"}, "create"},
		{"mkdir", []string{tracee, "mkdir", "g"}, "create"},
		{"unlink", []string{tracee, "unlink", "f"}, "remove"},
		{"rename", []string{tracee, "rename", "f", "g"}, "remove"},
		{"chmod", []string{tracee, "chmod", "f"}, "attr"},
		{"truncate", []string{tracee, "truncate", "f"}, "write"},
		{"symlink", []string{tracee, "symlink", "f", "g"}, "create"},
		{"bind", []string{tracee, "bind-unix", "sock"}, "bind"},
		{"bind an address", []string{tracee, "bind", "127.0.0.1", "0"}, "bind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				Argv: c.argv, BareStdout: "ok", Fill: scopeBox("files: { write: [ . ] }\nnet: { bind: [ \"*:*\" ] }\n"), FlagsOf: scopeFlags("--scope", "user"),
				Stdout: "EPERM", Want: []ktest.Want{{Kind: record.KindScope, Layer: "scope", Access: c.access, Rule: "scope user", Hint: "/api/*"}},
				Hints: []string{"/api/*"},
			})
		})
	}
	ktest.Refused(t, ktest.Refusal{
		Argv: []string{"sh", "-c", "/bin/true && echo ran"}, BareStdout: "ran", Fill: scopeBox(""), FlagsOf: scopeFlags("--scope", "user"),
		Status: 126, Want: []ktest.Want{{Kind: record.KindScope, Access: "exec"}},
	})
	// Its own rules allow; in mode open nothing but seals and guards refuses.
	b := ktest.NewBox(t, scopeBox("  user: { files: { read: [ ./f ] } }\n"))
	if got := b.Guard(t, scopeFlags("--scope", "user")(b), tracee, "open-r", "f"); got.Stdout != "ok\n" {
		t.Errorf("%v", got)
	}
	if got := b.Guard(t, scopeFlags("--scope", "user")(b), tracee, "open-w", "f"); got.Stdout != "EPERM\n" {
		t.Errorf("%v", got)
	}
	if got := b.Guard(t, []string{"--scope", "user", "--mode", "open"}, tracee, "open-w", "f"); got.Stdout != "ok\n" {
		t.Errorf("%v", got)
	}
	b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: x\nseals: [ { path: "+b.Work+"/f, letters: W, reason: r } ]\n")
	if got := b.Guard(t, []string{"--scope", "user", "--mode", "open", "--seals", b.Path("seals")}, tracee, "open-w", "f"); got.Stdout != "EPERM\n" {
		t.Errorf("open mode and scope user escape a seal: %v", got)
	}
}

// Entering: what the caller's environment could lead is gone, the scope is in the records,
// and it ends with the process.
func TestScopesEnter(t *testing.T) {
	b := ktest.NewBox(t, scopeBox(""))
	b.Env = []string{
		"LD_PRELOAD=/none.so", "LD_LIBRARY_PATH=/none", "BASH_ENV=/none", "ENV=/none", "PYTHONPATH=/none", "NODE_OPTIONS=--none", "PERL5LIB=/none",
		"RUBYOPT=-W", "GCONV_PATH=/none", "PATH=" + b.Work + ":/usr/bin:/bin", "KEPT=1", "ODD", "EMPTY=",
	}
	got := b.Guard(t, scopeFlags("--trace-level", "all")(b), b.Path("api/tool"), "env")
	for _, hook := range []string{"LD_", "BASH_ENV", "ENV=", "PYTHON", "NODE_", "PERL5", "RUBY", "GCONV", "TMPDIR", b.Work + ":"} {
		if strings.Contains("\n"+got.Stdout, "\n"+hook) || hook == b.Work+":" && strings.Contains(got.Stdout, hook) {
			t.Errorf("%s is left: %v", hook, got)
		}
	}
	for _, kept := range []string{"KEPT=1\n", "EMPTY=\n", "HOME=" + b.Home + "\n", "PATH=/usr/bin:/bin\n", "scope api\n"} {
		if !strings.Contains(got.Stdout, kept) {
			t.Errorf("%q is gone: %v", kept, got)
		}
	}
	led := b.Guard(t, scopeFlags()(b), "env", "HOME="+b.Work, "XDG_CONFIG_HOME="+b.Work, "DOTNET_STARTUP_HOOKS=x", "TAR_OPTIONS=x", b.Path("api/tool"), "env")
	if !strings.Contains(led.Stdout, "HOME="+b.Home+"\n") || strings.Contains(led.Stdout, "XDG_") || strings.Contains(led.Stdout, "HOME="+b.Work) || strings.Contains(led.Stdout, "=x\n") {
		t.Errorf("the caller says where programs look for their own files: %v", led)
	}
	got = b.Guard(t, scopeFlags("--trace-level", "all")(b), b.Path("api/tool"), "env")
	if !slices.ContainsFunc(b.Records(t), func(r record.Record) bool { return r.Kind == record.KindExec && r.Scope == "api" }) {
		t.Error("no exec record with scope api")
	}
	// The child of an api program is in api; its caller is not when it has ended.
	b.Env = nil
	got = b.Guard(t, scopeFlags("--scope", "user")(b), "/usr/bin/python3", "-c", `
import os, subprocess
print(subprocess.run(["`+b.Path("api/put")+`", "x"], capture_output=True, text=True).stdout, end="")
print(os.readlink("/run/ptguard/scope"))
`)
	if got.Stdout != "put in api\nuser\n" {
		t.Errorf("%v", got)
	}
}

// A program that the run could write would lend its rights to whoever writes it.
func TestScopesEnterWritable(t *testing.T) {
	b := ktest.NewBox(t, scopeBox(""))
	b.Script(t, "work/bin/put", "#!/bin/sh\n")
	for name, policy := range map[string]string{
		"beneath the work folder": "scopes: { api: { enter: [ ./bin/* ] } }\n",
		"by a rule":               "files: { write: [ " + b.Path("api") + " ] }\nscopes: { api: { enter: [ " + b.Path("api/put") + " ] } }\n",
		"a folder above":          "files: { write: [ { file: " + b.Path("api") + " } ] }\nscopes: { api: { enter: [ " + b.Path("api/put") + " ] } }\n",
		"by another scope":        "scopes: { api: { enter: [ " + b.Path("api/put") + " ] }, build: { files: { write: [ " + b.Path("api") + " ] } } }\n",
	} {
		b.Write(t, "bad.yaml", "ptguard: 1\n"+policy)
		if r := b.Guard(t, []string{"-p", b.Path("bad.yaml")}, "echo", "ran"); r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "must not be writable") {
			t.Errorf("%s: %v", name, r)
		}
	}
	// By a link of its caller's a script could be exchanged after the exec.
	if err := os.Symlink(b.Path("api/put"), b.Path("work/l")); err != nil {
		t.Fatal(err)
	}
	if r := b.Bare(t, "sh", "-c", "./l x"); r.Status != 0 || !strings.HasPrefix(r.Stdout, "put in ") {
		t.Fatalf("bare: %v", r)
	}
	if r := b.Guard(t, scopeFlags()(b), "sh", "-c", "./l x"); r.Status != 126 || r.Stdout != "" {
		t.Errorf("%v", r)
	}
	b.Find(t, ktest.Want{Rule: "guard scope-entry", Syscall: "execve"})
	if r := b.Guard(t, scopeFlags("--scope", "nothing")(b), "echo", "ran"); r.Status != 125 || !strings.Contains(r.Stderr, "unknown scope") {
		t.Errorf("%v", r)
	}
}

// A caller cannot reach into the process that entered a scope.
func TestScopesReach(t *testing.T) {
	b := ktest.NewBox(t, scopeBox(""))
	tracee := ktest.Tracee(t, "scopes")
	all := []string{"kill", "kill 0", "pidfd_open", "pidfd_getfd", "process_vm_readv", "mem", "environ", "maps", "fd/0", "cwd/.", "prlimit"}
	check := func(r ktest.Result, want string) {
		t.Helper()
		for _, what := range all {
			if !strings.Contains("\n"+r.Stdout, "\n"+what+" "+want+"\n") {
				t.Errorf("%s is not %s: %v", what, want, r)
			}
		}
		if !strings.Contains(r.Stdout, "stat ok\n") || !strings.Contains(r.Stdout, "kill group ok\n") {
			t.Errorf("%v", r)
		}
	}
	bare := b.Bare(t, tracee, "reach", b.Path("api/tool"), "wait")
	check(bare, "ok")
	if !strings.Contains(bare.Stdout, "ended by a signal") {
		t.Errorf("bare, a signal to the group misses it: %v", bare)
	}
	check(b.Guard(t, scopeFlags()(b), tracee, "reach", tracee, "wait"), "ok") // in the same scope
	got := b.Guard(t, scopeFlags()(b), tracee, "reach", b.Path("api/tool"), "wait")
	check(got, "EPERM")
	if !strings.Contains(got.Stdout, "ended by itself") {
		t.Errorf("a signal to the group reached it: %v", got)
	}
	b.Find(t, ktest.Want{Kind: record.KindScope, Rule: "scope reach"})
}

// The signals of a descriptor (SIGIO, or any other by F_SETSIG) reach a process without
// kill(2): whoever gets them enters no scope, and none of a group that has entered one is
// made to get them.
func TestScopesOwner(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, scopeBox(""))
	for name, own := range map[string]string{
		"F_SETOWN":       "fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid()); fcntl.fcntl(s, 10, 9)",
		"F_SETOWN group": "fcntl.fcntl(s, fcntl.F_SETOWN, -os.getpgrp()); fcntl.fcntl(s, 10, 9)",
		"a lease":        "fcntl.fcntl(fd, 10, 9); fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)",
		"O_ASYNC":        "fcntl.fcntl(s, fcntl.F_SETFL, os.O_ASYNC)",
		"FIOASYNC":       "fcntl.ioctl(s, 0x5452, b'\\x01\\0\\0\\0')",
		"none":           "pass",
	} {
		b.Reset(t)
		want := "126"
		if name == "none" {
			want = "0"
		}
		argv := []string{"/usr/bin/python3", "-c", `
import fcntl, os, socket
s, t = socket.socketpair()
open("leased", "w").close()
fd = os.open("leased", os.O_RDONLY)
pid = os.fork()
if pid == 0:
    ` + own + `
    try: os.execv("` + b.Path("api/tool") + `", ["tool", "scope"])
    except PermissionError: os._exit(126)
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`}
		if r := b.Bare(t, argv...); r.Status != 0 || r.Stdout != "status 0\n" {
			t.Fatalf("%s: bare: %v", name, r)
		}
		b.Reset(t)
		r := b.Guard(t, scopeFlags()(b), argv...)
		if r.Status != 0 || r.Stdout != "status "+want+"\n" {
			t.Errorf("%s: %v", name, r)
		}
		if d := b.Denials(t); name == "none" && len(d) > 0 {
			t.Errorf("%s: %+v", name, d)
		} else if name != "none" {
			b.Find(t, ktest.Want{Rule: "guard scope-entry", Syscall: "execve"})
		}
	}
}
