// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/internal/ktest"
	"ptguard/record"
)

// sealBox is a box with seals on work/s (or what list says) in a folder beside it.
func sealBox(list string) func(testing.TB, *ktest.Box) {
	return func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/s", "secret\n")
		b.Write(t, "work/p", "plain\n")
		b.Write(t, "work/d/.env", "secret\n")
		b.Write(t, "work/d/conf/k", "secret\n")
		if err := os.Link(b.Path("work/s"), b.Path("work/older")); err != nil {
			t.Fatal(err)
		}
		b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: platform team\nseals:\n"+strings.ReplaceAll(list, "WORK", b.Work))
	}
}

func sealFlags(more ...string) func(*ktest.Box) []string {
	return func(b *ktest.Box) []string { return append([]string{"--seals", b.Path("seals")}, more...) }
}

func oneSeal(path, letters string) string {
	return "- { path: \"" + path + "\", letters: " + letters + ", reason: production data, hint: use the staging copy }\n"
}

// sealAct is one act that a seal forbids.
type sealAct struct {
	name, path, letters string
	argv                []string
	access              string
}

func act(words ...string) []string { return append([]string{"ACT"}, words...) }

func py(text string) []string { return []string{"python3", "-c", "import os\n" + text} }

func script(text string) []string { return []string{"sh", "-c", text} }

// The letters of seed-behaviours 2.9 and POLICY 7, each by an act that needs that letter
// and no other, in mode open, where no rule is left that could refuse it.
var sealActs = []sealAct{
	{"R open", "WORK/s", "R", act("open-r", "s"), "read"},
	{"R open for both", "WORK/s", "R", act("open-rw", "s"), "read"},
	{"R by an older hard link", "WORK/s", "R", act("open-r", "older"), "read"},
	{"R list", "WORK/d", "R", script("ls d && echo ok"), "list"},
	{"R beneath a folder", "WORK/d", "R", act("open-r", "d/conf/k"), "read"},
	{"R by glob", "**/.env", "R", act("open-r", "d/.env"), "read"},
	{"R through a link", "**/.env", "R", script("ln -s d/.env l && cat l && echo ok"), "read"},
	{"R after a rename", "WORK/s", "R", script("mv s t && cat t && echo ok"), "read"},
	{"R after a rename, by glob", "**/.env", "R", script("mv d/.env t && cat t && echo ok"), "read"},
	{"R after a rename of the folder", "WORK/d", "R", script("mv d e && cat e/conf/k && echo ok"), "read"},
	{"R after a rename out of the folder", "WORK/d", "R", script("mv d/.env t && cat t && echo ok"), "read"},
	{"R after a rename out of a folder that was renamed", "WORK/d", "R", script("mv d e && mv e/conf/k t && cat t && echo ok"), "read"},
	{"R after a rename of a folder out of one that was renamed", "WORK/d", "R", script("mv d e && mv e/conf t && cat t/k && echo ok"), "read"},
	{"R of a removed object", "WORK/s", "R", py("a=os.open('s',os.O_PATH); os.unlink('s'); os.open('/proc/self/fd/%d'%a,0); print('ok')"), "read"},
	{"R of a replaced object", "WORK/s", "R", py("a=os.open('s',os.O_PATH); os.rename('p','s'); os.open('/proc/self/fd/%d'%a,0); print('ok')"), "read"},
	{"C of a removed object", "WORK/s", "C", py("a=os.open('s',0); os.unlink('s'); r,w=os.pipe(); os.splice(a,w,9); print('ok')"), "copy"},
	{"R after an exchange", "WORK/s", "R", script("ACT exchange s p >/dev/null && cat p && echo ok"), "read"},
	{"R of an object made later", "WORK/new", "R", script("echo x > new && mv new n && cat n && echo ok"), "read"},
	{"R exec", "WORK/x", "R", script("cp /bin/true x && ./x && echo ok"), "exec"},
	{"W open", "WORK/s", "W", act("open-w", "s"), "write"},
	{"W open for both", "WORK/s", "W", act("open-rw", "s"), "write"},
	{"W append", "WORK/s", "W", act("open-append", "s"), "write"},
	{"W truncating open", "WORK/s", "W", act("open-trunc", "s"), "write"},
	{"W truncate", "WORK/s", "W", act("truncate", "s"), "write"},
	{"W unlink", "WORK/s", "W", act("unlink", "s"), "remove"},
	{"W unlink of an older hard link", "WORK/s", "W", act("unlink", "older"), "remove"},
	{"W rmdir", "WORK/d/e", "W", script("mkdir -p d; rmdir d/e && echo ok"), "remove"},
	{"W create", "WORK/new", "W", act("open-creat", "new"), "create"},
	{"W mkdir", "WORK/new", "W", act("mkdir", "new"), "create"},
	{"W symlink", "WORK/new", "W", act("symlink", "p", "new"), "create"},
	{"W link target", "WORK/new", "W", act("link", "p", "new"), "create"},
	{"W rename target", "WORK/s", "W", act("rename", "p", "s"), "create"},
	{"W chmod", "WORK/s", "W", act("chmod", "s"), "attr"},
	{"W utimes", "WORK/s", "W", act("utimes", "s"), "attr"},
	{"W chmod by descriptor", "WORK/s", "W", py("os.fchmod(os.open('s', os.O_RDONLY), 0o600); print('ok')"), "attr"},
	{"W hard link", "WORK/s", "W", act("link", "s", "t"), "write"},
	{"W exchange", "WORK/s", "W", act("exchange", "p", "s"), "create"},
	{"W bind", "WORK/sock", "W", act("bind-unix", "sock"), "bind"},
	{"W mkfifo", "WORK/new", "W", act("mkfifo", "new"), "create"},
	{"M rename", "WORK/s", "M", act("rename", "s", "t"), "remove"},
	{"M renameat2", "WORK/s", "M", act("renameat2", "s", "t"), "remove"},
	{"M exchange, either side", "WORK/s", "M", act("exchange", "p", "s"), "remove"},
	{"M of an older hard link", "WORK/s", "M", act("rename", "older", "t"), "remove"},
	{"M of a folder", "WORK/d", "M", act("rename", "d", "t"), "remove"},
	{"M by glob", "**/.env", "M", act("rename", "d/.env", "t"), "remove"},
	{"C hard link", "WORK/s", "C", act("link", "s", "t"), "read"},
	{"C copy_file_range", "WORK/s", "C", py("a=os.open('s',0); b=os.open('t',os.O_WRONLY|os.O_CREAT); os.copy_file_range(a,b,9); print('ok')"), "copy"},
	{"C sendfile", "WORK/s", "C", py("a=os.open('s',0); b=os.open('t',os.O_WRONLY|os.O_CREAT); os.sendfile(b,a,0,9); print('ok')"), "copy"},
	{"C splice", "WORK/s", "C", py("a=os.open('s',0); r,w=os.pipe(); os.splice(a,w,9); print('ok')"), "copy"},
	{"C of an older hard link", "WORK/s", "C", py("a=os.open('older',0); r,w=os.pipe(); os.splice(a,w,9); print('ok')"), "copy"},
	{"parent of a literal path", "WORK/d/.env", "W", act("rename", "d", "t"), "remove"},
	{"parent of an absent path", "WORK/d/absent", "R", act("rename", "d", "t"), "remove"},
	{"a name within a glob", "**/conf/k", "R", act("rename", "d/conf", "d/t"), "remove"},
	{"parent replaced by a link", "WORK/e/k", "R", script("mkdir e && rmdir e && ln -s d/conf e && cat e/k && echo ok"), "create"},
}

func TestSeals(t *testing.T) {
	tracee := ktest.Tracee(t, "act")
	for _, c := range sealActs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			argv := make([]string, len(c.argv))
			for i, word := range c.argv {
				argv[i] = strings.ReplaceAll(word, "ACT", tracee)
			}
			fill := sealBox(oneSeal(c.path, c.letters))
			status, stdout := -2, ""
			lasting := false
			if c.argv[0] == "ACT" {
				status, stdout = 0, "EPERM"
				lasting = !slices.Contains([]string{"open-r", "open-rw", "open-w", "open-append"}, c.argv[1])
			}
			ktest.Refused(t, ktest.Refusal{
				Argv: argv, BareStdout: "ok", FlagsOf: sealFlags("--mode", "open"), Status: status, Stdout: stdout, Lasting: lasting,
				Fill: func(t testing.TB, b *ktest.Box) {
					fill(t, b)
					if c.name == "W rmdir" {
						if err := os.Mkdir(b.Path("work/d/e"), 0o755); err != nil {
							t.Fatal(err)
						}
					}
				},
				Want:  []ktest.Want{{Kind: record.KindSeal, Layer: "seal", Access: c.access, Errno: "EPERM", Rule: "a.yaml:4:3", Hint: "use the staging copy"}},
				Hints: []string{"use the staging copy"},
			})
		})
	}
}

// What a letter does not forbid goes on, with no word from ptguard.
func TestSealsLeaveTheRest(t *testing.T) {
	for _, c := range []struct{ name, path, letters, text string }{
		{"W reads", "WORK/s", "WM", "cat s older; cp s t; ls -l . | wc -l"},
		{"R writes and moves", "WORK/s", "R", "echo x >> s; mv s t; echo y > t; rm t"},
		{"M writes", "WORK/s", "M", "echo x >> s; cat s; ln s t"},
		{"C reads", "WORK/s", "C", "cat < s; mv s t; rm t"},
		{"looks", "WORK/s", "RWMC", "stat -c %s s; test -e s && echo there; ls"},
		{"a folder beside", "WORK/d/.env", "RWMC", "mv d/conf d/c; cat d/c/k; mv p q; rm q"},
		{"a folder that keeps the name", "**/.env", "R", "mv d e; cat e/conf/k"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, sealBox(oneSeal(c.path, c.letters)))
			bare := b.Bare(t, "sh", "-ec", c.text)
			if bare.Status != 0 || bare.Stderr != "" {
				t.Fatalf("bare: %v", bare)
			}
			b.Reset(t)
			got := b.Guard(t, sealFlags()(b), "sh", "-ec", c.text)
			if got.Status != bare.Status || got.Stdout != bare.Stdout || got.Stderr != bare.Stderr {
				t.Errorf("bare %v\nguarded %v", bare, got)
			}
		})
	}
}

// Ahead of every mode and allow; and the refusal says who, why and what to do.
func TestSealsBeatEveryLayer(t *testing.T) {
	for _, flags := range [][]string{{"--mode", "open"}, {"--mode", "permissive"}, {"--mode", "strict"}, {"--write", "."}, {"--write", "./s"}, {"--preset", "open"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			ktest.Refused(t, ktest.Refusal{
				Argv: script("cat s; echo x >> s"), BareStdout: "secret", FlagsOf: sealFlags(flags...), Status: 2,
				Fill: sealBox(oneSeal("WORK/s", "RW")), Lasting: true,
				WantOf: func(b *ktest.Box) []ktest.Want {
					return []ktest.Want{
						{Kind: record.KindSeal, Access: "read", Resolved: b.Path("work/s")},
						{Kind: record.KindSeal, Access: "write", Resolved: b.Path("work/s")},
					}
				},
			})
		})
	}
	b := ktest.NewBox(t, sealBox(oneSeal("WORK/s", "R")))
	r := b.Guard(t, sealFlags()(b), "cat", "s")
	r.WantLine(t, "denied", "sealed by platform team (R): production data")
	r.WantLine(t, "hint", "use the staging copy")
	d := b.Find(t, ktest.Want{Kind: record.KindSeal})
	if want := "policy, do not retry; do this instead: use the staging copy"; d.Agent != want {
		t.Errorf("agent %q, want %q", d.Agent, want)
	}
	if d.Fix != "" || d.Verdict != "deny" {
		t.Errorf("a seal with a fix: %+v", d)
	}
	text, err := os.ReadFile(b.Path("seals/a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	start := b.Records(t)[0].Start
	if want := b.Path("seals/a.yaml") + " sha256:" + hex.EncodeToString(sum[:]); start == nil || len(start.SealDigests) != 1 || start.SealDigests[0] != want {
		t.Errorf("start record %+v, want the digest %q", start, want)
	}
}

// A sealed object that is renamed to and fro is never opened under the other name.
func TestSealsRace(t *testing.T) {
	tracee := ktest.Tracee(t, "sealrace")
	b := ktest.NewBox(t, sealBox(oneSeal("WORK/s", "R")))
	if bare := b.Bare(t, tracee, "older", "p", "20000"); bare.Stdout != "won some, opened some\n" {
		t.Fatalf("the race is never won without ptguard: %v", bare)
	}
	b.Reset(t)
	if got := b.Guard(t, sealFlags("--mode", "open")(b), tracee, "older", "p", "3000"); got.Stdout != "won none, opened some\n" {
		t.Errorf("%v", got)
	}
}

// A program that shares its descriptors with others is told that the kernel cannot copy
// here, and reads and writes instead.
func TestSealsCopyInThreads(t *testing.T) {
	b := ktest.NewBox(t, sealBox(oneSeal("WORK/s", "C")))
	text := "import shutil,threading\nt=threading.Thread(target=lambda: shutil.copy('p','q'))\nt.start(); t.join(); print(open('q').read(), end='')"
	if got := b.Guard(t, sealFlags()(b), "python3", "-c", text); got.Stdout != "plain\n" || got.Status != 0 {
		t.Errorf("%v", got)
	}
}

func TestSealFilesOutOfReach(t *testing.T) {
	b := ktest.NewBox(t, sealBox(oneSeal("WORK/s", "R")))
	if r := b.Guard(t, []string{"--seals", b.Path("seals")}, "echo", "ran"); r.Status != 0 || r.Stdout != "ran\n" {
		t.Fatalf("%v", r)
	}
	// Where the run could write them, nothing runs.
	for _, dir := range []string{"work/seals", "tmp/seals"} {
		b.Write(t, dir+"/a.yaml", "ptguard-seals: 1\nowner: x\nseals: []\n")
		r := b.Guard(t, []string{"--seals", b.Path(dir)}, "echo", "ran")
		if r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "could write the seal file") {
			t.Errorf("%s: %v", dir, r)
		}
	}
	r := b.Guard(t, []string{"--seals", b.Path("seals"), "--write", b.Path("seals")}, "echo", "ran")
	if r.Status != 125 || !strings.Contains(r.Stderr, "flag --write") {
		t.Errorf("%v", r)
	}
	// A scope's own rules count, and so does the folder's place.
	for _, open := range []string{b.Path("seals"), b.Root} {
		b.Write(t, "scoped.yaml", "ptguard: 1\nscopes: { api: { files: { write: ["+open+"] } } }\n")
		r = b.Guard(t, []string{"--seals", b.Path("seals"), "--policy", b.Path("scoped.yaml")}, "echo", "ran")
		if r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "scoped.yaml:2:") {
			t.Errorf("%s: %v", open, r)
		}
	}
	// A mistake in one, or none where they should be, ends the start too.
	b.Write(t, "bad/a.yaml", "ptguard-seals: 1\nowner: x\nseals: [ { path: /a, letters: r, reason: x } ]\n")
	b.Write(t, "yml/a.yml", "")
	for dir, want := range map[string]string{"bad": "a.yaml:3:", "yml": "seal files end in .yaml", "absent": "no such file or directory"} {
		if r := b.Guard(t, []string{"--seals", b.Path(dir)}, "echo", "ran"); r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: %v", dir, r)
		}
	}
	// In mode open the guard keeps them.
	ktest.Refused(t, ktest.Refusal{
		Argv: script("echo x >> ../seals/a.yaml; rm ../seals/a.yaml; mv ../seals ../t; mv ../t ../seals"), Fill: sealBox(oneSeal("WORK/s", "R")),
		FlagsOf: sealFlags("--mode", "open"), Status: 1, Want: []ktest.Want{{Rule: "guard own-files"}},
		Happened: func(t testing.TB, b *ktest.Box) bool {
			text, err := os.ReadFile(b.Path("seals/a.yaml"))
			return err != nil || strings.HasSuffix(string(text), "x\n")
		},
	})
}

func TestSealsCommands(t *testing.T) {
	b := ktest.NewBox(t, sealBox(oneSeal("WORK/s", "WM")+oneSeal("**/.env", "RC")))
	run := func(args ...string) (string, error) {
		cmd := exec.Command(ktest.Binary(t), append([]string{"seals"}, args...)...)
		cmd.Dir = b.Work
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("list", "--seals", b.Path("seals")); err != nil || !strings.Contains(out, "platform team") || !strings.Contains(out, "WM") || !strings.Contains(out, "**/.env") {
		t.Errorf("%v %s", err, out)
	}
	out, err := run("explain", "--seals", b.Path("seals"), "older", "d/.env", "p")
	if err != nil || strings.Count(out, "sealed by platform team") != 4 || strings.Count(out, "not sealed") != 8 {
		t.Errorf("%v %s", err, out)
	}
	if out, err := run("explain", "--seals", b.Path("seals"), "absent/.env"); err != nil || !strings.HasPrefix(out, b.Work+"/absent/.env  (by its name alone: no such file or directory)\n") || strings.Count(out, "sealed by platform team") != 2 {
		t.Errorf("%v %s", err, out)
	}
	if out, err := run("explain", ""); err == nil || !strings.Contains(out, "names nothing") {
		t.Errorf("%v %s", err, out)
	}
	if out, err := run("check", b.Path("seals/a.yaml")); err != nil || !strings.Contains(out, "2 seals") {
		t.Errorf("%v %s", err, out)
	}
	if err := unix.Mkfifo(b.Path("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run("check", b.Path("fifo")); err == nil || !strings.Contains(out, "not a regular file") {
		t.Errorf("%v %s", err, out)
	}
	b.Write(t, "bad.yaml", "ptguard-seals: 1\nowner: x\nseals:\n- { path: /a, letter: R, reason: x }\n")
	if out, err := run("check", b.Path("bad.yaml")); err == nil || !strings.Contains(out, "bad.yaml:4:") || !strings.Contains(out, `did you mean "letters"`) {
		t.Errorf("%v %s", err, out)
	}
}

// A seal that holds nowhere, for there is no home, is told of at the start.
func TestSealsNowhere(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, sealBox(oneSeal("~/s", "R")))
	b.Env = []string{"HOME="}
	const stranger = "54321" // in no password file, as in many containers
	argv := b.Guarded(t, sealFlags()(b), "true")
	if root() {
		argv = append([]string{"setpriv", "--reuid", stranger, "--regid", stranger, "--clear-groups"}, argv...)
		argv = slices.DeleteFunc(argv, func(s string) bool { return s == "--trace" || s == b.Trace })
	}
	r := b.Run(t, ktest.Cmd{Argv: argv})
	if told := strings.Contains(r.Stderr, "names no place on this machine: it seals nothing"); told != root() || r.Status != 0 {
		t.Errorf("told %t: %v", told, r)
	}
}

// What a seal lets be moved and not be removed is not removed by ptguard itself either, in the
// temp folder that it made for the run, however deep, and closed.
func TestSealedInScratch(t *testing.T) {
	t.Parallel()
	const deep = `/usr/bin/python3 -c '
import os
at = os.open(os.environ["TMPDIR"], os.O_DIRECTORY)
for i in range(25):
    os.mkdir("d" * 200, dir_fd=at)
    at = os.open("d" * 200, os.O_DIRECTORY, dir_fd=at)
os.rename("../outside/prod", "x", dst_dir_fd=at)'`
	for name, script := range map[string]string{
		"deep":   deep,
		"file":   `mv ../outside/prod "$TMPDIR"/x`,
		"closed": `mkdir -p "$TMPDIR"/a/b && mv ../outside/prod "$TMPDIR"/a/b && chmod 0 "$TMPDIR"/a/b "$TMPDIR"/a`,
		"folder": `mv ../outside/folder "$TMPDIR"/`,
		"glob":   `echo secret >"$TMPDIR"/.env; mkdir "$TMPDIR"/d; mv "$TMPDIR"/.env "$TMPDIR"/d/x`,
		"none":   `echo x >"$TMPDIR"/x; mkdir "$TMPDIR"/d; chmod 0 "$TMPDIR"/d`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
				t.Helper()
				b.Write(t, "outside/prod", "data\n")
				b.Write(t, "outside/folder/x", "data\n")
				folder := oneSeal(b.Path("outside/folder"), "W")
				if name == "deep" {
					folder = "" // with a sealed folder nothing goes so deep
				}
				b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: x\nseals:\n"+oneSeal(b.Path("outside/prod"), "W")+folder+oneSeal("**/.env", "C"))
				if err := os.Mkdir(b.Path("temp"), 0o777); err != nil {
					t.Fatal(err)
				}
			})
			b.Env = []string{"TMPDIR=" + b.Path("temp")}
			r := b.Guard(t, []string{"--seals", b.Path("seals"), "--write", b.Outside, "--start-in-scratch"}, "sh", "-c", "cd "+b.Work+"; "+script)
			// find(1) goes from folder to folder, so that no name is too long for it.
			left := strings.Count(b.Run(t, ktest.Cmd{Argv: []string{"find", b.Path("temp"), "-type", "f", "-printf", "."}}).Stdout, ".")
			if name == "none" || name == "glob" { // C does not keep from being removed
				if r.Status != 0 || left != 0 || strings.Contains(r.Stderr, "is left as it is") {
					t.Errorf("%d files are left: %v", left, r)
				}
				return
			}
			if r.Status != 0 || left != 1 || !strings.Contains(r.Stderr, "is left as it is") || name != "deep" && !strings.Contains(r.Stderr, "is sealed by x") {
				t.Errorf("%d files are left: %v", left, r)
			}
		})
	}
}

// TestSealsOfUnseen: a sealed directory that was moved keeps its seal where ptguard itself cannot walk
// to it, for the tree has taken that right off a directory above.
func TestSealsOfUnseen(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, sealBox(oneSeal("WORK/d", "R")))
	plainly := func(argv []string) []string { // root may search every directory
		if !root() {
			return argv
		}
		return append([]string{"setpriv", "--bounding-set=-dac_override,-dac_read_search"}, argv...)
	}
	const acts = `
import os
os.mkdir("x")
os.rename("d", "x/e")
os.chdir("x/e")
conf = os.open("conf", os.O_PATH)
os.chmod("../../x", 0)
def told(f):
    try: print(f())
    except OSError as e: print(e.strerror)
told(lambda: open(".env").read().strip())
told(lambda: os.read(os.open("k", 0, dir_fd=conf), 9).decode().strip())
told(lambda: open("/proc/self/cwd/.env").read().strip())
told(lambda: sorted(os.listdir(".")))
os.chmod("..", 0o755)
`
	argv := []string{"/usr/bin/python3", "-c", acts}
	if r := b.Run(t, ktest.Cmd{Argv: plainly(argv)}); r.Stdout != "secret\nsecret\nsecret\n['.env', 'conf']\n" {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	denied := strings.Repeat("Operation not permitted\n", 4)
	if r := b.Run(t, ktest.Cmd{Argv: plainly(b.Guarded(t, sealFlags()(b), argv...))}); r.Stdout != denied {
		t.Errorf("%v", r)
	}
	if err := os.Chmod(b.Path("work/x"), 0o755); err != nil {
		t.Error(err)
	}
}
