// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"

	"ptguard/internal/ktest"
)

// TestAbstractSockets: an abstract name is free among tracees, and only there. Who serves a
// name is read from /proc/net/unix, which shows a NUL as @ and a newline as it is.
func TestAbstractSockets(t *testing.T) {
	t.Parallel()
	own := func(name string) []string {
		return []string{"python3", "-c", `
import socket
name = ` + name + `
s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen()
for i in range(2):
    c = socket.socket(socket.AF_UNIX); c.connect(name)
    a = s.accept()[0]; a.send(b"x"); print(c.recv(1))
`}
	}
	for name, argv := range map[string][]string{
		"own":              own(`b"\0ptguard-e2e-own"`),
		"own with NULs":    own(`b"\0ptguard-e2e\0\0nul\0"`),
		"own with newline": own(`b"\0ptguard-e2e\nline"`),
		"own with spaces":  own(`b"\0ptguard e2e  spaces"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, ktest.Case{Argv: argv, Stdout: "b'x'\nb'x'\n"})
		})
	}
	for name, c := range map[string]struct{ outside, script string }{
		"plain":          {"", ``},
		"forged line":    {"", `s.bind(b"\0a\n0: 00000002 00000000 00010000 0001 01 %d @%s" % (os.fstat(s.fileno()).st_ino, name)); s.listen()`},
		"NUL looks as @": {"\x00", `s.bind(b"\0" + name.replace(b"\0", b"@")); s.listen()`},
		"@ looks as NUL": {"@", `s.bind(b"\0" + name.replace(b"@", b"\0")); s.listen()`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := "ptg" + c.outside + "x"
			ktest.Refused(t, ktest.Refusal{
				ArgvOf: func(b *ktest.Box) []string {
					name := outside + filepath.Base(b.Root)
					l, err := net.Listen("unix", "\x00"+name)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { l.Close() })
					return []string{"python3", "-c", `
import os, socket, sys
name = bytes(eval(sys.argv[1]))
s = socket.socket(socket.AF_UNIX)
` + c.script + `
c = socket.socket(socket.AF_UNIX)
try: c.connect(b"\0" + name); print("connected")
except OSError as e: print(e.errno)
`, pythonBytes(name)}
				},
				BareStdout: "connected\n", Stdout: "1\n", Quiet: true,
				Want: []ktest.Want{{Syscall: "connect", Errno: "EPERM"}},
			})
		})
	}
}

// pythonBytes is a list literal of the bytes of s, for an argument cannot hold a NUL.
func pythonBytes(s string) string {
	out := "["
	for i := range len(s) {
		if i > 0 {
			out += ","
		}
		out += strconv.Itoa(int(s[i]))
	}
	return out + "]"
}
