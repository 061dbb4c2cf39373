// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"ptguard/internal/ktest"
)

// closedWays goes by words whose way is closed to the task (a link in a directory that it may
// not search, a ".." out of one) and by words that are not, and prints what came of it.
const closedWays = `
import errno, os, socket
def opened(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags, 0o600))
    return "done"
def connected(path):
    with socket.socket(socket.AF_UNIX) as s: s.connect(path)
def sent(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s: s.sendmsg([b"x"], [], 0, path)
def told(name, act, path):
    try: print(name, path, act(path))
    except OSError as e: print(name, path, errno.errorcode[e.errno])
here = os.getcwd()
acts = {"open": opened, "path": lambda p: opened(p, os.O_PATH), "stat": lambda p: os.stat(p).st_size > 0, "readlink": os.readlink, "list": os.listdir,
    "access": lambda p: os.access(p, os.R_OK), "connect": connected, "send": sent}
for path in ("closed/link", "two", "closed/sub/../../file", "closed/out/file", "closed/dangling", "closed/none", "fine", "open/../file",
    "/proc/self/cwd/fine", "none", "fine/x", "sock", "closed/sock", "closed/../sock", "open/../sock"):
    for name, act in acts.items():
        told(name, act, path)
        if path[0] != "/": told(name, act, here + "/" + path)
for path in ("maker", "closed/dangling", "closed/out/new", "closed/../open/new2", "open/../open/new3"):
    told("create", lambda p: opened(p, os.O_CREAT | os.O_WRONLY), path)
`

// TestClosedWay: that ptguard itself may search a directory opens it to no task that may not. Root
// can give its rights up by a call, and by what an exec then makes of them; who is not root has
// none to give.
func TestClosedWay(t *testing.T) {
	t.Parallel()
	drops := map[string]string{"same": "env"}
	if root() {
		drops["ids"] = "setpriv --reuid 65534 --regid 65534 --clear-groups"
		drops["capabilities"] = "setpriv --bounding-set=-dac_override,-dac_read_search"
	}
	for name, drop := range drops {
		for kind, flags := range map[string][]string{"default": nil, "hide": {"--hide", "./hidden"}} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				want := "open closed/link EACCES\n"
				if name == "same" && root() {
					want = "open closed/link done\n"
				}
				ktest.Same(t, ktest.Case{Argv: []string{"sh", "-c", `
umask 0; mkdir -p open closed/sub; echo text >file; echo text >open/file
ln -s ../file closed/link; ln -s ../sock closed/sock; ln -s ../open closed/out; ln -s ../none closed/dangling
ln -s closed/link two; ln -s file fine; ln -s open/made maker
/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
chmod 0 closed
` + drop + ` /usr/bin/python3 -c "$0"; s=$?
chmod 755 closed; exit $s`, closedWays}, Flags: flags, Stdout: want})
			})
		}
	}
}
