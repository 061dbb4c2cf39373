// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// goDeep carries the folder a into folders in folders, until what lies in it has a name longer
// than PATH_MAX (or as deep as it is let), and uses what it holds by the folder.
const goDeep = `
import os
name = "d" * 200
top, a = os.open(".", os.O_DIRECTORY), os.open("a", os.O_PATH)
at = os.open(".", os.O_DIRECTORY)
try:
    for i in range(25):
        os.mkdir(name, dir_fd=at)
        at = os.open(name, os.O_DIRECTORY, dir_fd=at)
except OSError:
    pass
for step in range(2): # once more, where the folder that there was no way into could be made
    try:
        os.rename("a", name[1:], src_dir_fd=top, dst_dir_fd=at)
        break
    except OSError:
        at = os.open("..", os.O_DIRECTORY, dir_fd=at)
def show(f):
    try:
        print(f())
    except OSError:
        pass
show(lambda: open(os.open(".env", os.O_RDONLY, dir_fd=a)).read().strip())
show(lambda: os.fchdir(a) or open(".env").read().strip())
show(lambda: open(os.open("/proc/self/fd/%d" % os.open(".env", os.O_PATH), os.O_RDONLY)).read().strip())
show(lambda: os.listdir("."))
show(lambda: os.link(".env", "env", src_dir_fd=a, dst_dir_fd=top) or "linked")
show(lambda: os.unlink(".env") or "removed")
`

// useDeep makes a tree that is deeper than PATH_MAX, does what programs do in it, and removes it.
const useDeep = `
import os, shutil
name = "d" * 200
for i in range(30):
    os.mkdir(name); os.chdir(name)
os.mkdir("sub")
with open("f", "w") as f:
    f.write("text")
os.chmod("f", 0o600); os.rename("f", "sub/g"); os.link("sub/g", "h"); os.symlink("h", "l"); os.utime("h", (1, 1))
os.unlink("sub/g")
text = open("l").read()
os.unlink("l")
print(text, sorted(os.listdir(".")), oct(os.stat("h").st_mode)[-3:])
for i in range(30):
    os.chdir("..")
shutil.rmtree(name)
assert not os.path.exists(name)
`

// TestTooDeep: a folder that is moved so deep that what lies in it has no name does not take
// it away from the rules that speak of names.
func TestTooDeep(t *testing.T) {
	t.Parallel()
	const everything = "secret\nsecret\nsecret\n['.env']\nlinked\nremoved\n"
	for name, flags := range map[string]string{
		"deny": "--deny **/.env", "hide": "--hide **/.env", "seals": "--seals SEALS", "open, seals": "--seals SEALS --mode open",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
				t.Helper()
				b.Write(t, "work/a/.env", "secret\n")
				b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: x\nseals:\n"+oneSeal("**/.env", "RWC"))
			})
			program := []string{"/usr/bin/python3", "-c", goDeep}
			if r := b.Bare(t, program...); r.Stdout != everything {
				t.Fatalf("bare: %v", r)
			}
			b.Reset(t)
			r := b.Guard(t, strings.Fields(strings.ReplaceAll(flags, "SEALS", b.Path("seals"))), program...)
			for _, done := range []string{"secret", "linked", "removed"} {
				if strings.Contains(r.Stdout, done) {
					t.Errorf("%s: %v", done, r)
				}
			}
			if name == "hide" && strings.Contains(r.Stdout, ".env") {
				t.Errorf("listed: %v", r)
			}
			if len(b.Denials(t)) == 0 {
				t.Error("no record of a refusal")
			}
		})
	}
	// So deep that nobody looks for the names any more.
	t.Run("deeper", func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { t.Helper(); b.Write(t, "work/a/.env", "secret\n") })
		deeper := strings.NewReplacer(`"d" * 200`, `"dd"`, "range(25)", "range(1700)").Replace(goDeep)
		if r := b.Bare(t, "/usr/bin/python3", "-c", deeper); r.Stdout != everything {
			t.Fatalf("bare: %v", r)
		}
		b.Reset(t)
		if r := b.Guard(t, []string{"--deny", "**/.env"}, "/usr/bin/python3", "-c", deeper); r.Stdout != "" {
			t.Errorf("%v", r)
		}
		b.Find(t, ktest.Want{Rule: "builtin unreachable"})
	})
	// Where nothing is denied, such a tree is made, used and removed like any other.
	t.Run("allowed", func(t *testing.T) {
		t.Parallel()
		ktest.Same(t, ktest.Case{Argv: []string{"/usr/bin/python3", "-c", useDeep}, Stdout: "text ['h', 'sub'] 600\n"})
	})
	// Where nothing is said by name, mode open lets it be.
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { t.Helper(); b.Write(t, "work/a/.env", "secret\n") })
	if r := b.Guard(t, []string{"--mode", "open"}, "/usr/bin/python3", "-c", goDeep); !strings.HasPrefix(r.Stdout, "secret\n") {
		t.Errorf("%v", r)
	}
}
