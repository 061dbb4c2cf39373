// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"ptguard/internal/ktest"
)

// absentLooks looks for names that are not there, or behind a closed directory, by every call that
// can; then, of root, once more with other ids and with fewer capabilities: access(2) asks with the
// real ids, and drops or gains capabilities.
const absentLooks = `
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, buf = -100, ctypes.create_string_buffer(4096)
def code(result):
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
names = ["none", "./none", "dir/none", "no/none", "no/no/none", "closed/none", "closed/no/none", "file/none", "link/none", "dangling",
         "dangling/x", "loop", "loop/x", "none/", "dir/../none", "", "n" * 256, "/none", os.getcwd() + "/no/none", os.getcwd() + "/closed/none"]
def looks(who):
    d = os.open("dir", os.O_PATH)
    for name in names:
        n = name.encode()
        out = [code(libc.stat(n, buf)), code(libc.lstat(n, buf)), code(libc.fstatat(AT_FDCWD, n, buf, 0)),
               code(libc.fstatat(d, n, buf, 0x100)), code(libc.fstatat(AT_FDCWD, n, buf, 0x10000)), code(libc.fstatat(77, n, buf, 0)),
               code(libc.statx(AT_FDCWD, n, 0, 0xfff, buf)), code(libc.statx(AT_FDCWD, n, 0x6000, 0xfff, buf)),
               code(libc.access(n, 4)), code(libc.access(n, 0)), code(libc.access(n, 8)), code(libc.syscall(ctypes.c_long(269), d, n, 4)),
               code(libc.faccessat(AT_FDCWD, n, 4, 0x200)), code(libc.readlink(n, buf, 4096)), code(libc.readlink(n, buf, 0)),
               code(libc.stat(n, None)), code(libc.open(n, 0)), code(libc.open(n, 0o200000)), code(libc.open(n, 0o2000000 | 0o10000000))]
        print(who, repr(name[:60]).replace(os.getcwd(), "."), *out)
    os.close(d)
looks("self")
if os.getuid() == 0:
    def apart(who, *ids):
        if os.fork() == 0:
            os.setresuid(*ids)
            looks(who)
            sys.stdout.flush()
            os._exit(0)
        assert os.wait()[1] == 0
    sys.stdout.flush()
    apart("real", 65534, 0, 0)
    apart("effective", 0, 65534, 0)
    apart("all", 65534, 65534, 65534)
print("done")
`

// TestAbsentLooks: what is not there is answered as the kernel answers it, for whoever asks.
func TestAbsentLooks(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"default": nil, "hide": {"--hide", "./hidden"}, "deny": {"--deny", "./denied"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, ktest.Case{Argv: []string{"sh", "-c", `
mkdir -p dir closed/dir; echo text >file; ln -s dir link; ln -s nowhere dangling; ln -s loop loop; chmod 0 closed
/usr/bin/python3 -c "$0"; s=$?
chmod 755 closed; exit $s`, absentLooks}, Flags: flags, Stdout: "\ndone\n"})
		})
	}
}
