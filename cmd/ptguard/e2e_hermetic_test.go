// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// hermetic runs a shell script bare and in the hermetic view, in a box that fill filled.
func hermetic(t *testing.T, fill func(testing.TB, *ktest.Box), flags []string, script string) (bare, guarded ktest.Result, b *ktest.Box) {
	t.Helper()
	b = ktest.NewBox(t, fill)
	bare = b.Bare(t, "bash", "-c", script)
	b.Reset(t)
	guarded = b.Guard(t, append([]string{"--preset", "hermetic"}, flags...), "bash", "-c", script)
	b.NoProcessLeft(t)
	return bare, guarded, b
}

// lines has a script print one word a line for each of its checks: "NAME yes" if the command
// succeeds, else "NAME no".
func checks(pairs ...string) string {
	var s strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		s.WriteString("if { " + pairs[i+1] + "; } >/dev/null 2>&1; then echo " + pairs[i] + " yes; else echo " + pairs[i] + " no; fi\n")
	}
	return s.String()
}

// TestHermeticView: the toolchain and the work folder are there and nothing else is, to
// stat, to open and in listings; only the private temp folder can be written.
func TestHermeticView(t *testing.T) {
	t.Parallel()
	fill := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/f", "mine\n")
		b.Write(t, "home/file", "home\n")
		b.Write(t, "home/.ssh/id_rsa", "key\n")
		b.Write(t, "tmp/other", "other\n")
		b.Write(t, "outside/f", "outside\n")
	}
	script := checks(
		"read-work", "cat f",
		"libc", "ls /usr/bin /lib && cat /etc/passwd /etc/hosts",
		"proc", "cat /proc/self/status /proc/meminfo",
		"devices", "echo x >/dev/null && head -c1 /dev/urandom",
		"write-tmp", "echo x >$(mktemp) && test -O $TMPDIR && test $(stat -c %a $TMPDIR) = 700",
		"stat-home", "test -e ~/file",
		"stat-key", "test -e ~/.ssh/id_rsa",
		"read-home", "cat ~/file",
		"read-other-tmp", "cat ../tmp/other",
		"read-outside", "cat ../outside/f",
		"write-work", "echo x >new",
		"change-work", "echo x >>f",
		"shadow", "test -e /etc/shadow",
		"var", "test -e /var/lib",
		"init", "cat /proc/1/cmdline",
		"lists-home", "ls .. | grep home",
		"lists-root", "ls / | grep var",
	)
	bare, guarded, b := hermetic(t, fill, nil, script)
	// What belongs to root nobody cannot read bare either; stat and listings he can. The box's
	// own temp folder is open to look at, which is not what is asked of it here.
	if strings.Count(bare.Stdout, " no\n") != 1 || !strings.Contains(bare.Stdout, "write-tmp no\n") {
		t.Fatalf("bare: %v", bare)
	}
	want := "read-work yes\nlibc yes\nproc yes\ndevices yes\nwrite-tmp yes\n" +
		"stat-home no\nstat-key no\nread-home no\nread-other-tmp no\nread-outside no\nwrite-work no\nchange-work no\n" +
		"shadow no\nvar no\ninit no\nlists-home no\nlists-root no\n"
	if guarded.Stdout != want {
		t.Errorf("want %q, got %v", want, guarded)
	}
	b.Absent(t, "work/new")
	if got := b.Text(t, "work/f"); got != "mine\n" {
		t.Errorf("the work folder was changed: %q", got)
	}

	// Absent is ENOENT, not a refusal that would tell that it is there.
	got := b.Guard(t, []string{"--preset", "hermetic"}, "/usr/bin/python3", "-c", `
import os, errno
for p in os.path.expanduser("~/.ssh/id_rsa"), os.path.expanduser("~/file"), "/etc/shadow", "../outside/f":
    for act in os.stat, open, os.listdir, os.readlink:
        try: act(p); print(p, "there")
        except OSError as e:
            if e.errno != errno.ENOENT: print(p, act.__name__, e)
print("done")`)
	if got.Stdout != "done\n" {
		t.Errorf("want ENOENT for all, got %v", got)
	}
}

// TestHermeticTemp: the temp folder is new, closed to others, known by all four variables,
// gone at the end even if the program closed a part of it or was killed; what the user has
// there stays.
func TestHermeticTemp(t *testing.T) {
	t.Parallel()
	fill := func(t testing.TB, b *ktest.Box) { b.Write(t, "tmp/mine", "stays\n") }
	b := ktest.NewBox(t, fill)
	script := `echo $TMPDIR; [ "$TMPDIR$TMPDIR$TMPDIR" = "$TMP$TEMP$TEMPDIR" ] && echo same; mkdir $TMPDIR/d; echo x >$TMPDIR/d/f; chmod 0 $TMPDIR/d; `
	for _, end := range []string{"exit 3", "kill -9 $$"} {
		r := b.Guard(t, []string{"--preset", "hermetic"}, "bash", "-c", script+end)
		dir, rest, _ := strings.Cut(r.Stdout, "\n")
		if !strings.HasPrefix(dir, "/") || rest != "same\n" || (r.Status != 3 && r.Signal == 0) {
			t.Fatalf("want the name of the folder, got %v", r)
		}
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", dir, err)
		}
	}
	if got := b.Text(t, "tmp/mine"); got != "stays\n" {
		t.Errorf("a file of the user's: %q", got)
	}
	// --start-in-scratch starts there, with the work folder at its absolute path.
	b.Write(t, "work/f", "readable\n")
	r := b.Guard(t, []string{"--start-in-scratch"}, "bash", "-c", `[ "$PWD" = "$TMPDIR" ] && [ "$(pwd -P)" = "$TMPDIR" ] && echo x >x && cat `+b.Path("work/f"))
	if r.Stdout != "readable\n" || r.Status != 0 {
		t.Errorf("--start-in-scratch: %v", r)
	}
	b.Absent(t, "work/x")
}

// TestMasks: dotfiles at any depth can be looked at and not read, whatever made them before
// the run; what a rule names, the exceptions, and what the tree makes are free.
func TestMasks(t *testing.T) {
	t.Parallel()
	fill := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/.env", "SECRET\n")
		b.Write(t, "work/a/b/.env", "SECRET\n")
		b.Write(t, "work/.hidden/deep/f", "SECRET\n")
		b.Write(t, "work/.venv/marker", "plain\n")
		b.Write(t, "work/a/plain", "plain\n")
		if err := os.Symlink("a/b/.env", b.Path("work/link")); err != nil {
			t.Fatal(err)
		}
	}
	policy := func(b *ktest.Box) string {
		return b.Write(t, "outside/p.yaml", "ptguard: 1\nfiles: { masks: { dotfiles: true, except: [.venv] } }\n")
	}
	script := checks(
		"plain", "cat a/plain .venv/marker",
		"look", "test -e .env && test -s a/b/.env && ls -la .hidden/deep",
		"made", "echo x >.new && cat .new && mkdir .d && echo y >.d/f && cat .d/f && mv .new .other && cat .other && rm .other",
		"top", "cat .env", "deep", "cat a/b/.env", "within", "cat .hidden/deep/f", "link", "cat link",
		"write", "echo x >>.env", "remove", "rm -f a/b/.env", "move", "mv .env env", "hardlink", "ln .hidden/deep/f f", "into", "echo x >.hidden/new",
	)
	b := ktest.NewBox(t, fill)
	if bare := b.Bare(t, "bash", "-c", script); strings.Contains(bare.Stdout, " no\n") {
		t.Fatalf("bare: %v", bare)
	}
	const free, masked = "plain yes\nlook yes\nmade yes\n", "top no\ndeep no\nwithin no\nlink no\nwrite no\nremove no\nmove no\nhardlink no\ninto no\n"
	b.Reset(t)
	if r := b.Guard(t, []string{"--policy", policy(b)}, "bash", "-c", script); r.Stdout != free+masked {
		t.Errorf("want %q, got %v", free+masked, r)
	}
	b.Find(t, ktest.Want{Rule: "mask dotfiles", Resolved: b.Path("work/.env")})
	// A directory that was there before keeps its mask where it is moved to, and does not
	// become the tree's own by lying in a folder that the tree made.
	b.Reset(t)
	moves := "mkdir d && mv a d/a && mv d e; " + checks("moved", "cat e/a/b/.env", "replaced", "mkdir -p q/b && echo x >q/b/.env && mv q r && mv e/a q && cat q/b/.env")
	if r := b.Bare(t, "bash", "-c", moves); r.Stdout != "moved yes\nreplaced yes\n" {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	if r := b.Guard(t, []string{"--policy", policy(b)}, "bash", "-c", moves); r.Stdout != "moved no\nreplaced no\n" {
		t.Errorf("moved folders: %v", r)
	}
	// Nor by a rename onto it, or a removal, that fails.
	b.Reset(t)
	fails := "mkdir d n; mv -T n a; mv a/b d/b; rmdir d/b; " + checks("failed", "test -d a && cat d/b/.env", "onto", "cat a/.env")
	b.Write(t, "work/a/.env", "SECRET\n")
	if r := b.Bare(t, "bash", "-c", fails); r.Stdout != "failed yes\nonto yes\n" {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	b.Write(t, "work/a/.env", "SECRET\n")
	if r := b.Guard(t, []string{"--policy", policy(b)}, "bash", "-c", fails); r.Stdout != "failed no\nonto no\n" {
		t.Errorf("what failed: %v", r)
	}
	// A rule that names the masked name lifts it, and no other.
	b.Reset(t)
	if r := b.Guard(t, []string{"--policy", policy(b), "--read", ".hidden", "--read", "a/b/.env"}, "bash", "-c", checks("named", "cat .hidden/deep/f a/b/.env link", "other", "cat .env")); r.Stdout != "named yes\nother no\n" {
		t.Errorf("named: %v", r)
	}
}

// TestMasksGit: in a repository with committed dotfiles git sees no deletion, and commits
// none.
func TestMasksGit(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/.env", "SECRET\n")
		b.Write(t, "work/.github/workflows/ci.yaml", "ci\n")
		b.Write(t, "work/f", "one\n")
	})
	// Files older than the index, or git would have to read them again.
	setup := "git init -q . && touch -d '1 hour ago' .env .github/workflows/ci.yaml f && git add -A && git commit -qm one && git ls-files"
	if r := b.Bare(t, "bash", "-c", setup); r.Status != 0 || strings.Count(r.Stdout, "\n") != 3 {
		t.Fatalf("repository: %v", r)
	}
	script := "git status --porcelain && echo two >f && git -c user.name=a -c user.email=a@b commit -qam two && git show --name-status --format=%s HEAD && git ls-files && git status --porcelain"
	want := "two\n\nM\tf\n.env\n.github/workflows/ci.yaml\nf\n"
	r := b.Guard(t, []string{"--preset", "hermetic", "--write", "."}, "bash", "-c", script)
	if r.Stdout != want || r.Status != 0 {
		t.Errorf("want %q, got %v", want, r)
	}
	if r := b.Bare(t, "git", "-C", b.Work, "show", "HEAD:.env"); r.Stdout != "SECRET\n" {
		t.Errorf("the commit lost a file: %v", r)
	}
}

// TestHardened: the calls that the hardened profile adds are refused there and nowhere else,
// and programs that many people run do not need them.
func TestHardened(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join(ktest.ModuleRoot(), "testdata", "tracees", "hardened.py"))
	if err != nil {
		t.Fatal(err)
	}
	// A copy in the box: where the repository lies, strict and agent may read or not.
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/hardened.py", string(script))
		b.Write(t, "outside/hardened.py", string(script))
	})
	calls, outside := filepath.Join(b.Work, "hardened.py"), filepath.Join(b.Outside, "hardened.py")
	bare := b.Bare(t, "/usr/bin/python3", calls)
	plain := b.Guard(t, nil, "/usr/bin/python3", calls)
	if plain.Stdout != bare.Stdout || bare.Stdout == "" {
		t.Errorf("default preset: want %v, got %v", bare, plain)
	}
	if !strings.Contains(bare.Stdout, "get_mempolicy 0\n") || !strings.Contains(bare.Stdout, "AF_NETLINK 0\n") {
		t.Fatalf("bare: %v", bare)
	}
	for _, flags := range [][]string{{"--hardened"}, {"--preset", "strict"}, {"--preset", "agent"}} {
		r := b.Guard(t, flags, "/usr/bin/python3", calls)
		for line := range strings.Lines(r.Stdout) {
			name, got, _ := strings.Cut(strings.TrimSpace(line), " ")
			want := "EPERM"
			if strings.HasPrefix(name, "AF_") {
				want = "0"
			}
			if got != want {
				t.Errorf("%q: %s: want %s, got %s", flags, name, want, got)
			}
		}
		if strings.Count(r.Stdout, "\n") != strings.Count(bare.Stdout, "\n") {
			t.Errorf("%q: %v", flags, r)
		}
	}
	if r := b.Guard(t, []string{"--preset", "hermetic", "--no-hardened"}, "/usr/bin/python3", "-c", "exec(open('"+outside+"').read())"); r.Status == 0 {
		t.Errorf("the script lies outside the view: %v", r)
	}
	r := b.Guard(t, []string{"--preset", "hermetic"}, "/usr/bin/python3", "-c", "import socket\ntry: socket.socket(socket.AF_NETLINK)\nexcept OSError as e: print(e.strerror)")
	if r.Stdout != "Address family not supported by protocol\n" {
		t.Errorf("netlink in the hermetic view: %v", r)
	}
	for name, argv := range map[string][]string{
		"python threads": {"/usr/bin/python3", "-c", "import threading; t = [threading.Thread(target=print, args=('x',)) for _ in range(20)]; [i.start() for i in t]; [i.join() for i in t]"},
		"node":           {"node", "-e", "const {Worker} = require('worker_threads'); new Worker('console.log(1)', {eval: true}).on('exit', c => console.log(c))"},
		"java":           {"java", "-version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, ktest.Case{Argv: argv, Flags: []string{"--hardened"}})
		})
	}
	t.Run("chromium", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
			b.Write(t, "work/page.html", "<!doctype html><p id=p>no</p><script>document.getElementById('p').textContent = 'scripts ' + (40 + 2)</script>")
		})
		b.Env = []string{"TMPDIR=/tmp"} // it makes a socket there, whose path must be short
		argv := []string{
			"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
			"--disable-sync", "--user-data-dir=" + b.Work + "/profile", "--dump-dom", "file://" + b.Work + "/page.html",
		}
		if r := b.Run(t, ktest.Cmd{Argv: argv, Timeout: 2 * time.Minute}); !strings.Contains(r.Stdout, "scripts 42") {
			t.Fatalf("bare: %v", r)
		}
		b.Reset(t)
		r := b.Run(t, ktest.Cmd{Argv: b.Guarded(t, []string{"--hardened"}, argv...), Timeout: 3 * time.Minute})
		if !strings.Contains(r.Stdout, "scripts 42") || r.Status != 0 {
			t.Errorf("want the page with its script run, got %v", r)
		}
	})
}

// TestLimits: which limit was hit is said, and nothing else changes.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := func(t *testing.T, text string) (*ktest.Box, []string) {
		b := ktest.NewBox(t, nil)
		return b, []string{"--policy", b.Write(t, "outside/p.yaml", "ptguard: 1\nlimits: { "+text+" }\n")}
	}
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		b, flags := limits(t, "processes: 6")
		script := `
import os, errno, threading
def fork():
    try: p = os.fork()
    except OSError as e: return errno.errorcode[e.errno]
    if p == 0:
        os.read(r, 1); os._exit(0)
    return "ok"
r, w = os.pipe()
print([fork() for _ in range(8)])
t = [threading.Thread(target=lambda: None) for _ in range(30)]
[i.start() for i in t]; [i.join() for i in t]
os.write(w, b"x" * 8)
try:
    while True: os.wait()
except ChildProcessError: pass
print(fork())
os.write(w, b"x")`
		if r := b.Bare(t, "/usr/bin/python3", "-c", script); r.Stdout != "['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok']\nok\n" {
			t.Fatalf("bare: %v", r)
		}
		r := b.Guard(t, flags, "/usr/bin/python3", "-c", script)
		if r.Stdout != "['ok', 'ok', 'ok', 'ok', 'ok', 'EAGAIN', 'EAGAIN', 'EAGAIN']\nok\n" {
			t.Errorf("want five children, got %v", r)
		}
		b.Find(t, ktest.Want{Rule: "limits processes"})
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		b, flags := limits(t, "memory: 300MiB")
		// Forked children share the pages: together they are below the limit.
		shared := "import os, time\nx = bytearray(100 << 20)\np = [os.fork() for _ in range(3)]\ntime.sleep(1)\nif all(p): [os.wait() for _ in p]\nprint('done') if all(p) else os._exit(0)"
		if r := b.Guard(t, flags, "/usr/bin/python3", "-c", shared); r.Stdout != "done\n" {
			t.Errorf("shared pages: %v", r)
		}
		hog := "import time\nx = bytearray(600 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(3)\nprint('done')"
		if r := b.Bare(t, "/usr/bin/python3", "-c", hog); r.Stdout != "done\n" {
			t.Fatalf("bare: %v", r)
		}
		r := b.Guard(t, flags, "/usr/bin/python3", "-c", hog)
		if r.Stdout != "" || r.Status != 125 || !strings.Contains(r.Stderr, "of memory, its limit is 300.0 MiB (limits.memory)") {
			t.Errorf("want status 125 and the limit named, got %v", r)
		}
	})
	t.Run("cpu", func(t *testing.T) {
		t.Parallel()
		b, flags := limits(t, "cpu: 1s")
		burn := "import os, time\np = os.fork()\nwhile time.process_time() < 3: pass\nif p: os.wait(); print('done')"
		if r := b.Bare(t, "/usr/bin/python3", "-c", burn); r.Stdout != "done\n" {
			t.Fatalf("bare: %v", r)
		}
		r := b.Guard(t, flags, "/usr/bin/python3", "-c", burn)
		if r.Stdout != "" || r.Status != 125 || !strings.Contains(r.Stderr, "of cpu time, its limit is 1s (limits.cpu)") {
			t.Errorf("want status 125 and the limit named, got %v", r)
		}
		// Children that end between two looks, and that nobody waits for: no process that is
		// left has used a second.
		burn = `import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for i in range(300):
    if not os.fork():
        while time.process_time() < 0.005: pass
        os._exit(0)
    try: os.wait()
    except ChildProcessError: pass
print("done")`
		if r := b.Bare(t, "/usr/bin/python3", "-c", burn); r.Stdout != "done\n" {
			t.Fatalf("bare: %v", r)
		}
		r = b.Guard(t, flags, "/usr/bin/python3", "-c", burn)
		if r.Stdout != "" || r.Status != 125 || !strings.Contains(r.Stderr, "of cpu time, its limit is 1s (limits.cpu)") {
			t.Errorf("short children: want status 125 and the limit named, got %v", r)
		}
		// What is waited for is not counted twice, however deep.
		b.Write(t, "work/half.py", "import time\nwhile time.process_time() < 0.5: pass\n")
		deep := `sh -c 'sh -c "python3 half.py; :"; :'; echo done`
		if r := b.Guard(t, flags, "bash", "-c", deep); r.Stdout != "done\n" {
			t.Errorf("half a second, three processes deep: %v", r)
		}
	})
	t.Run("wall", func(t *testing.T) {
		t.Parallel()
		b, flags := limits(t, "wall: 500ms")
		if r := b.Bare(t, "sh", "-c", "sleep 2; echo done"); r.Stdout != "done\n" {
			t.Fatalf("bare: %v", r)
		}
		if r := b.Guard(t, flags, "sh", "-c", "sleep 2; echo done"); r.Stdout != "" || r.Status != 124 || !strings.Contains(r.Stderr, "(limits.wall)") {
			t.Errorf("want status 124, got %v", r)
		}
	})
	t.Run("rlimits", func(t *testing.T) {
		t.Parallel()
		b, flags := limits(t, "open-files: 64, file-size: 1MiB, core: 0")
		r := b.Guard(t, flags, "bash", "-c", "ulimit -n; ulimit -f; ulimit -c; ulimit -Hn; bash -c 'ulimit -n'")
		if r.Stdout != "64\n1024\n0\n64\n64\n" {
			t.Errorf("want 64, 1024 KiB, 0, got %v", r)
		}
	})
}

// TestSession: a session of its own has no terminal; a run that dies with its parent does.
func TestSession(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	script := "import os; print(os.getsid(0) == os.getpid())"
	if r := b.Bare(t, "/usr/bin/python3", "-c", script); r.Stdout != "False\n" {
		t.Fatalf("bare: %v", r)
	}
	if r := b.Guard(t, []string{"--new-session"}, "/usr/bin/python3", "-c", script); r.Stdout != "True\n" {
		t.Errorf("--new-session: %v", r)
	}
	// The shell that starts ptguard ends at once. What it started goes on, or does not.
	outlive := func(flags ...string) {
		t.Helper()
		b.Reset(t)
		guarded := b.Guarded(t, flags, "sh", "-c", "touch started; while ! test -e stop; do sleep 0.05; done; touch stopped")
		quoted := "'" + strings.Join(guarded, "' '") + "'"
		if r := b.Bare(t, "bash", "-c", quoted+" >/dev/null 2>&1 & while ! test -e started; do sleep 0.01; done"); r.Status != 0 {
			t.Fatalf("start: %v", r)
		}
	}
	outlive()
	b.Write(t, "work/stop", "")
	await(t, b, "work/stopped")
	outlive("--die-with-parent")
	b.NoProcessLeft(t)
	b.Absent(t, "work/stopped")
}

// TestEnvironment: the list of strict, what the policy passes and sets; what loads code is
// dropped, and no value is in a trace.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	b.Env = []string{"LD_LIBRARY_PATH=/nowhere", "BASH_ENV=/nowhere", "PYTHONPATH=/nowhere", "AWS_SECRET_ACCESS_KEY=s3cr3t", "AWS_PROFILE=p", "LC_TIME=C", "PASSED=1"}
	policy := b.Write(t, "outside/p.yaml", "ptguard: 1\nextends: [hermetic]\nenv: { pass: [PASSED, AWS_PROFILE], set: { CI: \"1\" } }\n")
	bare := b.Bare(t, "env")
	r := b.Guard(t, []string{"--policy", policy, "-v"}, "env")
	for _, want := range []string{"PASSED=1\n", "AWS_PROFILE=p\n", "CI=1\n", "LC_TIME=C\n", "HOME=", "PATH="} {
		if !strings.Contains("\n"+r.Stdout, "\n"+want) {
			t.Errorf("want %q in %v", want, r)
		}
	}
	for _, name := range []string{"LD_LIBRARY_PATH", "BASH_ENV", "PYTHONPATH", "AWS_SECRET_ACCESS_KEY"} {
		if !strings.Contains(bare.Stdout, name+"=") || strings.Contains(r.Stdout, name) {
			t.Errorf("%s is passed on, or was not there", name)
		}
		if !strings.Contains(r.Stderr, name) {
			t.Errorf("-v does not name %s: %v", name, r)
		}
	}
	if strings.Contains(r.Stderr+b.Text(t, "trace.jsonl"), "s3cr3t") {
		t.Error("a secret value is shown")
	}
}

// TestGrantedFile: a file that a rule names can be replaced as editors and git do, by a
// rename of a regular file; nothing else takes its name, and its neighbours stay closed.
func TestGrantedFile(t *testing.T) {
	t.Parallel()
	fill := func(t testing.TB, b *ktest.Box) { b.Write(t, "outside/cfg", "[user]\n") }
	b := ktest.NewBox(t, fill)
	cfg := b.Path("outside/cfg")
	script := checks(
		"git", "git config --file "+cfg+" user.name x && grep -q 'name = x' "+cfg,
		"rename", "echo new >x && mv x "+cfg+" && grep -q new "+cfg,
		"absent", "echo new >y && mv y "+b.Path("outside/later")+" && rm "+b.Path("outside/later"),
		"link", "ln -s /etc/passwd l && mv -T l "+cfg,
		"folder", "mkdir d && mv -T d "+b.Path("outside/later"),
		"neighbour", "echo x >z && mv z "+b.Path("outside/other"),
	)
	if r := b.Bare(t, "bash", "-c", script); strings.Contains(r.Stdout, " no\n") {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	r := b.Guard(t, []string{"--write", cfg, "--write", cfg + ".lock", "--write", b.Path("outside/later")}, "bash", "-c", script)
	if want := "git yes\nrename yes\nabsent yes\nlink no\nfolder no\nneighbour no\n"; r.Stdout != want {
		t.Errorf("want %q, got %v", want, r)
	}
}

// TestComplaints: what users of namespace sandboxes complain of, and find right here. Others of
// these are TestMasks (a grant beats the mask, dotfiles of the run stay), TestMasksGit (no
// ghost files), TestGrantedFile (atomic replacement), TestHermeticView (listing and reading agree).
func TestComplaints(t *testing.T) {
	t.Parallel()
	fill := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/f", "one\n")
		b.Script(t, "work/.tools/bin/prog", "#!/bin/sh\necho ran\ncat .other/secret 2>/dev/null || echo closed\n")
		b.Write(t, "work/.other/secret", "SECRET\n")
		for name, to := range map[string]string{".odd": "/nonexistent/x", "loop": "loop", ".outside": b.Outside} {
			if err := os.Symlink(to, b.Path("work/"+name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	script := checks(
		"alternatives", "awk 'BEGIN { exit 0 }'",
		"write", "echo two >f && cat f", // a read root over a write root
		"absent", "mkdir -p ../outside/later/deep && echo x >../outside/later/deep/y && cat ../outside/later/deep/y",
		"beside", "echo x >../outside/other",
	)
	for name, c := range map[string]struct {
		flags      func(b *ktest.Box) []string
		argv       []string
		bare, want string
	}{
		"grants": {
			func(b *ktest.Box) []string {
				return []string{"--write", ".", "--read", ".", "--write", b.Path("outside/later")}
			},
			[]string{"bash", "-c", script},
			"alternatives yes\nwrite yes\nabsent yes\nbeside yes\n", "alternatives yes\nwrite yes\nabsent yes\nbeside no\n",
		},
		"program under a masked folder": {
			func(*ktest.Box) []string { return nil },
			[]string{"./.tools/bin/prog"},
			"ran\nSECRET\n", "ran\nclosed\n",
		},
		"odd links": {
			func(*ktest.Box) []string { return nil },
			[]string{"bash", "-c", "ls -A . >/dev/null && readlink .odd && echo fine"},
			"/nonexistent/x\nfine\n", "/nonexistent/x\nfine\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, fill)
			if r := b.Bare(t, c.argv...); r.Stdout != c.bare {
				t.Fatalf("bare: %v", r)
			}
			b.Reset(t)
			if r := b.Guard(t, append([]string{"--preset", "hermetic"}, c.flags(b)...), c.argv...); r.Stdout != c.want {
				t.Errorf("want %q, got %v", c.want, r)
			}
		})
	}
}
