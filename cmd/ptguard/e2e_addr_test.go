// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// addrLines are the lines of an act of testdata/tracees/addr.c.
func addrLines(t testing.TB, b *ktest.Box, flags []string, argv ...string) []string {
	t.Helper()
	r := b.Bare(t, argv...)
	if flags != nil {
		r = b.Guard(t, flags, argv...)
	}
	if r.Status != 0 || r.Stdout == "" {
		t.Fatalf("%q: %v", argv, r)
	}
	return strings.Split(strings.TrimSuffix(r.Stdout, "\n"), "\n")
}

// TestAddrLengths: every length of an address that the kernel might take or refuse, at the
// end of a page, NULL and in no mapping. Where the address is of the socket's family the
// answers are the kernel's own; where it is not, no call may work that failed.
func TestAddrLengths(t *testing.T) {
	t.Parallel()
	addr := ktest.Tracee(t, "addr")
	for _, flags := range [][]string{{"--mode", "open"}, {"--bind", "*:*"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			b := shortBox(t)
			bare := addrLines(t, b, nil, addr, "lengths")
			b.Reset(t)
			got := addrLines(t, b, flags, addr, "lengths")
			if len(bare) != len(got) || len(bare) < 8000 {
				t.Fatalf("%d lines bare, %d guarded", len(bare), len(got))
			}
			wrong := differences{}
			for i := range bare {
				f, g := strings.Fields(bare[i]), strings.Fields(got[i])
				was, is := f[4], g[4]
				send := strings.HasPrefix(f[1], "send")
				exact := !strings.Contains(f[0], "-") || f[0] == "unix-dgram" || f[0] == "udp-unspec" || f[0] == "tcp-unspec" && !send
				if send && (f[0] == "tcp" || f[0] == "tcp6" || f[0] == "unix") {
					exact = false // a stream does not look at the address: EPIPE, ENOTCONN
				}
				if was != is && (exact || was == "ok" || was == "EINPROGRESS" || is == "ok" || is == "EINPROGRESS") {
					wrong.add(strings.Join(f[:4], " "), was, is)
				}
			}
			wrong.report(t)
		})
	}
}

// shortBox is a box whose work folder has room for a socket's name of 108 bytes: a unix
// address holds no more, and ptguard hands the kernel canonical paths.
func shortBox(t testing.TB) *ktest.Box { return ktest.NewBox(t, nil) }

// TestAddrHeaders: message headers that cannot be read; a vector stops at the first.
func TestAddrHeaders(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	addr := ktest.Tracee(t, "addr")
	bare := addrLines(t, b, nil, addr, "headers")
	got := addrLines(t, b, []string{"--mode", "open"}, addr, "headers")
	wrong := differences{}
	for i := range bare {
		if bare[i] != got[i] {
			wrong.add(bare[i], bare[i], got[i])
		}
	}
	wrong.report(t)
}

// listenOn starts a TCP or UDP listener on host and gives its port and whether something
// came since the last question.
func listenOn(t testing.TB, network, host string) (string, func(testing.TB, *ktest.Box) bool) {
	t.Helper()
	address := net.JoinHostPort(host, "0")
	if strings.HasPrefix(network, "udp") {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_, port, _ := net.SplitHostPort(c.LocalAddr().String())
		return port, func(testing.TB, *ktest.Box) bool {
			_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			n, _, err := c.ReadFrom(make([]byte, 9))
			return err == nil && n == 1
		}
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port, func(testing.TB, *ktest.Box) bool {
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(50 * time.Millisecond))
		c, err := l.Accept()
		if err == nil {
			c.Close()
		}
		return err == nil
	}
}

// TestAddrRefused: ways of naming an address, each refused where the address is.
func TestAddrRefused(t *testing.T) {
	t.Parallel()
	addr := ktest.Tracee(t, "addr")
	for _, c := range []struct {
		act, network, listen, host string
		more                       []string // arguments after the port
		deny                       string   // what is denied, else only port 1 is allowed
		stdout                     string   // bare, before ok
		silent                     bool     // nothing arrives at the listener
		call                       string
	}{
		{act: "connect", network: "tcp6", listen: "::1", host: "::1"},
		{act: "connect", network: "tcp6", listen: "::1", host: "::"},
		{act: "connect", network: "tcp6", listen: "::1", host: "::1%lo"}, // a zone changes nothing
		{act: "connect", network: "tcp4", listen: "127.0.0.1", host: "::ffff:0.0.0.0"},
		{act: "connect", network: "tcp4", listen: "127.0.0.1", host: "::ffff:127.0.0.1", deny: "127.0.0.1"},
		{act: "connect", network: "tcp4", listen: "127.0.0.1", host: "0.0.0.0", deny: "127.0.0.1"},
		{act: "connect", network: "tcp6", listen: "::1", host: "::", deny: "[::1]"},
		{act: "mptcp", network: "tcp4", listen: "127.0.0.1", host: "127.0.0.1"},
		{act: "udp", network: "udp4", listen: "127.0.0.1", host: "127.0.0.1", call: "connect"},
		{act: "udp", network: "udp6", listen: "::1", host: "::", deny: "[::1]", call: "connect"},
		{act: "sendto", network: "udp4", listen: "127.0.0.1", host: "0.0.0.0", deny: "127.0.0.1"},
		{act: "sendto-unspec", network: "udp4", listen: "127.0.0.1", host: "127.0.0.1", call: "sendto"},
		{act: "sendto6-inet", network: "udp4", listen: "127.0.0.1", host: "127.0.0.1", call: "sendto"},
		{act: "connect6-inet", network: "udp4", listen: "127.0.0.1", host: "127.0.0.1", silent: true, call: "connect"},
		{act: "fastopen-sendto", network: "tcp4", listen: "127.0.0.1", host: "127.0.0.1", call: "sendto"},
		{act: "fastopen-sendmsg", network: "tcp4", listen: "127.0.0.1", host: "127.0.0.1", call: "sendmsg"},
		{act: "fastopen-sendmmsg", network: "tcp6", listen: "::1", host: "::1", call: "sendmmsg"},
		{act: "fastopen-connect", network: "tcp4", listen: "127.0.0.1", host: "127.0.0.1", call: "connect"},
		// The socket's own address decides what the unspecified one means.
		{act: "bound-connect", network: "tcp4", listen: "127.0.0.2", host: "0.0.0.0", more: []string{"127.0.0.2"}, deny: "127.0.0.2", call: "connect"},
		{act: "bound-connect", network: "tcp4", listen: "127.0.0.1", host: "::", more: []string{"::ffff:127.0.0.1"}, deny: "127.0.0.1", call: "connect"},
	} {
		t.Run(c.act+" "+c.host+" deny "+c.deny, func(t *testing.T) {
			t.Parallel()
			port, happened := listenOn(t, c.network, c.listen)
			if c.silent {
				happened = nil
			}
			flags := []string{"--connect", "127.0.0.1:1", "--connect", "[::1]:1"}
			if c.deny != "" {
				flags = []string{"--deny-net", c.deny + ":" + port}
			}
			if c.call == "" {
				c.call = strings.TrimPrefix(c.act, "mp")
			}
			if c.act == "mptcp" {
				c.call = "connect"
			}
			ktest.Refused(t, ktest.Refusal{
				Argv: append([]string{addr, c.act, c.host, port}, c.more...), Flags: flags, BareStdout: c.stdout + "ok\n", Stdout: "EPERM\n", Happened: happened,
				Want: []ktest.Want{{Syscall: c.call, Access: "connect", Errno: "EPERM"}},
			})
		})
	}
	t.Run("bound elsewhere", func(t *testing.T) {
		t.Parallel()
		// A rule for 127.0.0.1 is not one for 127.0.0.2, where this socket's 0.0.0.0 leads.
		port, happened := listenOn(t, "tcp4", "127.0.0.2")
		argv := []string{addr, "bound-connect", "0.0.0.0", port, "127.0.0.2"}
		ktest.Refused(t, ktest.Refusal{
			Argv: argv, Flags: []string{"--connect", "127.0.0.1:" + port}, BareStdout: "ok\n", Stdout: "EPERM\n", Happened: happened,
			Want: []ktest.Want{{Syscall: "connect", Access: "connect", Errno: "EPERM"}},
		})
		ktest.Same(t, ktest.Case{
			Argv: argv, Flags: []string{"--connect", "127.0.0.2:" + port}, Stdout: "ok\n",
			Check: func(t testing.TB, b *ktest.Box) {
				if !happened(t, b) {
					t.Error("not connected to 127.0.0.2")
				}
			},
		})
		// ::1 alone does not allow what a socket bound to a v4 address makes of ::. The call is
		// made with ::1 then, where such a socket cannot connect to.
		port, happened = listenOn(t, "tcp4", "127.0.0.1")
		b := ktest.NewBox(t, nil)
		argv = []string{addr, "bound-connect", "::", port, "::ffff:127.0.0.1"}
		if bare := b.Bare(t, argv...); bare.Stdout != "ok\n" || !happened(t, b) {
			t.Fatalf("bare: %v", bare)
		}
		if r := b.Guard(t, []string{"--connect", "[::1]:" + port}, argv...); r.Stdout != "EAFNOSUPPORT\n" || happened(t, b) {
			t.Errorf("reached 127.0.0.1: %v", r)
		}
		if r := b.Guard(t, nil, argv...); r.Stdout != "ok\n" || !happened(t, b) {
			t.Errorf("the default policy allows both: %v", r)
		}
	})
	// The second of two messages, and the second connect of one socket.
	for _, act := range []string{"second", "reconnect"} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			first, _ := listenOn(t, "udp4", "127.0.0.1")
			port, happened := listenOn(t, "udp4", "127.0.0.1")
			ktest.Refused(t, ktest.Refusal{
				Argv: []string{addr, act, "127.0.0.1", first, "127.0.0.1", port}, Flags: []string{"--connect", "127.0.0.1:" + first},
				BareStdout: "ok\n", Stdout: "EPERM\n", Happened: happened, Want: []ktest.Want{{Access: "connect", Errno: "EPERM"}},
			})
		})
	}
	t.Run("AF_UNSPEC dissolves", func(t *testing.T) {
		t.Parallel()
		first, _ := listenOn(t, "udp4", "127.0.0.1")
		ktest.Same(t, ktest.Case{Argv: []string{addr, "reconnect", "127.0.0.1", first, "127.0.0.1", first}, Stdout: "dissolved\nok\n"})
	})
}

// TestAddrTransition: IPv6 forms that lead to a v4 address, in a network namespace where
// they are addresses of the loopback interface, so that the bare act succeeds.
func TestAddrTransition(t *testing.T) {
	t.Parallel()
	inside := []string{"unshare", "-n", "sh", "-c", `ip link set lo up && for a in 64:ff9b::7f00:1 2002:7f00:1::1 64:ff9b::a01:203; do ip -6 addr add $a/128 dev lo nodad; done && exec "$@"`, "sh"}
	if !root() || contained() {
		return // no namespaces here; rules.TestTransitionForms has all forms
	}
	addr := ktest.Tracee(t, "addr")
	for host, flags := range map[string][]string{
		"64:ff9b::7f00:1":  nil, // a loopback rule does not cover it
		"2002:7f00:1::1":   nil,
		"64:ff9b::a01:203": {"--connect", "*:*", "--deny-net", "10.0.0.0/8:*"},
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			argv := []string{addr, "udp", host, "9"}
			if r := b.Bare(t, append(inside, argv...)...); r.Stdout != "ok\n" {
				t.Fatalf("bare: %v", r)
			}
			if r := b.Bare(t, append(inside, b.Guarded(t, flags, argv...)...)...); r.Stdout != "EPERM\n" {
				t.Errorf("guarded: %v", r)
			}
			b.Find(t, ktest.Want{Syscall: "connect", Access: "connect", Addr: host, Port: 9, Errno: "EPERM"})
		})
	}
}

// TestAddrListen: an unbound socket that listens is bound to every interface.
func TestAddrListen(t *testing.T) {
	t.Parallel()
	addr := ktest.Tracee(t, "addr")
	for _, family := range []string{"4", "6"} {
		t.Run("unbound "+family, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{Argv: []string{addr, "listen", family}, BareStdout: "ok\n", Stdout: "EPERM\n", Want: []ktest.Want{{Syscall: "listen", Access: "bind", Errno: "EPERM"}}})
			ktest.Same(t, ktest.Case{Argv: []string{addr, "listen", family}, Flags: []string{"--bind", "*:*"}, Stdout: "ok\n"})
		})
	}
	for _, host := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		t.Run("bound "+host, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, ktest.Case{Argv: []string{addr, "listen-bound", host}, Stdout: "ok\n"})
		})
	}
	for _, c := range []struct{ act, host string }{{"bind", "0.0.0.0"}, {"bind", "::"}, {"bind", "::ffff:0.0.0.0"}, {"bind-unspec", "0.0.0.0"}} {
		t.Run(c.act+" "+c.host, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{Argv: []string{addr, c.act, c.host, "0"}, BareStdout: "ok\n", Stdout: "EPERM\n", Want: []ktest.Want{{Syscall: "bind", Access: "bind", Errno: "EPERM"}}})
		})
	}
}

// outsideSockets are a stream and a datagram socket outside, which somebody serves.
func outsideSockets(t testing.TB, b *ktest.Box) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.Path("outside/s")})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	d, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: b.Path("outside/dg"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); d.Close() })
	for link, target := range map[string]string{"work/ls": "../outside/s", "work/ldg": "../outside/dg", "work/dir": "../outside"} {
		if err := os.Symlink(target, b.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAddrUnix: unix sockets by every kind of name.
func TestAddrUnix(t *testing.T) {
	t.Parallel()
	addr := ktest.Tracee(t, "addr")
	for _, c := range []struct{ act, call, object string }{
		{"connect-unix ../outside/s", "connect", "s"},
		{"connect-unix ls", "connect", "s"},
		{"connect-unix dir/s", "connect", "s"},
		{"connect-unix /proc/self/cwd/../outside/s", "connect", "s"},
		{"connect-unix /proc/self/root/proc/thread-self/cwd/ls", "connect", "s"},
		{"connect-unix-at ../outside s", "connect", "s"},
		{"connect-unix-at . ls", "connect", "s"},
		{"connect-unix-dgram ldg", "connect", "dg"},
		{"sendto-unix ldg", "sendto", "dg"},
		{"sendto-unix ../outside/dg", "sendto", "dg"},
		{"sendmsg-unix ../outside/dg", "sendmsg", "dg"},
	} {
		t.Run(c.act, func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				Fill: outsideSockets, Argv: append([]string{addr}, strings.Fields(c.act)...), BareStdout: "ok\n", Stdout: "EPERM\n",
				WantOf: func(b *ktest.Box) []ktest.Want {
					return []ktest.Want{{Syscall: c.call, Access: "connect", Resolved: b.Path("outside/" + c.object), Errno: "EPERM"}}
				},
			})
		})
	}
	for name, argv := range map[string][]string{
		"own path": {"own", "mine"}, "own through proc": {"own", "/proc/self/cwd/mine"}, "own abstract": {"own", "@ptguard-e2e-own-" + strconv.Itoa(os.Getpid())}, "autobind": {"autobind"},
		"absent abstract": {"connect-unix", "@ptguard-e2e-absent"}, "empty abstract": {"connect-unix", "@"}, "absent": {"connect-unix", "../outside/absent"},
		"no socket": {"connect-unix", "errno.c"}, "stream to datagram": {"connect-unix", "../outside/gone/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, ktest.Case{Argv: append([]string{addr}, argv...), Fill: func(t testing.TB, b *ktest.Box) { b.Write(t, "work/errno.c", "no socket") }})
		})
	}
	// A name of the tree's that only looks like the abstract one outside.
	for _, act := range []string{"connect-unix", "disguise"} {
		t.Run("abstract "+act, func(t *testing.T) {
			t.Parallel()
			name := "ptguard-e2e-" + filepath.Base(ktest.NewBox(t, nil).Root)
			l, err := net.Listen("unix", "@"+name)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			argv := []string{addr, act, name}
			if act == "connect-unix" {
				argv[2] = "@" + name
			}
			ktest.Refused(t, ktest.Refusal{
				Fill: func(t testing.TB, b *ktest.Box) {}, Argv: argv, BareStdout: "ok\n", Stdout: "EPERM\n",
				Want: []ktest.Want{{Syscall: "connect", Access: "connect", Addr: "@" + name, Errno: "EPERM"}},
			})
		})
	}
}

// TestAddrFamilies: socket(2) of every family and type: unix, inet, inet6 and route netlink
// as without ptguard, raw sockets EPERM, everything else EAFNOSUPPORT.
func TestAddrFamilies(t *testing.T) {
	t.Parallel()
	addr := ktest.Tracee(t, "addr")
	b := ktest.NewBox(t, nil)
	bare, got := addrLines(t, b, nil, addr, "families"), addrLines(t, b, []string{"-q"}, addr, "families")
	opened := 0
	for i := range bare {
		f, g := strings.Fields(bare[i]), strings.Fields(got[i])
		family, kind, want := f[0], f[1], "EAFNOSUPPORT"
		switch {
		case family == "17", (family == "2" || family == "10") && kind == "3": // AF_PACKET, SOCK_RAW
			want = "EPERM"
		case family == "1", family == "2", family == "10", family == "16": // unix, inet, inet6, netlink
			want = f[2]
		}
		if g[2] != want {
			t.Errorf("socket(%s, %s): bare %s, guarded %s, want %s", family, kind, f[2], g[2], want)
		}
		if f[2] == "ok" && want != "ok" {
			opened++
		}
	}
	if root() && opened == 0 {
		t.Error("no refused family could be opened without ptguard: this proves nothing")
	}
	t.Run("open mode", func(t *testing.T) {
		t.Parallel()
		ktest.Same(t, ktest.Case{Argv: []string{addr, "families"}, Flags: []string{"--mode", "open"}})
	})
	t.Run("netlink", func(t *testing.T) {
		t.Parallel()
		for _, protocol := range []string{"4", "9", "15", "16"} { // sock_diag, audit, kobject_uevent, generic
			ktest.Refused(t, ktest.Refusal{Argv: []string{addr, "netlink", protocol}, BareStdout: "ok\n", Stdout: "EAFNOSUPPORT\n", Want: []ktest.Want{{Syscall: "socket", Errno: "EAFNOSUPPORT"}}})
		}
		ktest.Same(t, ktest.Case{Argv: []string{addr, "netlink", "0"}, Stdout: "ok\n"})
	})
	t.Run("junk in the high half", func(t *testing.T) {
		t.Parallel()
		ktest.Refused(t, ktest.Refusal{Argv: []string{addr, "socket", "0xdeadbeef00000010", "0xdeadbeef00000003", "0xdeadbeef00000010"}, BareStdout: "ok\n", Stdout: "EAFNOSUPPORT\n", Want: []ktest.Want{{Syscall: "socket"}}})
		ktest.Same(t, ktest.Case{Argv: []string{addr, "socket", "0xdeadbeef00000002", "0xdeadbeef00000001", "0xdeadbeef00000000"}, Stdout: "ok\n"})
	})
}

// TestAddrDatagramWaits: a datagram to a path is sent in a way that cannot wait, and made
// again; the program sees none of it.
func TestAddrDatagramWaits(t *testing.T) {
	t.Parallel()
	const program = `
import socket, threading, time
r = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
r.bind("d")
got = []
full = threading.Event()
def receive():
    full.wait()
    while len(got) < 500:
        got.append(r.recv(100))
t = threading.Thread(target=receive)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setblocking(False)
n = 0
try:
    while True:
        s.sendto(b"%d" % n, "d")
        n += 1
except BlockingIOError:
    pass
s.setblocking(True)
t.start()
threading.Timer(0.2, full.set).start()
for i in range(n, 500):
    if i % 2:
        s.sendto(b"%d" % i, "d")
    else:
        s.sendmsg([b"%d" % i], [], 0, "d")
t.join()
print(n > 0, got == [b"%d" % i for i in range(500)])
`
	ktest.Same(t, ktest.Case{Argv: []string{"python3", "-c", program}, Stdout: "True True\n"})
}
