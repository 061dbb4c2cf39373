// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// TestFairTurns: processes that stop all the time do not keep another one waiting. wait4(2)
// would: it gives the latest born first, and beside two of them an older process makes one
// call in thousands, beside sixteen none at all. Counted, not timed: the others' calls for
// each of its own.
func TestFairTurns(t *testing.T) {
	t.Parallel()
	flood := ktest.Tracee(t, "flood")
	for _, age := range []string{"old", "new"} {
		t.Run(age, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			r := b.Guard(t, nil, flood, "16", "100", age)
			var each, most int
			if n, _ := fmt.Sscanf(r.Stdout, "%d calls of others for each, %d at most", &each, &most); n != 2 || r.Status != 0 {
				t.Fatalf("want two counts, got %v", r)
			}
			if each > 1000 {
				t.Errorf("sixteen others made %d calls for each of the one's", each)
			}
		})
	}
}

// TestKilled: whatever state ptguard and the tree are in, kill -9 of ptguard leaves nothing:
// ptguard stopped before, the tree in a group stop, a daemon of a session of its own.
func TestKilled(t *testing.T) {
	t.Parallel()
	const tree = `sleep 600 & (setsid sh -c 'sleep 601 & echo $! >daemon.pid; exec sleep 602' &)
		until [ -s daemon.pid ]; do :; done; `
	for name, c := range map[string]struct {
		script string
		stop   bool // ptguard
	}{
		"ptguard stopped": {tree + "touch ready; while :; do : >>busy; done", true},
		"group stop":      {tree + "kill -STOP $! $(cat daemon.pid); touch ready; wait", false},
		"both":            {tree + "kill -STOP $! $(cat daemon.pid); touch ready; kill -STOP $$", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			r := b.Run(t, ktest.Cmd{Argv: b.Guarded(t, nil, "bash", "-c", c.script), Started: func(pid int) {
				await(t, b, "work/ready")
				if c.stop {
					_ = syscall.Kill(pid, syscall.SIGSTOP)
					ktest.Until(ktest.DefaultTimeout, func() bool {
						return strings.Contains(text(t, "/proc/"+strconv.Itoa(pid)+"/stat"), ") T ")
					})
				}
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}})
			if r.Signal != syscall.SIGKILL {
				t.Errorf("want death by SIGKILL, got %v", r)
			}
			b.NoProcessLeft(t)
		})
	}
}

// TestDescriptorLimit: ptguard works with as many descriptors as it may have, and passes on
// the limit that it was started with.
func TestDescriptorLimit(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	script := "ulimit -Sn 64; ulimit -Hn 128; exec "
	bare := b.Bare(t, "sh", "-c", script+"sh -c 'ulimit -Sn; ulimit -Hn'")
	guarded := b.Bare(t, "sh", "-c", script+strings.Join(b.Guarded(t, nil, "sh", "-c", "'ulimit -Sn; ulimit -Hn'"), " "))
	if bare.Stdout != "64\n128\n" || guarded.Stdout != bare.Stdout {
		t.Errorf("want the same limits, got %v and %v", bare, guarded)
	}
}

// TestStalled: a file system whose server does not answer holds up the calls that lead to it
// and nothing else: a walk, the text of a path in a mapped file, a change to names, a
// listing, the first bytes of a program. When it answers, they go on. Only root mounts one.
func TestStalled(t *testing.T) {
	t.Parallel()
	if !root() {
		return
	}
	server, stalled := ktest.Tracee(t, "stallfs"), ktest.Tracee(t, "stalled")
	want := []string{"late done", "list done", "new done", "page done", "ran", "works"}
	for _, guarded := range []bool{false, true} {
		b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/mnt/unmounted", "") })
		argv := []string{stalled, b.Path("work/gate")}
		if guarded {
			argv = b.Guarded(t, []string{"--hide", b.Path("work/nothing")}, argv...) // so that listings are looked at
		}
		r := b.Bare(t, append([]string{server, b.Path("work/mnt"), b.Path("work/gate")}, argv...)...)
		got := slices.Sorted(strings.SplitSeq(strings.TrimSpace(r.Stdout), "\n"))
		if r.Status != 0 || !slices.Equal(got, want) || len(r.GuardLines()) > 0 {
			t.Errorf("guarded %v: want %q, got %v", guarded, want, r)
		}
		if b.Text(t, "work/written") != "" {
			t.Error("the file named by the page was not made")
		}
	}
}

// TestOtherChildren: a child that ptguard was started with is not waited for.
func TestOtherChildren(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	r := b.Bare(t, "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $! >pid; exec "+strings.Join(b.Guarded(t, nil, "sh", "-c", "'exit 7'"), " "))
	if r.Status != 7 || r.Stderr != "" {
		t.Errorf("want status 7, got %v", r)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(b.Text(t, "work/pid")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the child has been ended: %v", err)
	}
}

// TestLease: a truncate(2) that waits for the holder of a lease keeps nobody else waiting.
func TestLease(t *testing.T) {
	t.Parallel()
	lease := ktest.Tracee(t, "lease")
	for _, run := range []func(*ktest.Box) ktest.Result{
		func(b *ktest.Box) ktest.Result { return b.Bare(t, lease) },
		func(b *ktest.Box) ktest.Result { return b.Guard(t, nil, lease) },
	} {
		if r := run(ktest.NewBox(t, nil)); r.Stdout != "waits\ntruncated 3\n" || r.Stderr != "" {
			t.Errorf("want it to wait and then to be truncated, got %v", r)
		}
	}
}

// TestOtherListener: where another seccomp listener keeps ptguard from having one, arguments
// cannot be protected, and that is no matter of a warning.
func TestOtherListener(t *testing.T) {
	t.Parallel()
	listened := ktest.Tracee(t, "listened")
	b := ktest.NewBox(t, nil)
	if r := b.Bare(t, listened, "sh", "-c", "echo ran"); r.Stdout != "ran\n" {
		t.Fatalf("want it to run without ptguard, got %v", r)
	}
	refused := b.Bare(t, append([]string{listened}, b.Guarded(t, nil, "touch", "ran")...)...)
	if refused.Status != 125 || !strings.Contains(refused.Stderr, "another seccomp listener") || !strings.Contains(refused.Stderr, "--allow-races") {
		t.Errorf("want status 125 and what to do, got %v", refused)
	}
	b.Absent(t, "work/ran")
	b.Reset(t)
	accepted := b.Bare(t, append([]string{listened}, b.Guarded(t, []string{"--allow-races"}, "touch", "ran", "../outside/f")...)...)
	if accepted.Status != 1 {
		t.Errorf("want touch's status 1, got %v", accepted)
	}
	accepted.WantLine(t, "warning", "not protected")
	accepted.WantLine(t, "denied", "outside/f")
	b.Text(t, "work/ran")
	b.Absent(t, "outside/f")
	if start := b.Records(t)[0].Start; start == nil || !strings.HasPrefix(start.Tier, "check-then-continue") {
		t.Errorf("want a start record that says check-then-continue, got %+v", start)
	}
}

// TestNoExecutableMapping: a task that may map no executable memory has its calls ended at
// their exit stop instead.
func TestNoExecutableMapping(t *testing.T) {
	t.Parallel()
	program := ktest.Tracee(t, "noexecmap", "-static")
	const want = "map Permission denied\nbind Success\nchild Success\nagain Address already in use\noutside %s\n"
	bare := ktest.NewBox(t, nil)
	if r := bare.Bare(t, program); r.Stdout != fmt.Sprintf(want, "Success") {
		t.Errorf("bare: %v", r)
	}
	b := ktest.NewBox(t, nil)
	if r := b.Guard(t, nil, program); r.Stdout != fmt.Sprintf(want, "Operation not permitted") {
		t.Errorf("guarded: %v", r)
	}
	b.Absent(t, "outside/three")
	b.Find(t, ktest.Want{Syscall: "bind", Path: "../outside/three"})
	told := 0
	for _, r := range b.Records(t) {
		if r.Kind == record.KindWarning && strings.Contains(r.Reason, "exit stop") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d records tell of the exit stop, want one", told)
	}
}

// TestNoExecutableMemfd: with vm.memfd_noexec=2 the window comes in as ever: its mapping, not
// its mode, makes it executable. The setting is one of a pid name space, which root can make.
func TestNoExecutableMemfd(t *testing.T) {
	t.Parallel()
	if !root() {
		return
	}
	b := ktest.NewBox(t, nil)
	const memfd = `python3 -c 'import os; os.memfd_create("x", 0x10)' 2>&1 | tail -1; test -e ../outside/hidden && echo there; ` // MFD_EXEC
	script := memfd + strings.Join(b.Guarded(t, []string{"--hide", b.Path("outside/hidden")}, "python3", "-c",
		`'import os, socket; socket.socket(socket.AF_UNIX).bind("s"); print(os.path.exists("s"), os.path.exists("../outside/hidden"))'`), " ")
	b.Write(t, "outside/hidden", "")
	r := b.Bare(t, "unshare", "-p", "-f", "--mount-proc", "sh", "-c", "echo 2 >/proc/sys/vm/memfd_noexec; "+script)
	if !strings.Contains(r.Stdout, "Permission denied") || !strings.HasSuffix(r.Stdout, "there\nTrue False\n") {
		t.Errorf("want memfds refused and the run unharmed, got %v", r)
	}
	if start := b.Records(t)[0].Start; start == nil || !strings.HasPrefix(start.Tier, "race-free") {
		t.Errorf("want a race-free run, got %+v", start)
	}
}

// TestCancelled: a thread that is cancelled anywhere in an open unwinds, as an exception would:
// its clean-up runs. -fexceptions is what makes that an unwinder's work.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ktest.Same(t, ktest.Case{
		Argv: []string{ktest.Tracee(t, "cancel", "-fexceptions"), "300"}, Stdout: "300 cancelled, and cleaned up\nfifo: 1 cancelled, 1 cleaned up\n",
	})
}

// TestSignalsInTheWindow: a signal that finds a thread in a call that runs from the window unwinds, is
// restarted and preempts as it does bare: from the stub, and where exit stops take its place.
func TestSignalsInTheWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]ktest.Case{
		"exceptions": {
			Argv:   []string{ktest.CxxTracee(t, "throws", "-fnon-call-exceptions", "-fasynchronous-unwind-tables"), "400"},
			Stdout: "thrown out of a blocked open\n400 caught, some opened: yes, all destroyed: yes\n",
		},
		"cancelled":    {Argv: []string{ktest.Tracee(t, "cancel", "-fexceptions"), "100"}, Stdout: "100 cancelled, and cleaned up\nfifo: 1 cancelled, 1 cleaned up\n"},
		"waits":        {Argv: []string{ktest.Tracee(t, "opens"), "waits"}, Stdout: "cancelled: 1\n"},
		"Go preempted": {Argv: []string{ktest.GoTracee(t, "preempt")}, Stdout: "480 0\n"},
	} {
		for _, tag := range []string{"", "ptguard_nostub", "ptguard_nomseal"} {
			t.Run(name+" "+tag, func(t *testing.T) {
				t.Parallel()
				c.Tag = tag
				c.Flags = []string{"--deny", "/nowhere"} // reads are judged
				ktest.Same(t, c)
			})
		}
	}
}

// TestPeerCredentials: who connects is seen as itself by its peer, also where the tree might rename
// the folder of the socket, and its socket keeps its time limit.
func TestPeerCredentials(t *testing.T) {
	t.Parallel()
	script := `
import os, socket, struct, sys, time
os.makedirs("d/e"); os.chmod("d", 0o755); os.chmod("d/e", 0o777)
cred = lambda s: struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
full = socket.socket(socket.AF_UNIX); full.bind("d/e/full"); full.listen(0)
def server(kind, name):
    s = socket.socket(socket.AF_UNIX, kind); s.bind(name); s.listen(9); return s
for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
    for name in "d/e/s%d" % kind, os.getcwd() + "/d/e/t%d" % kind:
        s = server(kind, name); os.chmod(name, 0o777)
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            if len(sys.argv) > 1: os.setgroups([]); os.setresgid(65533, 65533, 65533); os.setresuid(65534, 65534, 65534)
            c = socket.socket(socket.AF_UNIX, kind); c.connect(name); os.read(r, 1)
            os._exit(cred(c)[0] != os.getppid())
        a, _ = s.accept(); p, u, g = cred(a); os.write(w, b"x")
        print(p == pid, (u, g) == ((65534, 65533) if len(sys.argv) > 1 else (os.getuid(), os.getgid())), os.waitpid(pid, 0)[1])
first = socket.socket(socket.AF_UNIX); first.connect("d/e/full")
for limit in (0, 300000), (1, 50000):
    c = socket.socket(socket.AF_UNIX); c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("2q", *limit))
    before = time.monotonic()
    try: c.connect("d/e/full")
    except OSError as e: took, number = time.monotonic() - before - limit[0] - limit[1] / 1e6, e.errno
    print(number, took > -0.02, struct.unpack("2q", c.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16))[0] == limit[0])
# A server that has to change names before it accepts.
pid = os.fork()
if pid == 0:
    c = socket.socket(socket.AF_UNIX); c.connect("d/e/full"); os._exit(0)
while open("/proc/%d/stat" % pid).read().rsplit(")")[1].split()[0] not in "St": pass
for i in range(20): os.mkdir("n%d" % i); os.rename("n%d" % i, "m%d" % i)
full.accept(); full.accept(); print(os.waitpid(pid, 0)[1])`
	ktest.Same(t, ktest.Case{Argv: []string{"python3", "-c", script}, Stdout: "True True 0\nTrue True 0\nTrue True 0\nTrue True 0\n11 True True\n11 True True\n0\n"})
	if root() {
		ktest.Same(t, ktest.Case{Argv: []string{"python3", "-c", script, "other"}, Stdout: "True True 0\nTrue True 0\nTrue True 0\nTrue True 0\n"})
	}
}

// TestConnectWaits: a connect that waits for its server can be interrupted and killed, and is
// restarted where the kernel restarts it (signal(7)).
func TestConnectWaits(t *testing.T) {
	t.Parallel()
	ktest.Same(t, ktest.Case{
		Argv: []string{ktest.Tracee(t, "connect")}, Stdout: "first ok\nnon-blocking EAGAIN\nalarmed EINTR\ndatagram alarmed EINTR\nrestarted ok\ndatagram restarted ok\nlimited EINTR\nstopped ok\n",
	})
}

// TestManyMessages: what is large or many in a message comes through as bare.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	ktest.Same(t, ktest.Case{
		Argv:   []string{ktest.Tracee(t, "messages")},
		Stdout: "sendmsg 1024\nrecvmsg 1024 same, 253 descriptors\n40 messages in order\n17280 bytes of control data 1 1 ttl 65\n17280 bytes of control data 1 1 ttl 66\nno option -1 Invalid argument\nsendto 1 2 3\n",
	})
}

// TestLogAtTheFileLimit: a line that RLIMIT_FSIZE does not let ptguard write is lost, and
// nothing else: such a write raises SIGXFSZ (setrlimit(2)), which ends who does not expect it.
func TestLogAtTheFileLimit(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	limited := func(argv ...string) ktest.Result {
		b.Write(t, "work/log", strings.Repeat("x", 1<<20)) // as long as the limit lets it be
		return b.Bare(t, append([]string{"sh", "-c", `ulimit -f 2048; exec "$@" 2>>log`, "sh"}, argv...)...)
	}
	const script = `(: >../outside/f) 2>/dev/null; exit 7`
	if r := limited("sh", "-c", "echo word >&2; exit 7"); r.Status == 7 {
		t.Fatalf("want the limit to end a program that writes, got %v", r)
	}
	if r := limited("sh", "-c", script); r.Status != 7 || b.Text(t, "outside/f") != "" {
		t.Fatalf("want the script to get to its end, got %v", r)
	}
	b.Reset(t)
	if r := limited(ktest.Binary(t), "run", "--", "sh", "-c", script); r.Status != 7 {
		t.Errorf("want the program's own status, got %v", r)
	}
	b.Absent(t, "outside/f")
	if log := b.Text(t, "work/log"); strings.Trim(log, "x") != "" {
		t.Errorf("the log ends in %q: want it at its limit", log[len(log)-100:])
	}
}
