// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// fillOutside puts one object of each kind outside the writable roots, and a file into
// the work folder.
func fillOutside(t testing.TB, b *ktest.Box) {
	b.Write(t, "outside/f", "old\n")
	b.Write(t, "outside/g", "old\n")
	b.Write(t, "outside/full/f", "old\n")
	b.Write(t, "work/f", "mine\n")
	for _, dir := range []string{"outside/d", "work/d"} {
		if err := os.Mkdir(b.Path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"work/link": "../outside/f", "work/dangling": "../outside/new", "work/dirlink": "../outside"} {
		if err := os.Symlink(target, b.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefusedFiles: acts on files outside the writable roots, each by one system call.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	const (
		f  = "../outside/f"
		fs = "/outside/f" // the end of the resolved path
	)
	for _, c := range []struct {
		act      string // of testdata/tracees/act.c, with its arguments
		access   string
		resolved string // below the box
		quiet    bool   // no change to see: an open alone
		syscall  string // where it is not the act's name
	}{
		{act: "open-w " + f, access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "open-rw " + f, access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "open-append " + f, access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "open-trunc " + f, access: "write", resolved: fs, syscall: "openat"},
		{act: "open-creat " + f, access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "open-creat ../outside/new", access: "create", resolved: "/outside/new", syscall: "openat"},
		{act: "open-excl ../outside/new", access: "create", resolved: "/outside/new", syscall: "openat"},
		{act: "open-creat dangling", access: "create", resolved: "/outside/new", syscall: "openat"},
		{act: "open-creat dirlink/new", access: "create", resolved: "/outside/new", syscall: "openat"},
		{act: "open-w link", access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "open-w d/../dirlink/d/../f", access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "open-tmpfile ../outside", access: "create", quiet: true, syscall: "openat"},
		{act: "openat-dirfd ../outside f", access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "reopen " + f, access: "write", resolved: fs, quiet: true, syscall: "openat"},
		{act: "open-old " + f, access: "write", resolved: fs, quiet: true, syscall: "open"},
		{act: "openat2 " + f, access: "write", resolved: fs, quiet: true},
		{act: "creat " + f, access: "write", resolved: fs},
		{act: "unlink " + f, access: "remove", resolved: fs},
		{act: "unlinkat " + f, access: "remove", resolved: fs},
		{act: "rmdir ../outside/d", access: "remove", resolved: "/outside/d"},
		{act: "rmdirat ../outside/d", access: "remove", resolved: "/outside/d", syscall: "unlinkat"},
		{act: "rename " + f + " mine", access: "remove", resolved: fs},
		{act: "rename f ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "renameat f ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "renameat2 f ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "rename f " + f, access: "remove", resolved: fs},
		{act: "exchange f " + f, access: "remove", resolved: fs, syscall: "renameat2"},
		{act: "rename d ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "mkdir ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "mkdirat ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "link f ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "link " + f + " mine", access: "write", resolved: fs},
		{act: "linkat link mine", access: "write", resolved: fs},
		{act: "symlink f ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "symlinkat f ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "mkfifo ../outside/new", access: "create", resolved: "/outside/new", syscall: "mknod"},
		{act: "mknodat ../outside/new", access: "create", resolved: "/outside/new"},
		{act: "truncate " + f, access: "write", resolved: fs},
		{act: "truncate link", access: "write", resolved: fs},
		{act: "chmod " + f, access: "attr", resolved: fs},
		{act: "fchmodat " + f, access: "attr", resolved: fs},
		{act: "chown " + f, access: "attr", resolved: fs},
		{act: "lchown " + f, access: "attr", resolved: fs},
		{act: "fchownat " + f, access: "attr", resolved: fs},
		{act: "utimensat " + f, access: "attr", resolved: fs},
		{act: "utime " + f, access: "attr", resolved: fs},
		{act: "utimes " + f, access: "attr", resolved: fs},
		{act: "futimesat " + f, access: "attr", resolved: fs},
		{act: "setxattr " + f, access: "attr", resolved: fs},
	} {
		t.Run(c.act, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(c.act)
			if c.syscall == "" {
				c.syscall = words[0]
			}
			ktest.Refused(t, ktest.Refusal{
				Fill: fillOutside, Argv: append([]string{ktest.Tracee(t, "act")}, words...), BareStdout: "ok\n", Stdout: "EPERM\n", Lasting: !c.quiet,
				WantOf: func(b *ktest.Box) []ktest.Want {
					w := ktest.Want{Syscall: c.syscall, Access: c.access, Errno: "EPERM"}
					if c.resolved != "" {
						w.Resolved = b.Root + c.resolved
					}
					return []ktest.Want{w}
				},
			})
		})
	}
}

// TestRefusedNames: acts that fail on their names anyway keep the bare errno and are no
// denials (POLICY 3, Answers).
func TestRefusedNames(t *testing.T) {
	t.Parallel()
	for act, errno := range map[string]string{
		"open-w ../outside/absent":               "ENOENT",
		"open-r ../outside/absent":               "ENOENT",
		"unlink ../outside/absent":               "ENOENT",
		"unlink /run/ptguard-e2e-absent.pid":     "ENOENT",
		"mkdir ../outside/d":                     "EEXIST",
		"mkdir /usr":                             "EEXIST",
		"open-excl ../outside/f":                 "EEXIST",
		"open-w ../outside/f/x":                  "ENOTDIR",
		"rmdir ../outside/absent":                "ENOENT",
		"rename ../outside/absent mine":          "ENOENT",
		"chmod ../outside/absent":                "ENOENT",
		"open-w loop":                            "ELOOP",
		"open-creat absent/new":                  "ENOENT",
		"symlink x ../outside/f":                 "EEXIST",
		"link f ../outside/f":                    "EEXIST",
		"connect-unix ../outside/absent.sock":    "ENOENT",
		"connect-unix dead.sock":                 "ECONNREFUSED",
		"open-creat " + strings.Repeat("n", 256): "ENAMETOOLONG",
	} {
		t.Run(strings.TrimRight(act, "n"), func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, ktest.Case{
				Argv: append([]string{ktest.Tracee(t, "act")}, strings.Fields(act)...), Stdout: errno + "\n",
				Fill: func(t testing.TB, b *ktest.Box) {
					fillOutside(t, b)
					if err := os.Symlink("loop", b.Path("work/loop")); err != nil {
						t.Fatal(err)
					}
					deadSocket(t, b.Path("work/dead.sock"))
				},
			})
		})
	}
}

// deadSocket makes a socket file that nobody listens on.
func deadSocket(t testing.TB, path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
}

// TestRefusedByCommand: the list of issue 2, with the programs people use.
func TestRefusedByCommand(t *testing.T) {
	t.Parallel()
	secrets := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "home/.ssh/id_rsa", "KEY\n")
		b.Write(t, "home/.aws/credentials", "KEY\n")
		b.Write(t, "home/.bashrc", "# rc\n")
		b.Write(t, "outside/secret", "KEY\n")
		b.Write(t, "work/a/secret", "KEY\n")
		b.Write(t, "work/f", "mine\n")
		b.Write(t, "outside/f", "old\n")
		b.Write(t, "outside/policy.yaml", "ptguard: 1\nfiles:\n  deny: [ { path: \"~/.ssh\", access: [read, write], reason: \"keys are not for builds\", hint: \"use the deploy agent\" } ]\n")
	}
	for name, c := range map[string]ktest.Refusal{
		"write outside": {
			Argv: []string{"sh", "-c", "echo more >> ../outside/f"}, Lasting: true, Status: 2, Hints: []string{"--write "},
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Syscall: "openat", Access: "write", Path: "../outside/f", Resolved: b.Path("outside/f"), Errno: "EPERM", Hint: b.Work, Fix: "--write " + b.Path("outside/f")}}
			},
		},
		"hint names temp": {
			Argv: []string{"sh", "-c", "echo more >> ../outside/f"}, Lasting: true, Status: 2,
			WantOf: func(b *ktest.Box) []ktest.Want { return []ktest.Want{{Hint: "/tmp"}} },
		},
		"python write": {
			Argv: []string{"python3", "-c", "try: open('../outside/f', 'a').write('x')\nexcept PermissionError as e: print('errno', e.errno)\nelse: print('written')"}, BareStdout: "written", Lasting: true, Stdout: "errno 1\n",
			Want: []ktest.Want{{Access: "write", Path: "../outside/f"}},
		},
		"key, deny flag": {
			ArgvOf: func(b *ktest.Box) []string { return []string{"cat", b.Path("home/.ssh/id_rsa")} }, BareStdout: "KEY", Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("home/.ssh")} },
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Access: "read", Resolved: b.Path("home/.ssh/id_rsa"), Errno: "EPERM", Layer: "flag"}}
			},
		},
		"key, deny in a policy": {
			ArgvOf: func(b *ktest.Box) []string { return []string{"cat", b.Path("home/.ssh/id_rsa")} }, BareStdout: "KEY", Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--policy", b.Path("outside/policy.yaml")} },
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Access: "read", Resolved: b.Path("home/.ssh/id_rsa"), Errno: "EPERM", Layer: "file", Rule: "policy.yaml:3:", Hint: "use the deploy agent"}}
			},
			Hints: []string{"use the deploy agent"},
		},
		"key, preset": {
			Argv: []string{"sh", "-c", "cat ~/.ssh/id_rsa"}, BareStdout: "KEY", Status: 1,
			Want: []ktest.Want{{Access: "read", Errno: "EPERM", Layer: "preset", Path: "**/.ssh/id_rsa"}},
		},
		"key through a link": {
			Argv: []string{"sh", "-c", "ln -s ~/.ssh s; cat s/id_rsa"}, BareStdout: "KEY", Status: 1,
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Access: "read", Path: "s/id_rsa", Resolved: b.Path("home/.ssh/id_rsa"), Layer: "preset"}}
			},
		},
		"key by python": {
			Argv: []string{"python3", "-c", "import os\ntry: print(open(os.path.expanduser('~/.aws/credentials')).read())\nexcept PermissionError as e: print('errno', e.errno)"}, BareStdout: "KEY", Stdout: "errno 1\n",
			Want: []ktest.Want{{Access: "read", Path: "**/.aws/credentials", Layer: "preset"}},
		},
		"mv out": {
			Argv: []string{"mv", "f", "../outside/new"}, Lasting: true, Status: 1,
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Syscall: "rename|renameat|renameat2", Access: "create", Path: "../outside/new", Resolved: b.Path("outside/new")}}
			},
		},
		"ln of a denied file": {
			Argv: []string{"ln", "../outside/secret", "x"}, Lasting: true, Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("outside/secret")} },
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Syscall: "link|linkat", Resolved: b.Path("outside/secret"), Layer: "flag"}}
			},
		},
		"ln of a file of home": {
			Argv: []string{"sh", "-c", "ln ~/.bashrc x"}, Lasting: true, Status: 1,
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Syscall: "link|linkat", Resolved: b.Path("home/.bashrc")}}
			},
		},
		"mv of a folder with a denied file": {
			Argv: []string{"mv", "a", "b"}, Lasting: true, Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("work/a/secret")} },
			Want:    []ktest.Want{{Syscall: "rename|renameat|renameat2", Layer: "flag"}},
		},
		"rm of a denied file": {
			Argv: []string{"rm", "-f", "a/secret"}, Lasting: true, Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("work/a/secret")} },
			Want:    []ktest.Want{{Syscall: "unlink|unlinkat", Access: "remove", Layer: "flag"}},
		},
		"another file over a denied one": {
			Argv: []string{"mv", "-f", "f", "a/secret"}, Lasting: true, Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("work/a/secret")} },
			Want:    []ktest.Want{{Syscall: "rename|renameat|renameat2", Layer: "flag"}},
		},
		"hard link from before": { // the inode of the denied name counts, too
			Fill: func(t testing.TB, b *ktest.Box) {
				secrets(t, b)
				if err := os.Link(b.Path("outside/secret"), b.Path("work/innocent")); err != nil {
					t.Fatal(err)
				}
			},
			Argv: []string{"cat", "innocent"}, BareStdout: "KEY", Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("outside/secret")} },
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Access: "read", Path: "innocent", Layer: "flag"}}
			},
		},
		"deny a link, read the target": {
			Fill: func(t testing.TB, b *ktest.Box) {
				secrets(t, b)
				if err := os.Symlink("secret", b.Path("outside/alias")); err != nil {
					t.Fatal(err)
				}
			},
			Argv: []string{"cat", "../outside/secret"}, BareStdout: "KEY", Status: 1,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("outside/alias")} },
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Access: "read", Resolved: b.Path("outside/secret"), Layer: "flag"}}
			},
		},
		"deny beats allow": {
			Argv: []string{"sh", "-c", "echo x > a/secret"}, Lasting: true, Status: 2,
			FlagsOf: func(b *ktest.Box) []string {
				return []string{"--deny", b.Path("work/a"), "--write", b.Path("work/a/secret")}
			},
			Want: []ktest.Want{{Access: "write", Layer: "flag"}},
		},
		"hide": {
			ArgvOf: func(b *ktest.Box) []string { return []string{ktest.Tracee(t, "act"), "open-r", "a/secret"} }, BareStdout: "ok\n", Stdout: "ENOENT\n", Quiet: true,
			FlagsOf: func(b *ktest.Box) []string { return []string{"--hide", b.Path("work/a/secret")} },
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Access: "read", Resolved: b.Path("work/a/secret"), Errno: "ENOENT", Layer: "flag"}}
			},
		},
		"hooks of a repository from before": {
			Fill: func(t testing.TB, b *ktest.Box) {
				if r := b.Bare(t, "git", "init", "-q", "."); r.Status != 0 {
					t.Fatalf("git init: %v", r)
				}
			},
			Argv: []string{"sh", "-c", "echo evil > .git/hooks/post-commit"}, Lasting: true, Status: 2,
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Resolved: b.Path("work/.git/hooks/post-commit"), Layer: "preset"}}
			},
		},
		"strict reads nothing outside": {
			Argv: []string{"cat", "../outside/secret"}, BareStdout: "KEY", Status: 1, Flags: []string{"--mode", "strict"},
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Access: "read", Resolved: b.Path("outside/secret")}}
			},
		},
		"folded": { // twelve times the same: one line, one count
			Argv: []string{"sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat ../outside/secret; done; true"}, BareStdout: "KEY",
			FlagsOf: func(b *ktest.Box) []string { return []string{"--deny", b.Path("outside/secret")} },
			Want:    []ktest.Want{{Access: "read", Path: "../outside/secret"}},
		},
		"trace file": {
			Fill:   func(t testing.TB, b *ktest.Box) { b.Trace = b.Write(t, "work/t.jsonl", "") },
			ArgvOf: func(b *ktest.Box) []string { return []string{ktest.Tracee(t, "act"), "open-w", "t.jsonl"} }, BareStdout: "ok\n", Stdout: "EPERM\n",
			Want: []ktest.Want{{Path: "t.jsonl", Layer: "guard", Access: "write"}},
		},
		"rm of the trace file": {
			Fill: func(t testing.TB, b *ktest.Box) { b.Trace = b.Write(t, "work/t.jsonl", "") },
			Argv: []string{"rm", "-f", "t.jsonl"}, Status: 1,
			Happened: func(t testing.TB, b *ktest.Box) bool { _, err := os.Stat(b.Trace); return err != nil },
			Want:     []ktest.Want{{Path: "t.jsonl", Layer: "guard", Access: "remove"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.Fill == nil {
				c.Fill = secrets
			}
			ktest.Refused(t, c)
		})
	}
	if root() {
		t.Run("etc hosts", func(t *testing.T) {
			t.Parallel()
			// Opening for append changes nothing, which is why the bare half may do it.
			ktest.Refused(t, ktest.Refusal{
				Argv: []string{"sh", "-c", "exec 3>>/etc/hosts && echo opened"}, BareStdout: "opened\n", Status: 2,
				Want:  []ktest.Want{{Syscall: "openat", Access: "write", Path: "/etc/hosts", Resolved: "/etc/hosts", Errno: "EPERM", Fix: "--write /etc/hosts"}},
				Hints: []string{"allow with: --write /etc/hosts"},
			})
		})
	}
}

// TestRefusedExec: a denied program does not run, however it is started.
func TestRefusedExec(t *testing.T) {
	t.Parallel()
	const loader = "/lib64/ld-linux-x86-64.so.2"
	fill := func(t testing.TB, b *ktest.Box) {
		prog := b.Copy(t, ktest.Tracee(t, "mark"), "outside/forbidden")
		b.Copy(t, ktest.Tracee(t, "mark", "-static"), "outside/static/forbidden")
		b.Script(t, "work/script", "#!"+prog+"\n")
		if err := os.Symlink(prog, b.Path("work/alias")); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(prog, b.Path("work/hard")); err != nil {
			t.Fatal(err)
		}
	}
	byPath := func(b *ktest.Box) []string { return []string{"--deny-exec", b.Path("outside/forbidden")} }
	byName := func(*ktest.Box) []string { return []string{"--deny-exec", "forbidden"} }
	act := ktest.Tracee(t, "act")
	for _, c := range []struct {
		name   string
		argv   []string
		flags  func(*ktest.Box) []string
		access string
		stdout string
		static bool
	}{
		{name: "direct", argv: []string{act, "exec", "../outside/forbidden"}, stdout: "EPERM\n"},
		{name: "by symlink", argv: []string{act, "exec", "./alias"}, stdout: "EPERM\n"},
		{name: "by hard link", argv: []string{act, "exec", "./hard"}, stdout: "EPERM\n"},
		{name: "by execveat", argv: []string{act, "fexec", "../outside/forbidden"}, stdout: "EPERM\n"},
		{name: "by script", argv: []string{act, "exec", "./script"}, stdout: "EPERM\n"},
		{name: "by sh", argv: []string{"sh", "-c", "../outside/forbidden; true"}},
		{name: "by bash exec", argv: []string{"bash", "-c", "(exec -a harmless ../outside/forbidden); true"}},
		{name: "by env", argv: []string{"sh", "-c", "env ../outside/forbidden; true"}},
		{name: "by xargs", argv: []string{"sh", "-c", "echo | xargs ../outside/forbidden; true"}},
		{name: "by find", argv: []string{"sh", "-c", "find . -name alias -exec ../outside/forbidden ';'; true"}},
		{name: "by python", argv: []string{"python3", "-c", "import subprocess\ntry: subprocess.call(['../outside/forbidden'])\nexcept PermissionError as e: print('errno', e.errno)"}, stdout: "errno 1\n"},
		{name: "by the loader", argv: []string{"sh", "-c", loader + " ../outside/forbidden; true"}, access: "map"},
		{name: "by the loader and a link", argv: []string{"sh", "-c", loader + " ./alias; true"}, access: "map"},
		{name: "by name", argv: []string{act, "exec", "../outside/forbidden"}, flags: byName, stdout: "EPERM\n"},
		{name: "by name, link", argv: []string{act, "exec", "./alias"}, flags: byName, stdout: "EPERM\n"},
		{name: "static by name", argv: []string{act, "exec", "../outside/static/forbidden"}, flags: byName, stdout: "EPERM\n", static: true},
		{name: "nothing after CMD", argv: []string{act, "exec", "../outside/forbidden"}, flags: func(*ktest.Box) []string { return []string{"--no-exec"} }, stdout: "EPERM\n"},
		{name: "closed list", argv: []string{act, "exec", "../outside/forbidden"}, flags: func(*ktest.Box) []string { return []string{"--allow-exec", "/usr/bin/**"} }, stdout: "EPERM\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.flags == nil {
				c.flags = byPath
			}
			if c.access == "" {
				c.access = "exec"
			}
			ktest.Refused(t, ktest.Refusal{
				Fill: fill, Argv: c.argv, FlagsOf: c.flags, BareStdout: "ran\n", Stdout: c.stdout,
				Happened: func(t testing.TB, b *ktest.Box) bool { _, err := os.Stat(b.Path("work/ran")); return err == nil },
				WantOf: func(b *ktest.Box) []ktest.Want {
					w := ktest.Want{Access: c.access, Resolved: b.Path("outside/forbidden"), Errno: "EPERM"}
					if c.static {
						w.Resolved = b.Path("outside/static/forbidden")
					}
					if c.name == "by hard link" {
						w.Resolved = b.Path("work/hard")
					}
					return []ktest.Want{w}
				},
			})
		})
	}
	// A mapping with PROT_EXEC, at once or made so later.
	for _, how := range []string{"mmap-exec", "mprotect-exec"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				Fill: fill, FlagsOf: byPath, Argv: []string{act, how, "../outside/forbidden"}, BareStdout: "ok\n", Stdout: "EPERM\n",
				WantOf: func(b *ktest.Box) []ktest.Want {
					return []ktest.Want{{Access: "map", Syscall: strings.TrimSuffix(how, "-exec"), Resolved: b.Path("outside/forbidden")}}
				},
			})
		})
	}
	// The loader itself stays runnable, and so does every other program.
	t.Run("others run", func(t *testing.T) {
		t.Parallel()
		ktest.Same(t, ktest.Case{Fill: fill, FlagsOf: byPath, Argv: sh(loader + " /bin/echo by the loader; find . -exec true \\;; cat ../outside/forbidden | wc -l"), Stdout: "by the loader\n"})
	})
	t.Run("CMD", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, fill)
		for _, argv := range [][]string{{b.Path("outside/forbidden")}, {"./alias"}, {"./script"}} {
			r := b.Guard(t, byPath(b), argv...)
			if r.Status != 126 {
				t.Errorf("%q: want status 126, got %v", argv, r)
			}
			b.Absent(t, "work/ran")
			r.WantLine(t, "denied", "forbidden")
		}
		b.Find(t, ktest.Want{Access: "exec", Resolved: b.Path("outside/forbidden")})
	})
}

// listenTCP gives a loopback listener's port and whether somebody has connected since
// the last question.
func listenTCP(t testing.TB) (int, func(testing.TB, *ktest.Box) bool) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port, func(t testing.TB, _ *ktest.Box) bool {
		// connect(2) on loopback returns after the connection is in the queue.
		_ = l.SetDeadline(time.Now().Add(50 * time.Millisecond))
		c, err := l.Accept()
		if err == nil {
			c.Close()
		}
		return err == nil
	}
}

func listenUDP(t testing.TB) (int, func(testing.TB, *ktest.Box) bool) {
	l, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.LocalAddr().(*net.UDPAddr).Port, func(t testing.TB, _ *ktest.Box) bool {
		_ = l.SetDeadline(time.Now().Add(50 * time.Millisecond))
		n, err := l.Read(make([]byte, 9))
		return err == nil && n == 1
	}
}

func TestRefusedNet(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "act")
	other := []string{"--connect", "127.0.0.1:1"} // replaces the preset's loopback
	for _, c := range []struct{ name, act, host, call string }{
		{"tcp", "connect", "127.0.0.1", "connect"},
		{"mapped", "connect", "::ffff:127.0.0.1", "connect"},
		{"any means loopback", "connect", "0.0.0.0", "connect"},
		{"udp connect", "connect-udp", "127.0.0.1", "connect"},
		{"sendto", "sendto", "127.0.0.1", "sendto"},
		{"sendto mapped", "sendto", "::ffff:127.0.0.1", "sendto"},
		{"sendmsg", "sendmsg", "127.0.0.1", "sendmsg"},
		{"sendmmsg", "sendmmsg", "127.0.0.1", "sendmmsg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			port, happened := listenTCP(t)
			if c.act != "connect" {
				port, happened = listenUDP(t)
			}
			if c.act == "connect-udp" {
				happened = nil // sends nothing
			}
			ktest.Refused(t, ktest.Refusal{
				Argv: []string{act, c.act, c.host, strconv.Itoa(port)}, Flags: other, BareStdout: "ok\n", Stdout: "EPERM\n", Happened: happened,
				Want: []ktest.Want{{Syscall: c.call, Access: "connect", Port: port, Errno: "EPERM"}}, Hints: []string{"--connect "},
			})
		})
	}
	t.Run("bind every interface", func(t *testing.T) {
		t.Parallel()
		port, _ := listenTCP(t) // a free port, but for 127.0.0.1 while the listener lives
		free := strconv.Itoa(freePort(t, port))
		ktest.Refused(t, ktest.Refusal{
			Argv: []string{act, "bind", "0.0.0.0", free}, Flags: []string{"--bind", "127.0.0.1:" + free}, BareStdout: "ok\n", Stdout: "EPERM\n",
			Want: []ktest.Want{{Syscall: "bind", Access: "bind", Errno: "EPERM"}}, Hints: []string{"*:" + free, "127.0.0.1"},
		})
		t.Run("allowed", func(t *testing.T) {
			ktest.Same(t, ktest.Case{Argv: []string{act, "bind", "127.0.0.1", free}, Flags: []string{"--bind", "127.0.0.1:" + free}, Stdout: "ok\n"})
		})
	})
	t.Run("allowed port", func(t *testing.T) {
		t.Parallel()
		port, _ := listenTCP(t)
		ktest.Same(t, ktest.Case{Argv: []string{act, "connect", "127.0.0.1", strconv.Itoa(port)}, Flags: []string{"--connect", "127.0.0.1:" + strconv.Itoa(port)}, Stdout: "ok\n"})
	})
	t.Run("outside address", func(t *testing.T) {
		t.Parallel()
		// A datagram to a documentation address leaves nothing but a route look-up.
		b := ktest.NewBox(t, nil)
		r := b.Guard(t, nil, act, "connect-udp", "192.0.2.1", "53")
		if r.Stdout != "EPERM\n" {
			t.Errorf("want EPERM, got %v", r)
		}
		b.Find(t, ktest.Want{Syscall: "connect", Access: "connect", Addr: "192.0.2.1", Port: 53})
	})
	// A socket outside the writable roots, however it is named.
	sock := func(t testing.TB, b *ktest.Box) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.Path("outside/s.sock")})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		t.Cleanup(func() { l.Close() })
		if err := os.Symlink("../outside/s.sock", b.Path("work/link.sock")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../outside", b.Path("work/dirlink")); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range map[string]string{"relative": "../outside/s.sock", "symlink": "link.sock", "directory symlink": "./dirlink/s.sock"} {
		t.Run("unix "+name, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				Fill: sock, Argv: []string{act, "connect-unix", path}, BareStdout: "ok\n", Stdout: "EPERM\n",
				WantOf: func(b *ktest.Box) []ktest.Want {
					return []ktest.Want{{Syscall: "connect", Access: "connect", Path: path, Resolved: b.Path("outside/s.sock")}}
				},
			})
		})
	}
	t.Run("unix bind", func(t *testing.T) {
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{
			Fill: sock, Argv: []string{act, "bind-unix", "../outside/new.sock"}, BareStdout: "ok\n", Stdout: "EPERM\n", Lasting: true,
			WantOf: func(b *ktest.Box) []ktest.Want {
				return []ktest.Want{{Syscall: "bind", Resolved: b.Path("outside/new.sock")}}
			},
		})
	})
	t.Run("abstract", func(t *testing.T) {
		t.Parallel()
		name := "ptguard-e2e-" + filepath.Base(ktest.NewBox(t, nil).Root)
		l, err := net.Listen("unix", "@"+name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ktest.Refused(t, ktest.Refusal{
			Argv: []string{act, "connect-unix", "@" + name}, BareStdout: "ok\n", Stdout: "EPERM\n",
			Want: []ktest.Want{{Syscall: "connect", Access: "connect", Errno: "EPERM"}},
		})
		t.Run("allowed", func(t *testing.T) {
			ktest.Same(t, ktest.Case{Argv: []string{act, "connect-unix", "@" + name}, Flags: []string{"--connect", "unix @" + name}, Stdout: "ok\n"})
		})
	})
}

// freePort is a TCP port on which nobody listens now, other than not.
func freePort(t testing.TB, not int) int {
	for {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port != not {
			return port
		}
	}
}

// TestRefusedAlways: acts that no policy of this version allows.
func TestRefusedAlways(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "act")
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	outsider := strconv.Itoa(sleeper.Process.Pid)
	fill := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/f", "x")
		if err := os.Mkdir(b.Path("work/d"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const eperm, enosys = "EPERM", "ENOSYS"
	for _, c := range []struct {
		act     string
		bare    string // empty: "ok"
		errno   string
		call    string // system call of the record; empty: the act's name
		root    bool   // the bare half needs root
		lasting bool
		flags   string
	}{
		{act: "unshare-user", errno: eperm, call: "unshare"},
		{act: "unshare-mount", errno: eperm, call: "unshare", root: true},
		{act: "clone-newuser", errno: eperm, call: "clone"},
		{act: "setns", errno: eperm, root: true},
		{act: "mount d", errno: eperm, root: true},
		{act: "fsopen", errno: eperm, root: true},
		{act: "open_tree d", errno: eperm, root: true},
		{act: "chroot d", errno: eperm, root: true},
		{act: "quotactl", errno: eperm, root: true},
		{act: "traceme", errno: eperm, call: "ptrace"},
		{act: "process_vm_readv", errno: eperm},
		{act: "pidfd_open", errno: eperm},
		{act: "io_uring_setup", errno: enosys},
		{act: "bpf", errno: eperm, root: true},
		{act: "keyctl", errno: eperm},
		{act: "add_key", errno: eperm},
		{act: "userfaultfd", errno: eperm},
		{act: "memfd_secret", errno: enosys},
		{act: "open_by_handle_at f", errno: eperm, root: true},
		{act: "seccomp-listener", errno: eperm, call: "seccomp"},
		{act: "prlimit " + outsider, errno: eperm, call: "prlimit64"},
		{act: "mknod-b x", errno: eperm, call: "mknod|mknodat", root: true, lasting: true},
		{act: "mknod-c x", errno: eperm, call: "mknod|mknodat", root: true, lasting: true},
		{act: "number 999", bare: "ENOSYS", errno: enosys, call: "*"},
		{act: "number -1", bare: "ENOSYS", errno: enosys, call: "*"},
		{act: "number 0x3fffffff", bare: "ENOSYS", errno: enosys, call: "*"},
	} {
		if c.root && !root() {
			continue
		}
		t.Run(c.act, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(c.act)
			switch c.call {
			case "":
				c.call = words[0]
			case "*":
				c.call = ""
			}
			if c.bare == "" {
				c.bare = "ok"
			}
			ktest.Refused(t, ktest.Refusal{
				Fill: fill, Argv: append([]string{act}, words...), BareStdout: c.bare + "\n", Stdout: c.errno + "\n", Lasting: c.lasting, Quiet: c.errno == enosys,
				Want: []ktest.Want{{Syscall: c.call, Errno: c.errno}},
			})
		})
	}
	t.Run("clone3", func(t *testing.T) {
		t.Parallel()
		// Every thread of a new libc asks for it, and falls back: neither line nor record.
		b := ktest.NewBox(t, nil)
		if bare, r := b.Bare(t, act, "clone3"), b.Guard(t, nil, act, "clone3"); bare.Stdout != "ok\n" || r.Stdout != "ENOSYS\n" || r.Stderr != "" {
			t.Errorf("want ENOSYS in silence, got bare %v, guarded %v", bare, r)
		}
	})
	t.Run("open mode too", func(t *testing.T) { // guards hold in every mode
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{Argv: []string{act, "traceme"}, Flags: []string{"--mode", "open"}, BareStdout: "ok\n", Stdout: "EPERM\n", Want: []ktest.Want{{Syscall: "ptrace"}}})
	})
	for _, c := range []struct {
		act  string
		root bool
	}{{"tiocsti", true}, {"tiocsetd", false}} {
		if c.root && !root() {
			continue // dev.tty.legacy_tiocsti = 0
		}
		t.Run(c.act, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				Argv: []string{"script", "-qec", act + " " + c.act, "/dev/null"}, BareStdout: "ok", Stdout: "EPERM",
				Want: []ktest.Want{{Syscall: "ioctl", Errno: "EPERM"}},
			})
		})
	}
	t.Run("unshare -r", func(t *testing.T) {
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{Argv: []string{"unshare", "-r", "id", "-u"}, BareStdout: "0\n", Status: 1, Want: []ktest.Want{{Syscall: "unshare", Errno: "EPERM"}}})
	})
	t.Run("strace inside", func(t *testing.T) {
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{Argv: []string{"strace", "-qq", "-o", "/dev/null", "echo", "traced"}, BareStdout: "traced\n", Status: 1, Want: []ktest.Want{{Syscall: "ptrace", Errno: "EPERM"}}})
	})
	// CLONE_UNTRACED is cleared: the child runs, and what it does is judged.
	t.Run("untraced clone", func(t *testing.T) {
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{
			Fill: fillOutside, Argv: []string{ktest.Tracee(t, "untraced"), "../outside/f"}, BareStdout: "ok\n", Stdout: "EPERM\n",
			Want: []ktest.Want{{Syscall: "openat", Access: "write", Path: "../outside/f"}},
		})
	})
	// A daemon that has left its session and its parent is still judged.
	t.Run("daemon", func(t *testing.T) {
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{
			Fill: fillOutside, Argv: []string{"sh", "-c", ktest.Tracee(t, "daemon") + " ../outside/f; touch go; until [ -f daemon.out ]; do :; done; cat daemon.out"}, BareStdout: "ok\n", Stdout: "EPERM\n",
			Want: []ktest.Want{{Syscall: "openat", Access: "write", Path: "../outside/f"}},
		})
	})
}

// TestRefusedABI: system calls of the other ABIs do not reach the kernel.
func TestRefusedABI(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "act")
	if strings.Contains(ktest.NewBox(t, nil).Bare(t, act, "int80-open", "x").Stderr, "unknown act") {
		return // not amd64: there is no such instruction
	}
	ktest.Refused(t, ktest.Refusal{
		Fill: fillOutside, Argv: []string{act, "int80-open", "../outside/f"}, BareStdout: "ok\n", Stdout: "ENOSYS\n", Quiet: true,
		Want: []ktest.Want{{Layer: "guard", Errno: "ENOSYS"}},
	})
	ktest.Refused(t, ktest.Refusal{
		Fill: fillOutside, Argv: []string{act, "int80-creat", "new"}, BareStdout: "ok\n", Stdout: "ENOSYS\n", Lasting: true, Quiet: true,
		Want: []ktest.Want{{Layer: "guard", Errno: "ENOSYS"}},
	})
	// Most kernels are built without x32, so the answer alone proves little here.
	bare := ktest.NewBox(t, nil).Bare(t, act, "x32-getpid").Stdout
	ktest.Refused(t, ktest.Refusal{
		Argv: []string{act, "x32-getpid"}, BareStdout: bare, Stdout: "ENOSYS\n", Quiet: true, Want: []ktest.Want{{Layer: "guard", Errno: "ENOSYS"}},
	})
}

// TestRefusedProc: of processes outside the tree only the harmless files of /proc.
func TestRefusedProc(t *testing.T) {
	t.Parallel()
	pid := strconv.Itoa(os.Getpid())
	act := ktest.Tracee(t, "act")
	// A descriptor of our own: standard output may be a pipe of somebody else's.
	held, err := os.Open("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	for _, file := range []string{"environ", "maps", "auxv", "fd/" + strconv.Itoa(int(held.Fd())), "root/etc/passwd", "cwd/.", "exe", "mem", "task/" + pid + "/environ"} {
		t.Run(strings.ReplaceAll(file, "/", " "), func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				Argv: []string{act, "open-r", "/proc/" + pid + "/" + file}, BareStdout: "ok\n", Stdout: "EPERM\n",
				Want: []ktest.Want{{Layer: "guard", Errno: "EPERM"}},
			})
		})
	}
	t.Run("environ of ptguard", func(t *testing.T) {
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{
			Argv: []string{"sh", "-c", "cat /proc/$PPID/environ >/dev/null && echo leaked"}, BareStdout: "leaked\n", Status: 1,
			Want: []ktest.Want{{Layer: "guard", Errno: "EPERM", Access: "read"}},
		})
	})
	t.Run("its own", func(t *testing.T) {
		t.Parallel()
		ktest.Same(t, ktest.Case{Argv: sh("cat /proc/self/environ >/dev/null; cat /proc/$$/maps >/dev/null; ls -l /proc/self/fd >/dev/null; readlink /proc/self/exe; cat /proc/self/comm; cat /proc/" + pid + "/stat >/dev/null; echo tree >/proc/self/comm; ls /proc/self/root/ >/dev/null")})
	})
	t.Run("another terminal", func(t *testing.T) {
		t.Parallel()
		ptmx, tty, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer ptmx.Close()
		defer tty.Close()
		ktest.Refused(t, ktest.Refusal{
			Argv: []string{act, "open-w", tty.Name()}, BareStdout: "ok\n", Stdout: "EPERM\n",
			Want: []ktest.Want{{Access: "write", Resolved: tty.Name()}},
		})
	})
}

// TestPolicyTable: rows of POLICY 9 that are allowed.
func TestPolicyTable(t *testing.T) {
	t.Parallel()
	home := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "home/.ssh/id_rsa", "KEY\n")
		b.Write(t, "home/.aws/credentials", "KEY\n")
	}
	for name, c := range map[string]ktest.Case{
		"ls":         {Argv: []string{"/bin/ls"}},
		"rm -f":      {Argv: []string{"rm", "-f", "/run/ptguard-e2e-absent.pid"}},
		"ls -l":      {Argv: []string{"ls", "-l", "/etc/passwd", "/etc/"}, Stdout: "root"},
		"diff":       {Argv: []string{"bash", "-c", "diff <(echo a) <(echo b)"}, Status: 1, Stdout: "< a\n"},
		"dev stderr": {Argv: []string{"sh", "-c", "echo out >/dev/stdout; echo err > /dev/stderr"}, Stdout: "out\n"},
		"ssh-agent":  {Argv: []string{"ssh-agent", "sh", "-c", "ssh-add -l; echo up; kill $SSH_AGENT_PID"}, Stdout: "up\n"},
		"ls -la ~":   {Fill: home, Argv: []string{"sh", "-c", "ls -la ~ | wc -l; stat -c %n ~/.ssh | wc -l; ls -d ~/.ssh >/dev/null"}},
		"devices":    {Argv: []string{"bash", "-c", "echo x >/dev/null; head -c 9 /dev/zero | wc -c; head -c 9 /dev/urandom | wc -c; echo x >/dev/full || echo full; cat </dev/null; echo x >/dev/shm/ptguard-e2e.$$ && rm /dev/shm/ptguard-e2e.$$"}, Stdout: "9\n9\nfull\n", Scrubs: []ktest.Scrub{}},
		"mkdir -p of a write root": {
			Argv: []string{"sh", "-c", "mkdir -p ../outside/a/b/c && echo x >../outside/a/b/c/f && cat ../outside/a/b/c/f"}, Stdout: "x\n",
			FlagsOf: func(b *ktest.Box) []string { return []string{"--write", b.Path("outside/a/b/c")} },
		},
		"write flag": {
			Argv:    []string{"sh", "-c", "echo x >../outside/f; mv ../outside/f ../outside/g; chmod 600 ../outside/g; ln ../outside/g h; rm ../outside/g"},
			FlagsOf: func(b *ktest.Box) []string { return []string{"--write", b.Path("outside")} },
		},
		"open mode": {Argv: []string{"sh", "-c", "echo x >../outside/f; cat ../outside/f ~/.ssh/id_rsa"}, Fill: home, Flags: []string{"--mode", "open"}, Stdout: "x\nKEY\n"},
		"policy file": {
			Fill: func(t testing.TB, b *ktest.Box) {
				b.Write(t, "outside/p.yaml", "ptguard: 1\nfiles:\n  write: [ ../outside/out ]\n")
			},
			Argv: []string{"sh", "-c", "mkdir ../outside/out; echo x >../outside/out/f; cat ../outside/out/f"}, Stdout: "x\n",
			FlagsOf: func(b *ktest.Box) []string {
				b.Write(t, "outside/p.yaml", "ptguard: 1\nfiles:\n  write: [ "+b.Path("outside/out")+" ]\n")
				return []string{"-p", b.Path("outside/p.yaml")}
			},
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); ktest.Same(t, c) })
	}
	t.Run("lifted", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, home)
		r := b.Guard(t, []string{"--read", b.Path("home/.aws")}, "cat", b.Path("home/.aws/credentials"))
		if r.Stdout != "KEY\n" || r.Status != 0 {
			t.Errorf("want the file, got %v", r)
		}
		i := slices.IndexFunc(b.Records(t), func(r record.Record) bool { return r.Kind == record.KindStart })
		if i < 0 {
			t.Fatal("no start record")
		}
		start := b.Records(t)[i].Start
		if start == nil || !strings.Contains(strings.Join(start.Lifted, " "), ".aws") {
			t.Errorf("the start record does not say what was lifted: %+v", start)
		}
	})
	t.Run("temp is the root", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, fillOutside)
		b.Env = []string{"TMPDIR=/"}
		r := b.Guard(t, nil, "sh", "-c", "f=$(mktemp -p /tmp) && rm $f && echo temp; echo x >>../outside/f")
		if r.Stdout != "temp\n" {
			t.Errorf("want /tmp writable, got %v", r)
		}
		r.WantLine(t, "", "TMPDIR")
		if got := b.Text(t, "outside/f"); got != "old\n" {
			t.Errorf("TMPDIR=/ made everything writable: %q", got)
		}
	})
	t.Run("end record", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, fillOutside)
		r := b.Guard(t, []string{"--deny", b.Path("outside/g")}, "sh", "-c", "for i in 1 2 3 4 5; do cat ../outside/g; done; exit 3")
		if r.Status != 3 {
			t.Errorf("want status 3, got %v", r)
		}
		records := b.Records(t)
		if len(records) < 3 {
			t.Fatalf("want start, denial, end; got %d records", len(records))
		}
		end := records[len(records)-1]
		if records[0].Kind != record.KindStart || end.Kind != record.KindEnd || end.End == nil {
			t.Fatalf("first record %s, last %s", records[0].Kind, end.Kind)
		}
		if end.End.Denials != 5 || end.End.Status != 3 || end.End.Lost != 0 {
			t.Errorf("want 5 denials, status 3, none lost; got %+v", end.End)
		}
		for i, x := range records {
			if x.V != record.Version || x.Run != records[0].Run || x.Time.IsZero() || i > 0 && x.Seq <= records[i-1].Seq {
				t.Errorf("record %d: version, run, time or seq: %+v", i, x)
			}
		}
		r.WantLine(t, "", "1 denial (5 times)")
	})
	t.Run("quiet", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, fillOutside)
		if r := b.Guard(t, []string{"--quiet"}, "sh", "-c", "echo x >>../outside/f"); len(r.GuardLines()) != 0 || r.Status != 2 {
			t.Errorf("--quiet: %v", r)
		}
		if r := b.Guard(t, []string{"--log", b.Path("tmp/log")}, "sh", "-c", "echo x >>../outside/f"); len(r.GuardLines()) != 0 || r.Status != 2 {
			t.Errorf("--log FILE: %v", r)
		}
		if log := b.Text(t, "tmp/log"); !strings.Contains(log, "denied") || !strings.Contains(log, "outside/f") {
			t.Errorf("--log FILE holds %q", log)
		}
		if r := b.Guard(t, []string{"--fail-on-denial"}, "sh", "-c", "echo x >>../outside/f; true"); r.Status != 120 {
			t.Errorf("--fail-on-denial: %v", r)
		}
		if len(b.Denials(t)) == 0 {
			t.Error("--quiet keeps the records, too")
		}
	})
}

// TestCoreDump: the kernel writes a core dump where the policy refuses writing (C30). Where
// core_pattern hands dumps to a program there is no file, and nothing to refuse.
func TestCoreDump(t *testing.T) {
	t.Parallel()
	const crash = `cd "$0" && ulimit -Sc "$(ulimit -Hc)" && sh -c 'kill -SEGV $$'; echo $?`
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		t.Fatal(err)
	}
	b := ktest.NewBox(t, nil)
	cores := func() int {
		list, _ := filepath.Glob(b.Path("outside/*core*"))
		return len(list)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(4, &limit); err != nil { // RLIMIT_CORE
		t.Fatal(err)
	}
	file := string(pattern) == "core\n" && limit.Max > 1<<20
	if bare := b.Bare(t, "sh", "-c", crash, b.Outside); bare.Stdout != "139\n" || file && cores() == 0 {
		t.Fatalf("bare: %d dumps, %v", cores(), bare)
	}
	b.Reset(t)
	if r := b.Guard(t, nil, "sh", "-c", crash, b.Outside); r.Stdout != "139\n" || cores() != 0 {
		t.Errorf("%d dumps, %v", cores(), r)
	}
	// In mode open nothing but seals and guards holds.
	b.Reset(t)
	if r := b.Guard(t, []string{"--mode", "open"}, "sh", "-c", crash, b.Outside); r.Stdout != "139\n" || file && cores() == 0 {
		t.Errorf("mode open: %d dumps, %v", cores(), r)
	}
}

// TestCoreLimit: the limit is told as the program set it, whatever holds.
func TestCoreLimit(t *testing.T) {
	t.Parallel()
	const script = `
import ctypes, os, resource
from resource import RLIMIT_CORE as CORE
libc = ctypes.CDLL(None, use_errno=True)
PRLIMIT, GETRLIMIT, SETRLIMIT = (302, 97, 160) if os.uname().machine == "x86_64" else (261, 163, 164)
def ask(f, *a):
    try: return f(*a)
    except (OSError, ValueError) as e: return repr(e)
def call(*a): return libc.syscall(*a), ctypes.get_errno()
first = resource.getrlimit(CORE)
hard = first[1]
top = 1 << 40 if hard == -1 else hard
print(first)
print(ask(resource.setrlimit, CORE, (min(4096, top), hard)), resource.getrlimit(CORE))
def child(f):
    pid = os.fork()
    if pid == 0:
        print(f(), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
child(lambda: (resource.getrlimit(CORE), ask(resource.setrlimit, CORE, (0, min(100, top))), resource.getrlimit(CORE), ask(resource.setrlimit, CORE, (0, top))))
print(resource.getrlimit(CORE))
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.read(r, 1)
    print("told", resource.getrlimit(CORE), flush=True)
    os._exit(0)
print(ask(resource.prlimit, pid, CORE, (min(7, top), min(9, top))), ask(resource.prlimit, pid, CORE))
os.write(w, b"x")
os.waitpid(pid, 0)
print(ask(resource.prlimit, pid, CORE))
pair = (ctypes.c_uint64 * 2)(5, 4)
JUNK = 0xdeadbeef << 32
print(call(SETRLIMIT, CORE, pair), call(PRLIMIT, 0, ctypes.c_long(JUNK | CORE), pair, 0), call(PRLIMIT, 0, CORE, 0, 0))
print(call(SETRLIMIT, CORE, 0), call(GETRLIMIT, CORE, 0), call(PRLIMIT, 0, CORE, ctypes.c_long(8), 0), call(PRLIMIT, 0, CORE, 0, ctypes.c_long(8)))
print(call(GETRLIMIT, CORE, pair), list(pair), call(GETRLIMIT, 99, pair), call(PRLIMIT, 0, resource.RLIMIT_NOFILE, 0, pair), pair[0] > 0)
os.execvp("sh", ["sh", "-c", "ulimit -c; ulimit -Hc"])
`
	ktest.Same(t, ktest.Case{Argv: []string{"python3", "-c", script}, Stdout: "told ("})
}

// TestDeniedReadRace: a file that may not be read, but may be moved, is never read under the
// name that a thread gives it while another opens that name.
func TestDeniedReadRace(t *testing.T) {
	t.Parallel()
	tracee := ktest.Tracee(t, "sealrace")
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/s", "secret\n")
		b.Write(t, "work/p", "plain\n")
	})
	if bare := b.Bare(t, tracee, "s", "p", "20000"); bare.Stdout != "won some, opened some\n" {
		t.Fatalf("the race is never won without ptguard: %v", bare)
	}
	b.Reset(t)
	policy := b.Write(t, "outside/p.yaml", "ptguard: 1\nfiles: { deny: [ { path: ./s, access: [read] } ] }\n")
	if got := b.Guard(t, []string{"--policy", policy}, tracee, "s", "p", "3000"); got.Stdout != "won none, opened some\n" {
		t.Errorf("%v", got)
	}
}
