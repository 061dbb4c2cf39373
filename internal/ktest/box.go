// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
)

// Box is the surroundings of one test: folders beside each other under a base that no
// default rule makes writable.
type Box struct {
	Root    string // parent of the others; outside every writable root
	Work    string // current directory of the commands
	Home    string // $HOME
	Tmp     string // $TMPDIR
	Outside string // writable by the user, not by the policy
	Trace   string // the file of --trace

	// Fill prepares the folders; run at NewBox and at each Reset.
	Fill func(t testing.TB, b *Box)
	// Env is added to the base environment (last wins).
	Env []string

	mark string
}

// NewBox makes a box and fills it; fill may be nil. It is removed, and checked for
// processes left behind, when the test ends.
func NewBox(t testing.TB, fill func(t testing.TB, b *Box)) *Box {
	t.Helper()
	root, err := os.MkdirTemp(baseDir, "box-")
	if err != nil {
		t.Fatalf("make box: %v", err)
	}
	b := &Box{
		Root: root, Work: filepath.Join(root, "work"), Home: filepath.Join(root, "home"),
		Tmp: filepath.Join(root, "tmp"), Outside: filepath.Join(root, "outside"),
		Trace: filepath.Join(root, "trace.jsonl"),
		Fill:  fill, mark: "PTGUARD_E2E_MARK=" + rand.Text(),
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.NoProcessLeft(t)
		if !t.Failed() || os.Getenv("PTGUARD_TEST_KEEP") == "" {
			os.RemoveAll(root)
		} else {
			t.Logf("kept %s", root)
		}
	})
	b.Reset(t)
	return b
}

// Reset empties the box and fills it again, under the same paths.
func (b *Box) Reset(t testing.TB) {
	t.Helper()
	for _, dir := range []string{b.Work, b.Home, b.Tmp, b.Outside} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatalf("empty box: %v", err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatalf("make box: %v", err)
		}
	}
	if err := os.RemoveAll(b.Trace); err != nil {
		t.Fatalf("empty box: %v", err)
	}
	// The go command counts its own use below $HOME unless this file says off.
	b.Write(t, "home/.config/go/telemetry/mode", "off")
	if b.Fill != nil {
		b.Fill(t, b)
	}
}

// Path is the absolute path of rel below the box's root.
func (b *Box) Path(rel string) string { return filepath.Join(b.Root, rel) }

// Write makes the file rel (below the root) with text, and its parents.
func (b *Box) Write(t testing.TB, rel, text string) string {
	t.Helper()
	p := b.Path(rel)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// Script is Write with mode 0755.
func (b *Box) Script(t testing.TB, rel, text string) string {
	t.Helper()
	p := b.Write(t, rel, text)
	if err := os.Chmod(p, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// Copy copies the program src to rel, mode 0755.
func (b *Box) Copy(t testing.TB, src, rel string) string {
	t.Helper()
	data, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	return b.Script(t, rel, string(data))
}

// Text is the content of rel; a missing file is a failure.
func (b *Box) Text(t testing.TB, rel string) string {
	t.Helper()
	data, err := os.ReadFile(b.Path(rel))
	if err != nil {
		t.Errorf("read %s: %v", rel, err)
	}
	return string(data)
}

// Links makes symbolic links, each by its name below the root and what it says.
func (b *Box) Links(t testing.TB, links map[string]string) {
	t.Helper()
	for rel, to := range links {
		if err := os.Symlink(to, b.Path(rel)); err != nil {
			t.Fatal(err)
		}
	}
}

// Absent fails the test if rel (below the root) exists, as any kind of object.
func (b *Box) Absent(t testing.TB, rel string) {
	t.Helper()
	if _, err := os.Lstat(b.Path(rel)); err == nil {
		t.Errorf("%s exists", rel)
	}
}

// environ is the whole environment of a command in the box. Nothing of the caller's own
// environment but PATH and what finds the interpreters reaches the commands.
func (b *Box) environ() []string {
	env := []string{
		"PATH=" + searchPath(), "HOME=" + b.Home, "XDG_STATE_HOME=" + b.Home + "/.local/state", "TMPDIR=" + b.Tmp, "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb",
		"PYTHONDONTWRITEBYTECODE=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2001-02-03T04:05:06Z", "GIT_COMMITTER_DATE=2001-02-03T04:05:06Z",
		"GOPATH=" + b.Tmp + "/gopath", "GOCACHE=" + b.Tmp + "/gocache", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off",
		"npm_config_cache=" + b.Tmp + "/npm", "npm_config_update_notifier=false", "npm_config_offline=true",
		b.mark,
	}
	if os.Geteuid() == 0 {
		if v := os.Getenv("PYENV_ROOT"); v != "" {
			env = append(env, "PYENV_ROOT="+v)
		}
	}
	return append(env, b.Env...)
}

// searchPath is PATH for the commands: the caller's as root; for another user without
// the folders of root's home, which that user cannot enter.
func searchPath() string {
	if os.Geteuid() == 0 {
		return os.Getenv("PATH")
	}
	return "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
}
