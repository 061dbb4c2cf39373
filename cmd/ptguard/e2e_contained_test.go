// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"ptguard/internal/ktest"
)

// TestContainedDescriptors: where pidfd_getfd(2) is withheld a task sends us the descriptor of a
// call that has to be made on what was looked at. The program notices nothing of it: not its
// numbers, its positions, its signals, nor what its other threads do meanwhile.
func TestContainedDescriptors(t *testing.T) {
	t.Parallel()
	inContainer := []string{ktest.Tracee(t, "contained")}
	hide := func(b *ktest.Box) []string { return []string{"--hide", b.Path("work/hidden")} }
	for name, c := range map[string]ktest.Case{
		"connect and listen": {
			Wrap: inContainer, Argv: []string{"python3", "-c", `
import errno, os, signal, socket, threading
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(200)
addr = server.getsockname()
numbers = sorted(os.listdir("/proc/self/fd"))
got = []
def client():
    for i in range(20):
        s = socket.socket(); s.connect(addr); got.append(s.getpeername() == addr); s.close()
threads = [threading.Thread(target=client) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
s = socket.socket(); s.setblocking(False); r = s.connect_ex(addr); print(r in (0, errno.EINPROGRESS))
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.connect(("0.0.0.0", addr[1])); print(s.getpeername() == addr)
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(got), all(got), ticks > 0)
s = socket.socket(); n = s.fileno(); os.close(n)
try: s.connect(addr)
except OSError as e: print(e.errno == errno.EBADF)
try: socket.socket(fileno=os.dup(server.fileno())).connect(addr)
except OSError as e: print(e.errno == errno.EISCONN)
print(numbers == sorted(os.listdir("/proc/self/fd")))`},
			Stdout: "True\nTrue\n120 True True\nTrue\nTrue\nTrue\n",
		},
		"listings": {
			Wrap: inContainer, FlagsOf: hide, Argv: []string{"python3", "-c", `
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
for i in range(40): open("f%02d" % i, "w").close()
def part(fd, size):
    raw = ctypes.create_string_buffer(size); n = libc.syscall(217 if os.uname().machine == "x86_64" else 61, fd, raw, size)
    out, at = [], 0
    while at < n:
        length = int.from_bytes(raw[at + 16:at + 18], "little"); out.append(raw.raw[at + 19:at + length].split(b"\0")[0].decode()); at += length
    return out
a = os.open(".", os.O_RDONLY); b = os.dup(a)
names, turn = [], 0
while True:
    p = part((a, b)[turn % 2], 256); turn += 1
    if not p: break
    names += p
print(sorted(names) == sorted([".", ".."] + ["f%02d" % i for i in range(40)]), turn > 4)
found = []
def walk():
    for i in range(15): found.append(len(os.listdir(".")))
threads = [threading.Thread(target=walk) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(found == [40] * 60, ctypes.get_errno(), libc.syscall(217 if os.uname().machine == "x86_64" else 61, 999, None, 0))`},
			Stdout: "True True\nTrue 0 -1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, c)
		})
	}
}
