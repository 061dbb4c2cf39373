// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// Names that go up from a folder that is a link: link/.. is the folder above what the link
// leads to, whatever it looks like. What ptguard reads by such a name has to be what it
// guards, and what it speaks of.

// upBox has the link up in the work folder, to a/deep: up/.. is the folder a of the work
// folder, and up/../.. the work folder.
func upBox(fill func(t testing.TB, b *ktest.Box)) func(testing.TB, *ktest.Box) {
	return func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "work/a/deep/x", "")
		if err := os.Symlink("a/deep", b.Path("work/up")); err != nil {
			t.Fatal(err)
		}
		fill(t, b)
	}
}

// A seal file that such a name leads to by a link of its own, in mode open, where only the
// guard keeps it.
func TestUpToSeals(t *testing.T) {
	fill := upBox(func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "work/seal.yaml", "ptguard-seals: 1\nowner: x\nseals: []\n")
		if err := os.Mkdir(b.Path("work/a/seals"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../seal.yaml", b.Path("work/a/seals/a.yaml")); err != nil {
			t.Fatal(err)
		}
	})
	flags := []string{"--seals", "up/../seals"}
	ktest.Refused(t, ktest.Refusal{
		Argv: script("echo '# x' >> seal.yaml"), Fill: fill, Flags: append(flags, "--mode", "open"), Status: 2,
		Want: []ktest.Want{{Rule: "guard own-files"}},
		Happened: func(t testing.TB, b *ktest.Box) bool {
			t.Helper()
			return strings.HasSuffix(b.Text(t, "work/seal.yaml"), "# x\n")
		},
	})
	b := ktest.NewBox(t, fill)
	if r := b.Guard(t, flags, "echo", "ran"); r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "could write the seal file "+b.Path("work/seal.yaml")) {
		t.Errorf("%v", r)
	}
}

// What a seal says of such a name is what it says of the object.
func TestUpToSealed(t *testing.T) {
	b := ktest.NewBox(t, upBox(func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "work/a/s", "")
		b.Write(t, "work/s", "")
		b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: x\nseals:\n"+oneSeal(b.Path("work/a/s"), "R"))
		b.Write(t, "other/a.yaml", "ptguard-seals: 1\nowner: x\nseals:\n"+oneSeal(b.Path("work/s"), "R"))
	}))
	for dir, sealed := range map[string]int{"seals": 1, "other": 0} {
		r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "seals", "explain", "--seals", b.Path(dir), "up/../s"}})
		if r.Status != 0 || !strings.HasPrefix(r.Stdout, b.Path("work/a/s")+"\n") || strings.Count(r.Stdout, "sealed by x") != sealed {
			t.Errorf("%s: %v", dir, r)
		}
	}
}

// A seal file without a name cannot be guarded, so nothing runs.
func TestSealFileWithoutName(t *testing.T) {
	b := ktest.NewBox(t, nil)
	if err := os.Mkdir(b.Path("seals"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/proc/self/fd/9", b.Path("seals/a.yaml")); err != nil {
		t.Fatal(err)
	}
	b.Write(t, "gone", "ptguard-seals: 1\nowner: x\nseals: []\n")
	r := b.Run(t, ktest.Cmd{Argv: append(script(`exec 9<`+b.Path("gone")+`; rm `+b.Path("gone")+`; exec "$@"`), append([]string{"sh"}, b.Guarded(t, []string{"--seals", b.Path("seals")}, "echo", "ran")...)...)})
	if r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "without a name") {
		t.Errorf("%v", r)
	}
}

// The file that a policy extends is the one beside it, and not one of the work folder, where
// a hostile project could have put it. However it is named, it is one file.
func TestUpToPolicy(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "outside/secret", "secret\n")
		b.Write(t, "outside/policies/p.yaml", "ptguard: 1\nextends: [../base.yaml, ../policies/../base.yaml]\n")
		b.Write(t, "outside/base.yaml", "ptguard: 1\nfiles: { deny: [ "+b.Path("outside/secret")+" ] }\n")
		b.Write(t, "work/base.yaml", "ptguard: 1\n")
		if err := os.Symlink(b.Path("outside/policies"), b.Path("work/policies")); err != nil {
			t.Fatal(err)
		}
	})
	if r := b.Bare(t, "cat", b.Path("outside/secret")); r.Stdout != "secret\n" {
		t.Fatalf("bare: %v", r)
	}
	for _, name := range []string{"policies/p.yaml", b.Path("work/policies/p.yaml")} {
		if r := b.Guard(t, []string{"-p", name}, "cat", b.Path("outside/secret")); r.Status != 1 || r.Stdout != "" {
			t.Errorf("%s: %v", name, r)
		}
		out, err := exec.Command(ktest.Binary(t), "check", "--work", b.Work, b.Path("work/policies/p.yaml")).CombinedOutput()
		if err != nil || !strings.Contains(string(out), " 0 warnings") {
			t.Errorf("%v %s", err, out)
		}
	}
	b.Write(t, "outside/base.yaml", "ptguard: 1\nextends: [policies/p.yaml]\n")
	if r := b.Guard(t, []string{"-p", "policies/p.yaml"}, "echo", "ran"); r.Status != 125 || !strings.Contains(r.Stderr, "extends itself") {
		t.Errorf("%v", r)
	}
}

// The script that answers questions.
func TestUpToAsker(t *testing.T) {
	t.Parallel()
	b := askBox(t)
	const no = "echo '{\"answer\":\"no\"}'\n"
	fill := func() {
		upBox(func(t testing.TB, b *ktest.Box) { t.Helper(); b.Write(t, "work/a/answer", no) })(t, b)
	}
	tamper := script(`echo "echo '{\"answer\":\"once\"}'" >a/answer; cat $A; cat a/answer`)
	fill()
	if r := b.Bare(t, tamper...); r.Stdout != "content A\necho '{\"answer\":\"once\"}'\n" {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	fill()
	r := b.Guard(t, []string{"--fence", b.Work, "--keep-env", "--ask", "exec:/bin/sh up/../answer"}, tamper...)
	if r.Stdout != no {
		t.Errorf("%v", r)
	}
}

// A program's own prefix may be read in mode strict; a home folder is none, whatever link its
// bin folder is named by.
func TestLinkToHomeIsNoPrefix(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		for _, dir := range []string{"home", "outside/prefix"} {
			b.Script(t, dir+"/bin/p", "#!/bin/sh\ncat "+b.Path(dir+"/private")+"\n")
			b.Write(t, dir+"/private", "private\n")
			if err := os.Symlink(b.Path(dir), b.Path("outside/link-to-"+dir[max(0, len(dir)-6):])); err != nil {
				t.Fatal(err)
			}
		}
	})
	for program, read := range map[string]bool{"home/bin/p": false, "outside/link-to-home/bin/p": false, "outside/prefix/bin/p": true, "outside/link-to-prefix/bin/p": true} {
		if r := b.Bare(t, b.Path(program)); r.Stdout != "private\n" {
			t.Fatalf("bare: %v", r)
		}
		if r := b.Guard(t, []string{"--preset", "strict"}, b.Path(program)); (r.Stdout == "private\n") != read {
			t.Errorf("%s: %v", program, r)
		}
	}
}

// The agent's socket as the environment names it at the start, from the current folder too.
func TestUpToAgent(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, upBox(func(testing.TB, *ktest.Box) {}))
	l, err := net.Listen("unix", b.Path("work/a/agent"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	argv := []string{"/usr/bin/python3", "-c", "import socket; socket.socket(socket.AF_UNIX).connect('a/agent'); print('connected')"}
	for name, open := range map[string]bool{
		b.Path("work/a/agent"): false, b.Work + "/up/../agent": false, "a/agent": false, "up/../agent": false, "./up/..//agent": false,
		b.Path("work/agent"): true,
	} {
		b.Env = []string{"SSH_AUTH_SOCK=" + name}
		if r := b.Bare(t, argv...); r.Stdout != "connected\n" {
			t.Fatalf("bare: %v", r)
		}
		if r := b.Guard(t, nil, argv...); (r.Stdout == "connected\n") != open || !open && !strings.Contains(r.Stderr, "PermissionError") {
			t.Errorf("%s: %v", name, r)
		}
	}
}

// A seal beneath a home that is named so.
func TestUpToHome(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, upBox(func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "work/a/home/keys", "keys\n")
		b.Write(t, "work/home/keys", "others\n")
		b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: x\nseals:\n"+oneSeal("~/keys", "RW"))
	}))
	for _, home := range []string{b.Path("work/a/home"), b.Work + "/up/../home", b.Work + "/up/../home/"} {
		b.Env = []string{"HOME=" + home}
		if r := b.Bare(t, "cat", "a/home/keys", "home/keys"); r.Stdout != "keys\nothers\n" {
			t.Fatalf("bare: %v", r)
		}
		if r := b.Guard(t, []string{"--work", b.Work, "--seals", b.Path("seals")}, "cat", "a/home/keys", "home/keys"); r.Stdout != "others\n" || r.Status != 1 {
			t.Errorf("%s: %v", home, r)
		}
		if r := b.Guard(t, []string{"--work", b.Work, "--deny", "~/keys"}, "cat", "a/home/keys", "home/keys"); r.Stdout != "others\n" || r.Status != 1 {
			t.Errorf("%s: %v", home, r)
		}
	}
}

// A deny holds for the link that it names, in the folder where the kernel finds it, and for
// none of that name where it seems to be.
func TestUpToLink(t *testing.T) {
	fill := upBox(func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "work/secret", "secret\n")
		for _, dir := range []string{"work/", "work/a/"} {
			if err := os.Symlink(b.Path("work/secret"), b.Path(dir+"to")); err != nil {
				t.Fatal(err)
			}
		}
	})
	flags := []string{"--deny", "up/../to"}
	ktest.Refused(t, ktest.Refusal{
		Argv: script("rm a/to"), Fill: fill, Flags: flags, Status: 1, Want: []ktest.Want{{Rule: "flag --deny"}},
		Happened: func(t testing.TB, b *ktest.Box) bool { t.Helper(); return !exists(b.Path("work/a/to")) },
	})
	ktest.Same(t, ktest.Case{Argv: script("rm to; ls"), Fill: fill, Flags: flags})
}

// A write rule whose way leads over a link in the work folder, which a repository can have
// laid, is an error where it leads outside, by whatever name the work folder is called.
func TestWriteRuleOverLinkInWork(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "outside/x", "")
		b.Write(t, "other/x", "")
		b.Write(t, "work/d/x", "")
		b.Links(t, map[string]string{"alias": "work", "work/build": "../outside", "work/in": "d", "twice": "work/build", "far": "other"})
	})
	for rule, refused := range map[string]bool{
		"build": true, b.Path("work/build"): true, b.Path("alias/build"): true, b.Path("alias/build/x"): true, b.Path("alias/build/new"): true, b.Path("twice"): true,
		b.Path("outside"): false, b.Path("alias/in"): false, b.Path("far"): false, "../other": false, "d/../../other": false,
	} {
		r := b.Guard(t, []string{"--write", rule}, "echo", "ran")
		if refused && (r.Status != 125 || !strings.Contains(r.Stderr, "leads outside it, to "+b.Path("outside"))) || !refused && r.Stdout != "ran\n" {
			t.Errorf("%s: %v", rule, r)
		}
	}
}

// Nor may what leads to a seal file lie where the run writes.
func TestLinkToSealFile(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "seals/a.yaml", "ptguard-seals: 1\nowner: x\nseals: []\n")
		if err := os.Mkdir(b.Path("work/seals"), 0o755); err != nil {
			t.Fatal(err)
		}
		b.Links(t, map[string]string{"work/link": "../seals", "work/seals/a.yaml": "../../seals/a.yaml", "outside/link": "../seals"})
	})
	for dir, refused := range map[string]string{"link": "work/link", "seals": "work/seals/a.yaml", "../outside/link": "", "../seals": ""} {
		r := b.Guard(t, []string{"--seals", dir}, "echo", "ran")
		if refused != "" && (r.Status != 125 || !strings.Contains(r.Stderr, "could change the link "+b.Path(refused)+",")) || refused == "" && r.Stdout != "ran\n" {
			t.Errorf("%s: %v", dir, r)
		}
	}
}

// A link in the work or temp folder, which a repository or a run can have laid, names nothing that a preset
// denies: a rule that is led to it lifts no deny. The rule that names the place does.
func TestLinkInWorkLiftsNothing(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		t.Helper()
		b.Write(t, "home/.ssh/key", "key\n")
		b.Write(t, "outside/x", "x\n")
		b.Write(t, "temp/x", "")
		b.Write(t, "p.yaml", "ptguard: 1\nmode: strict\nfiles: { read: [./data, ./free] }\n")
		b.Links(t, map[string]string{"work/data": "../home/.ssh", "work/free": "../outside", "alias": "work", "temp/t": "../home/.ssh"})
	})
	b.Env = []string{"TMPDIR=" + b.Path("temp")}
	argv := []string{"cat", "free/x", "data/key"}
	if r := b.Bare(t, argv...); r.Stdout != "x\nkey\n" {
		t.Fatalf("bare: %v", r)
	}
	for want, all := range map[string][][]string{
		"x\n": {
			{"--read", "data"},
			{"--read", "data/key"},
			{"--read", "data/*"},
			{"--read", b.Path("alias/data")},
			{"--read", b.Path("temp/t")},
			{"-p", b.Path("p.yaml")},
		},
		"x\nkey\n": {{"--read", b.Path("home/.ssh")}, {"--read", b.Path("home/.ssh/key")}},
	} {
		for _, flags := range all {
			if r := b.Guard(t, flags, argv...); r.Stdout != want {
				t.Errorf("%q: %v", flags, r)
			}
		}
	}
}
