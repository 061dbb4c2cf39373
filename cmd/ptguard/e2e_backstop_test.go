// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// raceFolders makes what backstop_race.c acts on.
func raceFolders(t testing.TB, b *ktest.Box) {
	for _, side := range []string{"w0", "w1"} {
		must(t, os.RemoveAll(b.Path(side)))
		for _, act := range []string{"create", "mkdir", "mkfifo", "symlink", "bind", "link", "rename", "rmdir", "write", "truncate", "unlink"} {
			must(t, os.MkdirAll(b.Path(side+"/"+act), 0o755))
		}
		for i := range backstopVictims {
			for _, act := range []string{"write", "truncate", "unlink"} {
				must(t, os.WriteFile(b.Path(fmt.Sprintf("%s/%s/v%d", side, act, i)), []byte("x"), 0o644))
			}
			must(t, os.Mkdir(b.Path(fmt.Sprintf("%s/rmdir/v%d", side, i)), 0o755))
		}
	}
}

const backstopVictims = 400

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBackstopAlone: in a build that checks and then lets calls continue, a racer writes
// outside in eleven ways; with the backstop it meets EACCES at each.
func TestBackstopAlone(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	b.Fill = raceFolders
	race := func(backstop string) map[string][2]int {
		t.Helper()
		b.Reset(t)
		r := b.Run(t, ktest.Cmd{Argv: []string{
			ktest.PlainBinary(t), "run", "-q", "--backstop", backstop, "--write", b.Path("w0"), "--",
			ktest.Tracee(t, "backstop_race"), b.Root, fmt.Sprint(backstopVictims),
		}})
		out := map[string][2]int{}
		for line := range strings.Lines(r.Stdout) {
			var act string
			var wins, stopped, tries int
			if n, _ := fmt.Sscanf(line, "%s wins %d stopped %d tries %d", &act, &wins, &stopped, &tries); n == 4 {
				out[act] = [2]int{wins, stopped}
			}
		}
		if r.Status != 0 || len(out) != 11 || !strings.HasSuffix(r.Stdout, "\nother errors 0\n") {
			t.Fatalf("%v", r)
		}
		return out
	}
	for act, n := range race("off") {
		if n[0] < 1 || n[1] != 0 {
			t.Errorf("without the backstop %s outside: %d wins, %d EACCES; want wins, or this proves nothing", act, n[0], n[1])
		}
	}
	for act, n := range race("require") {
		if n[0] != 0 || n[1] < 1 {
			t.Errorf("with the backstop %s outside: %d wins, %d EACCES; want no win and some EACCES", act, n[0], n[1])
		}
	}
}

// TestBackstopRefusesNothing: what the policy allows works as it does bare, where the
// backstop knows the object and where it cannot.
func TestBackstopRefusesNothing(t *testing.T) {
	t.Parallel()
	out := func(rel ...string) func(b *ktest.Box) []string {
		return func(b *ktest.Box) []string {
			flags := []string{"--backstop", "require"}
			for _, r := range rel {
				flags = append(flags, "--write", b.Path(r))
			}
			return flags
		}
	}
	fileRule := func(b *ktest.Box) []string {
		p := b.Path("policy.yaml")
		must(t, os.WriteFile(p, []byte("ptguard: 1\nfiles: { write: [ { file: "+b.Path("outside/one")+" } ] }\n"), 0o644))
		return []string{"--backstop", "require", "-p", p}
	}
	use := `
		echo a >f; echo b >>f; cat f; mkdir d; mv f d/g; ln d/g h; ln -s h s; : >h; cat s; rm s
		python3 -c 'import socket, os, sys
for name in os.getcwd() + "/sock", "rel":
    s = socket.socket(socket.AF_UNIX); s.bind(name); print(oct(os.stat(name).st_mode), os.stat(name).st_uid)'
		mkfifo p; (echo hi >p) & cat p; wait; truncate -s 3 d/g; stat -c %s d/g; rm -r d h sock rel p`
	for name, c := range map[string]ktest.Case{
		"devices":              {Argv: []string{"sh", "-ec", "for d in null zero full random urandom; do echo > /dev/$d || echo $d; done; echo x >/dev/stderr"}, FlagsOf: out()},
		"terminals":            {Argv: []string{"python3", "-c", "import os, pty; m, s = pty.openpty(); t = os.open(os.ttyname(s), os.O_RDWR | os.O_NOCTTY); os.write(t, b'x\\n'); print(os.read(m, 9))"}, FlagsOf: out()},
		"own /proc":            {Argv: []string{"sh", "-ec", "echo renamed >/proc/self/comm; cat /proc/$$/comm; echo 7 >/proc/$$/oom_score_adj; cat /proc/$$/oom_score_adj; echo 0x1 >/proc/$$/coredump_filter"}, FlagsOf: out()},
		"inherited descriptor": {Wrap: under(`"$@" 7>../outside/log; cat ../outside/log`), Argv: []string{"sh", "-ec", "echo a >/dev/fd/7; echo b >>/proc/self/fd/7"}, FlagsOf: func(*ktest.Box) []string { return []string{"--backstop", "require", "--keep-fd", "7"} }},
		"passed descriptor": {Argv: []string{"python3", "-c", `
import os, socket
a, b = socket.socketpair()
pid = os.fork()
if pid == 0:
    f = os.open("../outside/one", os.O_RDWR | os.O_CREAT)
    os.write(f, b"first")
    os.unlink("../outside/one")
    socket.send_fds(a, [b"x"], [f]); os._exit(0)
_, fds, _, _ = socket.recv_fds(b, 1, 1)
f = os.open("/proc/self/fd/%d" % fds[0], os.O_RDWR)
os.write(f, b"second"); os.lseek(f, 0, 0); print(os.read(f, 99)); os.waitpid(pid, 0)`}, FlagsOf: fileRule},
		"the folder":      {Argv: []string{"sh", "-ec", "umask 027; cd ../outside; " + use}, FlagsOf: out("outside")},
		"made again":      {Argv: []string{"sh", "-ec", "umask 027; rm -rf ../outside; mkdir ../outside; cd ../outside; " + use}, FlagsOf: out("outside")},
		"absent":          {Argv: []string{"sh", "-ec", "umask 027; mkdir -p ../outside/x/y; cd ../outside/x/y; " + use}, FlagsOf: out("outside/x/y")},
		"absent in home":  {Argv: []string{"sh", "-ec", "umask 027; mkdir -p ../home/.cache/x; cd ../home/.cache/x; " + use}, FlagsOf: out("home/.cache/x")},
		"the work folder": {Argv: []string{"sh", "-ec", `umask 027; cd "$PWD"; ` + use}, FlagsOf: out()},
		"a file": {
			Fill: func(t testing.TB, b *ktest.Box) { b.Write(t, "outside/one", "1\n") },
			Argv: []string{"sh", "-ec", "echo 2 >>../outside/one; rm ../outside/one; echo 3 >../outside/one; echo 4 >>../outside/one; cat ../outside/one"}, FlagsOf: fileRule, Stdout: "3\n4\n",
		},
		"an absent file": {Argv: []string{"sh", "-ec", "echo 3 >../outside/one; echo 4 >../outside/one; cat ../outside/one; rm ../outside/one"}, FlagsOf: fileRule, Stdout: "4\n"},
		"between roots":  {Argv: []string{"sh", "-ec", "mkdir d; echo a >d/f; mv d ../outside/d; mv ../outside/d/f $TMPDIR; ln $TMPDIR/f g; cat g; mv g /dev/shm/ptguard-$$; cat /dev/shm/ptguard-$$; rm /dev/shm/ptguard-$$"}, FlagsOf: out("outside")},
		"shared memory": {Argv: []string{"python3", "-c", `
import os, mmap
from multiprocessing import shared_memory
s = shared_memory.SharedMemory(create=True, size=100); s.buf[0] = 7; print(s.buf[0]); s.close(); s.unlink()
f = os.open(".", os.O_TMPFILE | os.O_RDWR); os.write(f, b"x"); os.link("/proc/self/fd/%d" % f, "named", src_dir_fd=os.open(".", os.O_RDONLY)); print(open("named").read())
m = os.memfd_create("m"); n = os.open("/proc/self/fd/%d" % m, os.O_RDWR); os.write(n, b"memfd"); print(os.lseek(m, 0, os.SEEK_END))`}, FlagsOf: out()},
		"a Landlock of its own": {Argv: []string{"python3", "-c", `
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("a/d"); os.makedirs("b"); open("a/f", "w").close()
print(libc.syscall(444, None, 0, 1) > 0)
attr = struct.pack("Q", (1 << 15) - 1)
r = libc.syscall(444, attr, len(attr), 0)
for d in "a", "b":
    rule = struct.pack("=Qi", (1 << 15) - 1, os.open(d, os.O_PATH))
    assert libc.syscall(445, r, 1, rule, 0) == 0
layers = 0
libc.prctl(38, 1, 0, 0, 0)
for i in range(10):
    assert libc.syscall(446, r, 0) == 0
os.rename("a/f", "b/g"); os.rename("a/d", "b/d"); os.link("b/g", "a/h"); open("a/n", "w").write("x"); os.unlink("b/g")
for act in (lambda: open("c", "w")), (lambda: os.rename("a/n", "n")), (lambda: open("../outside/c", "w")):
    try: act(); print("done")
    except OSError as e: print(e.errno)`}, FlagsOf: out("outside")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, c)
		})
	}
}

// TestBackstopSetuid: with --allow-setuid no_new_privs stays off, set-user-ID programs work, and the backstop
// holds all the same, what ptguard does for another user, too.
func TestBackstopSetuid(t *testing.T) {
	t.Parallel()
	if !root() {
		return // only root may
	}
	script := `grep NoNewPrivs /proc/self/status | tr '\t' ' '; chown 65534 id; chmod 4755 id; mkdir -m 777 d; ./id -u; cp id d/x
setpriv --reuid 65533 --regid 65533 --clear-groups sh -c '"$0" -u; mkdir d/e; rmdir d/e; touch d/f; rm d/f; umask 0; ln -s . d/g' ./id; stat -c '%u %F' d/g`
	want := "NoNewPrivs: 0\n65534\n65534\n65533 symbolic link\n"
	ktest.Same(t, ktest.Case{
		Fill: func(t testing.TB, b *ktest.Box) { b.Copy(t, "/usr/bin/id", "work/id") },
		Argv: []string{"sh", "-ec", script}, Flags: []string{"--allow-setuid", "--backstop", "require"}, Stdout: want,
	})
}

// TestBackstopTier: the start record names the backstop or says why there is none, and
// "require" runs nothing then.
func TestBackstopTier(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	for _, c := range []struct {
		flags []string
		want  string
		why   string
	}{
		{nil, ", Landlock write backstop", ""},
		{[]string{"--preset", "strict"}, ", Landlock write backstop", ""},
		{[]string{"--backstop", "off"}, ", Landlock write backstop off", ""},
		{[]string{"--mode", "open"}, ", no Landlock write backstop (mode open lets the tree change everything)", "mode open lets the tree change everything"},
		{[]string{"--audit"}, ", no Landlock write backstop (--audit refuses nothing)", "--audit refuses nothing"},
		{[]string{"--write", "/"}, ", no Landlock write backstop (a write rule covers /)", "a write rule covers /"},
	} {
		if r := b.Guard(t, c.flags, "true"); r.Status != 0 {
			t.Errorf("%v: %v", c.flags, r)
		}
		var tier string
		for _, r := range b.Records(t) {
			if r.Kind == record.KindStart {
				tier = r.Start.Tier
			}
		}
		if !strings.HasSuffix(tier, c.want) {
			t.Errorf("%v: tier %q, want …%q", c.flags, tier, c.want)
		}
		b.Reset(t)
		if c.why == "" {
			continue
		}
		r := b.Guard(t, append([]string{"--backstop", "require"}, c.flags...), "touch", "ran")
		r.WantLine(t, "error", "--backstop require: there is no Landlock write backstop in this run: "+c.why)
		if r.Status != 125 {
			t.Errorf("%v: want 125, got %v", c.flags, r)
		}
		b.Absent(t, "work/ran")
		b.Reset(t)
	}
}

// changesOutside does each kind of change to files in a folder, by itself and for another user
// that it turns into, and prints what came of it.
const changesOutside = `
import errno, os, socket, sys
d, mine = sys.argv[1], sys.argv[2]
if len(sys.argv) > 3:
    os.setresgid(65534, 65534, 0); os.setresuid(65534, 65534, 0)
def opened(flags, name="/file"):
    f = os.open(d + name, flags, 0o600); os.close(f)
def bound(name):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.close()
acts = {
    "create": lambda: opened(os.O_CREAT | os.O_WRONLY | os.O_EXCL, "/new"),
    "write": lambda: opened(os.O_WRONLY),
    "both": lambda: opened(os.O_RDWR | os.O_APPEND),
    "open-truncate": lambda: opened(os.O_RDONLY | os.O_TRUNC),
    "tmpfile": lambda: opened(os.O_TMPFILE | os.O_WRONLY, ""),
    "fifo": lambda: opened(os.O_RDWR, "/fifo"),
    "truncate": lambda: os.truncate(d + "/file", 1),
    "link": lambda: os.link(d + "/file", d + "/hard"),
    "link-out": lambda: os.link(mine + "/file", d + "/hard2"),
    "symlink": lambda: os.symlink("x", d + "/link"),
    "mkdir": lambda: os.mkdir(d + "/dir"),
    "rmdir": lambda: os.rmdir(d + "/empty"),
    "mkfifo": lambda: os.mkfifo(d + "/fifo2"),
    "rename": lambda: os.rename(d + "/file", d + "/moved"),
    "rename-out": lambda: os.rename(mine + "/one", d + "/moved2"),
    "rename-in": lambda: os.rename(d + "/two", mine + "/two"),
    "unlink": lambda: os.unlink(d + "/gone"),
    "bind": lambda: bound(d + "/sock"),
    "magic": lambda: open("/proc/self/fd/%d" % os.open(d + "/gone2", os.O_RDONLY), "w").close(),
}
for name, act in acts.items():
    try: act(); print(name, "done")
    except OSError as e: print(name, errno.errorcode[e.errno])
`

// TestBackstopHoldsPtguard: a ptguard that takes every refusal by a rule for an allow changes
// nothing outside of what the policy covers, whether the program or ptguard would make the
// change; without the backstop it does.
func TestBackstopHoldsPtguard(t *testing.T) {
	t.Parallel()
	users := [][]string{nil}
	if root() {
		users = append(users, []string{"other"})
	}
	for _, user := range users {
		b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
			for _, d := range []string{"outside", "work"} {
				must(t, os.Chmod(b.Path(d), 0o777))
				for _, name := range []string{"file", "one", "two", "gone", "gone2"} {
					b.Write(t, d+"/"+name, "text")
					must(t, os.Chmod(b.Path(d+"/"+name), 0o666))
					if root() {
						must(t, os.Chown(b.Path(d+"/"+name), 65534, 65534)) // to be linked by its owner
					}
				}
				must(t, os.Mkdir(b.Path(d+"/empty"), 0o777))
				must(t, syscall.Mkfifo(b.Path(d+"/fifo"), 0o666))
				must(t, os.Chmod(b.Path(d+"/fifo"), 0o666))
			}
		})
		try := func(argv ...string) map[string]string {
			t.Helper()
			b.Reset(t)
			argv = append(argv, "python3", "-c", changesOutside, b.Outside, b.Work)
			r := b.Run(t, ktest.Cmd{Argv: append(argv, user...)})
			out := map[string]string{}
			for line := range strings.Lines(r.Stdout) {
				act, result, _ := strings.Cut(strings.TrimSpace(line), " ")
				out[act] = result
			}
			if r.Status != 0 || len(out) != 19 {
				t.Fatalf("%v", r)
			}
			return out
		}
		guarded := []string{ktest.TaggedBinary(t, "ptguard_credulous"), "run", "-q", "--trace", b.Trace, "--backstop"}
		for name, argv := range map[string][]string{"bare": nil, "without the backstop": append(guarded, "off", "--")} {
			for act, result := range try(argv...) {
				if result != "done" {
					t.Errorf("%v %s: %s: %s, want it done, or this proves nothing", user, name, act, result)
				}
			}
		}
		for act, result := range try(append(guarded, "require", "--")...) {
			if result != "EACCES" {
				t.Errorf("%v with the backstop: %s outside: %s, want EACCES", user, act, result)
			}
		}
		held := 0
		for _, r := range b.Records(t) {
			if r.Rule == "guard backstop" && strings.HasPrefix(r.Resolved, b.Outside) {
				held += int(max(1, r.Count))
			}
		}
		if held != 19 {
			t.Errorf("%v: %d records of what the backstop held, want 19\n%s", user, held, text(t, b.Trace))
		}
		names, err := os.ReadDir(b.Outside)
		must(t, err)
		if len(names) != 7 {
			t.Errorf("%v: outside has %v", user, names)
		}
	}
}
