// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"ptguard/internal/ktest"
)

// crowd makes many short threads, and children of vfork(2) that open a file before their exec, six
// at a time, so that some are seen before the event of the clone(2) that made them. Then it forks
// 20 generations.
const crowd = `
import os, threading
def windows():
    return sum("ptguard" in line for line in open("/proc/self/maps"))
def look():
    open("/etc/hosts").read()
def threads():
    for i in range(60):
        t = threading.Thread(target=look); t.start(); look(); t.join()
def spawns():
    for i in range(30):
        pid = os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 5, "/etc/hosts", 0, 0)])
        look(); os.waitpid(pid, 0)
def generations(n):
    if n == 0:
        print("after", windows(), flush=True)
    elif pid := os.fork():
        os.waitpid(pid, 0)
    else:
        look(); generations(n - 1); os._exit(0)
look()
print("first", windows(), flush=True)
for work in threads, spawns:
    crowd = [threading.Thread(target=work) for i in range(6)]
    [t.start() for t in crowd]; [t.join() for t in crowd]
print("then", windows(), flush=True)
generations(20)
`

// TestOneWindow: a memory has one window, however its threads and children come to be known. It is
// sealed, so another would stay to the end, and a server that makes a thread for each request would
// run out of mappings (max_map_count).
func TestOneWindow(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"default": nil, "hide": {"--hide", "./hidden"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, nil)
			argv := []string{"/usr/bin/python3", "-c", crowd}
			if r := b.Run(t, ktest.Cmd{Argv: argv}); r.Stdout != "first 0\nthen 0\nafter 0\n" {
				t.Fatalf("without ptguard: %v", r)
			}
			r := b.Guard(t, flags, argv...)
			if r.Status != 0 || r.Stdout != "first 2\nthen 2\nafter 2\n" { // what may be executed, and what may be read
				t.Errorf("%v", r)
			}
		})
	}
}
