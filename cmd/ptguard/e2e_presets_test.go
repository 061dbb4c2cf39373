// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// attempts is what a hostile package does when a tool runs its script. It writes into the
// work folder what worked: tools show no output of scripts.
const attempts = `#!/bin/sh
try() { if sh -c "$2" >/dev/null 2>&1; then echo "$1 yes"; else echo "$1 no"; fi; }
cd WORK
{
try key     "cat HOME/.ssh/id_rsa"
try npmrc   "cat HOME/.npmrc"
try bashrc  "echo evil >>HOME/.bashrc"
try docker  "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"HOME/.docker/run/docker.sock\")'"
try hook    "echo evil >.git/hooks/post-commit"
try outside "echo evil >OUTSIDE/f"
try config  "echo >>.git/config"
try lock    "echo >.git/index.lock && rm .git/index.lock"
try made    "echo x >made"
} >RESULT
`

// presetCase is a real tool at offline work on a hostile package.
type presetCase struct {
	preset string
	// script runs in the work folder, with attempts as ./evil.sh; it must succeed.
	script string
	fill   func(t testing.TB, b *ktest.Box)
	env    []string
	flags  func(b *ktest.Box) []string
	want   string
}

// What the attempts give: bare, in the presets, in those that also keep .git/config, and in
// the hermetic view, where the work folder is not writable.
const (
	attemptsBare = "key yes\nnpmrc yes\nbashrc yes\ndocker yes\nhook yes\noutside yes\nconfig yes\nlock yes\nmade yes\n"
	attemptsTool = "key no\nnpmrc no\nbashrc no\ndocker no\nhook no\noutside no\nconfig yes\nlock yes\nmade yes\n"
	attemptsGit  = "key no\nnpmrc no\nbashrc no\ndocker no\nhook no\noutside no\nconfig no\nlock yes\nmade yes\n"
	attemptsView = "key no\nnpmrc no\nbashrc no\ndocker no\nhook no\noutside no\nconfig no\nlock no\nmade no\n"
)

// TestPresets: the presets let their tool do its work and stop a package that it runs from
// reading keys, changing what runs later, and reaching a container engine.
func TestPresets(t *testing.T) {
	t.Parallel()
	npm := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/evil/package.json", `{"name": "evil", "version": "1.0.0", "scripts": {"postinstall": "sh `+b.Work+`/evil.sh"}}`)
		b.Write(t, "work/package.json", `{"name": "app", "version": "1.0.0"}`)
	}
	npmScript := "unset npm_config_cache; npm pack --silent ./evil && npm install --foreground-scripts --no-audit --no-fund ./evil-1.0.0.tgz && test -f node_modules/evil/package.json"
	makefile := func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/Makefile", "all: a.out\n\tsh ./evil.sh\na.out: a.c\n\tgcc a.c\n")
		b.Write(t, "work/a.c", "#include <stdio.h>\n\nint main(void) { return fflush(stdout); }\n")
	}
	cases := map[string]presetCase{
		"npm": {
			preset: "npm", script: npmScript, fill: npm, want: attemptsGit,
			flags: func(b *ktest.Box) []string { return []string{"--write", b.Path("home/.npm")} }, // ~ is the password file's home
		},
		"pip": {
			preset: "pip", script: "/usr/bin/pip3 install --quiet --no-index --no-build-isolation --no-deps --target t ./evil && test -f t/evil.py",
			fill: func(t testing.TB, b *ktest.Box) {
				b.Write(t, "work/evil/setup.py", "import subprocess\nfrom setuptools import setup\nsubprocess.run(['sh', '"+b.Work+"/evil.sh'])\nsetup(name='evil', version='1', py_modules=['evil'])\n")
				b.Write(t, "work/evil/evil.py", "")
			},
			want: attemptsTool,
		},
		"go": {
			preset: "go", env: warmCache(), flags: writeCache, script: "go test . && go vet .",
			fill: func(t testing.TB, b *ktest.Box) {
				b.Write(t, "work/go.mod", "module evil\n\ngo 1.21\n")
				b.Write(t, "work/evil_test.go", "package evil\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { exec.Command(\"sh\", \"evil.sh\").Run() }\n")
			},
			want: attemptsTool,
		},
		"ci":    {preset: "ci", script: "make -s && ./a.out", fill: makefile, want: attemptsGit},
		"agent": {preset: "agent", script: "make -s && ./a.out && git status --porcelain | grep -q made", fill: makefile, want: attemptsGit},
		"hermetic": {
			preset: "hermetic", script: "cp evil.sh $TMPDIR/e.sh && gcc -o $TMPDIR/a.out a.c && $TMPDIR/a.out; sh evil.sh && cat RESULT", fill: makefile, want: attemptsView,
		},
	}
	if path, err := exec.LookPath("cargo"); err == nil && root() { // nobody may not enter root's
		home, _ := os.UserHomeDir()
		env := []string{"RUSTUP_HOME=" + home + "/.rustup", "CARGO_NET_OFFLINE=true"}
		cases["cargo"] = presetCase{
			preset: "cargo", script: path + " build --quiet --offline && target/debug/evil", env: env,
			fill: func(t testing.TB, b *ktest.Box) {
				b.Write(t, "work/Cargo.toml", "[package]\nname = \"evil\"\nversion = \"1.0.0\"\nedition = \"2021\"\n")
				b.Write(t, "work/build.rs", "fn main() { std::process::Command::new(\"sh\").arg(\"evil.sh\").status().unwrap(); }\n")
				b.Write(t, "work/src/main.rs", "fn main() {}\n")
			},
			want: attemptsTool,
		}
	}
	// What Go and Rust programs and their compilers need, the hardened profile leaves.
	for _, name := range []string{"go", "cargo"} {
		if c, ok := cases[name]; ok {
			flags := c.flags
			c.flags = func(b *ktest.Box) []string {
				if flags == nil {
					return []string{"--hardened"}
				}
				return append([]string{"--hardened"}, flags(b)...)
			}
			cases[name+" hardened"] = c
		}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testPreset(t, c)
		})
	}
}

func testPreset(t *testing.T, c presetCase) {
	result := "result"
	fill := func(t testing.TB, b *ktest.Box) {
		if c.preset == "hermetic" {
			result = "$TMPDIR/result"
		}
		b.Write(t, "home/.ssh/id_rsa", "key\n")
		b.Write(t, "home/.npmrc", "")
		b.Write(t, "home/.bashrc", "")
		l, err := listenIn(t, b.Path("home/.docker/run"), "docker.sock")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		b.Script(t, "work/evil.sh", strings.NewReplacer("WORK", b.Work, "HOME", b.Home, "OUTSIDE", b.Outside, "RESULT", result).Replace(attempts))
		if out, err := exec.Command("git", "-C", b.Work, "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("git init: %v %s", err, out)
		}
		c.fill(t, b)
	}
	b := ktest.NewBox(t, fill)
	b.Env = append(b.Env, c.env...)
	script := "set -e; " + strings.ReplaceAll(c.script, "RESULT", result)
	got := func(r ktest.Result) string {
		if c.preset == "hermetic" {
			return r.Stdout
		}
		return b.Text(t, "work/result")
	}
	r := b.Run(t, ktest.Cmd{Argv: []string{"bash", "-c", script}, Timeout: 4 * time.Minute})
	if text := got(r); r.Status != 0 || text != attemptsBare {
		t.Fatalf("bare: %q, %v", text, r)
	}
	b.Reset(t)
	flags := []string{"--preset", c.preset}
	if c.flags != nil {
		flags = append(flags, c.flags(b)...)
	}
	argv := b.Guarded(t, flags, "bash", "-c", script)
	r = b.Run(t, ktest.Cmd{Argv: argv, Timeout: 4 * time.Minute})
	if text := got(r); r.Status != 0 || text != c.want {
		t.Errorf("want %q, got %q, %v", c.want, text, r)
	}
	for name, want := range map[string]string{"home/.bashrc": "", "home/.ssh/id_rsa": "key\n"} {
		if text := b.Text(t, name); text != want {
			t.Errorf("%s: %q", name, text)
		}
	}
	b.Absent(t, "work/.git/hooks/post-commit")
	b.Absent(t, "outside/f")
}

// listenIn makes the folder and a listening socket in it.
func listenIn(t testing.TB, dir, name string) (net.Listener, error) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return net.Listen("unix", dir+"/"+name)
}
