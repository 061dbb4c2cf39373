// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// TestAgentExample runs docs/examples/agent as its README says, with its folders moved into a
// box: an agent in scope user, its api program, seals, and a fence that asks a server.
func TestAgentExample(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		installAgent(t, b)
		b.Write(t, "work/notes.txt", "my notes\n")
		b.Write(t, "work/.env", "KEY=secret\n")
		b.Write(t, "work/prod.db", "data\n")
		b.Write(t, "outside/reference/a.txt", "reference\n")
		b.Write(t, "outside/private/b.txt", "private\n")
	})
	b.Env = []string{"XDG_STATE_HOME=" + b.Home + "/state"}
	a, private := b.Path("outside/reference/a.txt"), b.Path("outside/private/b.txt")
	agent := []string{"/usr/bin/python3", b.Path("agent/agent.py"), a, private}

	bare := b.Bare(t, agent...)
	const refused = "refused: [Errno 1] Operation not permitted: "
	if bare.Status != 0 || strings.Contains(bare.Stdout, "refused") || b.Text(t, "work/prod.db") != "gone\n" {
		t.Fatalf("bare: %v", bare)
	}
	b.Reset(t)

	approver := exec.Command("/usr/bin/python3", b.Path("agent/approver.py"), b.Path("approver.sock"), b.Path("outside/reference"))
	var said strings.Builder
	approver.Stdout, approver.Stderr = &said, &said
	if err := approver.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		_ = approver.Process.Kill()
		_ = approver.Wait()
	}
	defer stop()
	await(t, b, "approver.sock")

	r := b.Guard(t, []string{"-p", b.Path("agent/policy.yaml"), "--seals", b.Path("agent/seals"), "--scope", "user", "--keep-env"}, agent...)
	want := strings.Join([]string{
		"own code, notes.txt: refused: Operation not permitted",
		"api, notes.txt: my notes",
		"api, result.txt: done",
		"api, .env: " + refused + "'.env'",
		"api, prod.db: data",
		"api, change prod.db: " + refused + "'prod.db'",
		"api, outside: reference",
		"api, outside: " + refused + "'" + private + "'",
	}, "\n") + "\n"
	if r.Stdout != want || r.Status != 0 {
		t.Errorf("want\n%s got %v", want, r)
	}
	if got := b.Text(t, "work/prod.db") + b.Text(t, "work/result.txt"); got != "data\n42\n" {
		t.Errorf("prod.db and result.txt hold %q", got)
	}
	stop()
	if got, want := said.String(), "ready\nonce read "+a+"\nno read "+private+"\n"; got != want {
		t.Errorf("the approver said %q, want %q", got, want)
	}
	seen := map[record.Kind]string{}
	for _, r := range b.Records(t) {
		if r.Resolved == b.Path("work/notes.txt") || r.Resolved == b.Path("work/.env") || r.Resolved == a || r.Resolved == private {
			seen[r.Kind] = r.Scope + " " + r.Verdict
		}
	}
	for kind, want := range map[record.Kind]string{record.KindScope: "user deny", record.KindSeal: "api deny", record.KindGrant: "api ask-allow", record.KindFence: "api ask-deny"} {
		if seen[kind] != want {
			t.Errorf("record of kind %s: %q, want %q", kind, seen[kind], want)
		}
	}
}

// installAgent copies the example, with its two places moved into the box.
func installAgent(t testing.TB, b *ktest.Box) {
	t.Helper()
	const from = "../../docs/examples/agent"
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		moved := strings.NewReplacer("/opt/agent", b.Path("agent"), "/run/agent", b.Root).Replace(string(text))
		b.Script(t, filepath.Join("agent", rel), moved)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
