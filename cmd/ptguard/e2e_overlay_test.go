// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"testing"

	"ptguard/internal/ktest"
)

// onOverlay is a Wrap: the command's current directory is an overlay of two other file systems, so what is
// changed there for the first time is copied up, and its inode has another number below.
var onOverlay = []string{"unshare", "-m", "sh", "-ec", `
mkdir l u m; mount -t tmpfs t l; mount -t tmpfs t u; mkdir u/up u/wk l/d
echo low >l/f; ln l/f l/hard; echo one >l/d/one; echo secret >l/secret; mkfifo l/fifo
printf '#!/bin/sh\necho ran $1\n' >l/prog; chmod 755 l/prog; cp /bin/true l/tool; cp /bin/true l/denied
mount -t overlay o -o lowerdir=l,upperdir=u/up,workdir=u/wk,xino=off m
cd m; exec "$@"`, "sh"}

// TestOverlay: on an overlay everything comes out as bare, copied up or not, with the backstop; and
// what a rule denies stays denied by name and by inode.
func TestOverlay(t *testing.T) {
	t.Parallel()
	if !root() {
		return // it takes a mount
	}
	script := `
cat f; echo more >>f; cat f hard; stat -c %h f; ./prog a; chmod 700 prog; ./prog b; echo 'echo new' >>prog; ./prog c
./tool && echo tool; chmod 711 tool; ./tool && echo again; mv d e 2>&1 || mv d/one e; echo x >g; mv g h; rm h; ln f k; cat k
truncate -s 2 hard; cat hard; echo; rm f; touch -d @7 hard; stat -c %Y hard; echo hi >fifo & cat fifo; wait; rm -rf e d; ls
python3 -c "
import os, socket
s = socket.socket(socket.AF_UNIX); s.bind('sock'); s.listen(1); c = socket.socket(socket.AF_UNIX); c.connect('sock')
f = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(f, b'tmp'); os.link('/proc/self/fd/%d' % f, 'named', src_dir_fd=os.open('.', 0)); print(open('named').read())
r = os.open('secret', 0); w = os.open('secret', os.O_WRONLY | os.O_APPEND); os.write(w, b'up'); print(open('secret').read(), os.fstat(r).st_ino == os.fstat(w).st_ino)"
echo end`
	ktest.Same(t, ktest.Case{Wrap: onOverlay, Argv: []string{"sh", "-c", script}, Flags: []string{"--backstop", "require"}, Stdout: "\nend\n"})
	b := ktest.NewBox(t, nil)
	acts := `cat secret; echo x >>secret; ln secret s2; mv secret s3; chmod 700 secret; ./denied && echo ran; chmod 755 denied; ln denied other; ./other && echo ran; cat s2 s3`
	run := func(argv ...string) ktest.Result {
		b.Reset(t)
		return b.Run(t, ktest.Cmd{Argv: append(append([]string{}, onOverlay...), append(argv, "sh", "-c", acts)...)})
	}
	if r := run(); r.Stdout != "secret\nran\nran\nsecret\nx\nsecret\nx\n" {
		t.Errorf("bare: %v", r)
	}
	m := b.Work + "/m"
	r := run(ktest.Binary(t), "run", "-q", "--trace", b.Trace, "--deny", m+"/secret", "--deny-exec", m+"/denied", "--")
	if r.Stdout != "" {
		t.Errorf("what is denied takes effect: %v", r)
	}
	denied := map[string]bool{}
	for _, record := range b.Records(t) {
		if record.Verdict == "deny" {
			denied[record.Syscall] = true
		}
	}
	for _, call := range []string{"openat", "linkat", "renameat2", "execve"} {
		if !denied[call] {
			t.Errorf("no record of a denied %s: %v", call, denied)
		}
	}
}
