// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// built is a program that is made at most once a test process.
type built struct {
	once sync.Once
	path string
	err  error
}

var (
	buildMu  sync.Mutex
	builds   = map[string]*built{}
	buildDir string
	ownBuild bool
	baseDir  string
	ownBase  bool
)

// Setup makes the folders that Binary, Tracee and NewBox use; TestMain calls it once.
// All are world-readable, so that a guarded run as another user can execute from them.
// A folder of the caller's own is never removed by Cleanup.
func Setup() error {
	os.Unsetenv("PTGUARD_POLICY") // of the developer's shell: would add a layer
	os.Unsetenv("PTGUARD_LOG")
	// What a careless caller of the tests left open must not reach the commands.
	open, _ := os.ReadDir("/proc/self/fd")
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	buildDir = os.Getenv("PTGUARD_TEST_BUILD")
	var err error
	if buildDir == "" {
		if buildDir, err = os.MkdirTemp("", "ptguard-build-"); err != nil {
			return fmt.Errorf("make build folder: %w", err)
		}
		ownBuild = true
		if err = os.Chmod(buildDir, 0o755); err != nil {
			return err
		}
	}
	candidates := []string{"/srv", "/opt", ".", os.Getenv("HOME")}
	if b := os.Getenv("PTGUARD_TEST_BASE"); b != "" {
		candidates = []string{b}
	}
	var failed []error
	for _, c := range candidates {
		if c == "" {
			continue
		}
		if err = outsideTemp(c); err == nil {
			baseDir, err = os.MkdirTemp(c, "ptguard-e2e-")
		}
		if err == nil {
			ownBase = true
			break
		}
		failed = append(failed, err)
	}
	if !ownBase {
		return fmt.Errorf("no base folder for the tests, PTGUARD_TEST_BASE can name one: %w", errors.Join(failed...))
	}
	if baseDir, err = filepath.Abs(baseDir); err != nil {
		return err
	}
	if baseDir, err = filepath.EvalSymlinks(baseDir); err != nil {
		return err
	}
	return os.Chmod(baseDir, 0o755)
}

// outsideTemp refuses a folder for boxes that lies in a temp folder: what lies there may be
// written in every run, and a test of a refusal would find none.
func outsideTemp(dir string) error {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return err
	}
	for _, temp := range []string{"/tmp", "/var/tmp", os.Getenv("TMPDIR")} {
		if temp == "" {
			continue
		}
		if temp, err := filepath.EvalSymlinks(temp); err == nil && strings.HasPrefix(real+"/", strings.TrimSuffix(temp, "/")+"/") {
			return fmt.Errorf("%s lies in the temp folder %s, where every run may write", dir, temp)
		}
	}
	return nil
}

// Cleanup removes what Setup made.
func Cleanup() {
	if ownBuild {
		os.RemoveAll(buildDir)
	}
	if ownBase {
		os.RemoveAll(baseDir)
	}
}

// BuildDir is where Binary and Tracee put programs.
func BuildDir() string { return buildDir }

// BaseDir is where boxes are made.
func BaseDir() string { return baseDir }

// ModuleRoot is the folder of go.mod.
func ModuleRoot() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// build runs make once for name and returns the path of the program.
func build(t testing.TB, name string, make func(out string) *exec.Cmd) string {
	t.Helper()
	buildMu.Lock()
	b := builds[name]
	if b == nil {
		b = &built{}
		builds[name] = b
	}
	buildMu.Unlock()
	b.once.Do(func() {
		b.path = filepath.Join(buildDir, name)
		if _, err := os.Stat(b.path); err == nil {
			return // built by the run that set PTGUARD_TEST_BUILD
		}
		cmd := make(b.path)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
		}
	})
	if b.err != nil {
		t.Fatalf("build %s: %v", name, b.err)
	}
	return b.path
}

// Binary is the path of the ptguard under test: PTGUARD_TEST_BINARY, else one that is built
// with the build tags in PTGUARD_TEST_TAGS (CONTRIBUTING.md lists those that there are).
func Binary(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("PTGUARD_TEST_BINARY"); p != "" {
		return p
	}
	return build(t, "ptguard", func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-tags", os.Getenv("PTGUARD_TEST_TAGS"), "-o", out, "./cmd/ptguard")
		cmd.Dir = ModuleRoot()
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released: static
		return cmd
	})
}

// Tracee compiles testdata/tracees/NAME.c and returns the program's path. It is linked
// statically when flags hold "-static"; each set of flags is a program of its own.
func Tracee(t testing.TB, name string, flags ...string) string {
	t.Helper()
	file := name
	for _, f := range flags {
		file += strings.ReplaceAll(f, "/", "_")
	}
	return build(t, file, func(out string) *exec.Cmd {
		src := filepath.Join(ModuleRoot(), "testdata", "tracees", name+".c")
		args := append([]string{"-Wall", "-Werror", "-O1", "-o", out, src, "-pthread"}, flags...)
		return exec.Command("gcc", args...)
	})
}

// CxxTracee compiles testdata/tracees/NAME.cc.
func CxxTracee(t testing.TB, name string, flags ...string) string {
	t.Helper()
	return build(t, name+"-cc", func(out string) *exec.Cmd {
		src := filepath.Join(ModuleRoot(), "testdata", "tracees", name+".cc")
		return exec.Command("g++", append([]string{"-Wall", "-Werror", "-O1", "-o", out, src, "-pthread"}, flags...)...)
	})
}

// GoTracee compiles testdata/tracees/NAME.go without cgo: a static Go program.
func GoTracee(t testing.TB, name string) string {
	t.Helper()
	return build(t, name+"-go", func(out string) *exec.Cmd {
		src := filepath.Join(ModuleRoot(), "testdata", "tracees", name+".go")
		cmd := exec.Command("go", "build", "-o", out, src)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		return cmd
	})
}
