// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"ptguard/internal/ktest"
)

// TestMain prepares the folders of the end-to-end tests. With PTGUARD_E2E_NOBODY=1 and
// as root it runs the tests a second time as uid 65534 through setpriv.
func TestMain(m *testing.M) { os.Exit(mainTest(m)) }

func mainTest(m *testing.M) int {
	syscall.Umask(0o022)
	// nohup(1) and the shell's & leave these ignored; what the tests start is to find them
	// as at a prompt, which a handler of ours, gone at exec, makes sure of.
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	if err := ktest.Setup(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer ktest.Cleanup()
	code := m.Run()
	if code == 0 && root() && os.Getenv("PTGUARD_E2E_NOBODY") == "1" {
		code = asNobody()
	}
	return code
}

// root tells whether the tests run as uid 0. Subtests that need it are not made for
// other users: there their bare half could not work.
func root() bool { return os.Geteuid() == 0 }

// asNobody runs this test binary with the same flags as uid 65534, on the programs that
// were built already.
func asNobody() int {
	base, err := os.MkdirTemp(filepath.Dir(ktest.BaseDir()), "ptguard-nobody-")
	if err == nil {
		err = os.Chown(base, 65534, 65534)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e as nobody:", err)
		return 1
	}
	defer os.RemoveAll(base)
	// The test binary lies in a folder of root's that nobody may not enter.
	self := filepath.Join(base, "e2e.test")
	cp := exec.Command("cp", os.Args[0], self)
	if out, err := cp.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e as nobody: copy test binary: %v\n%s", err, out)
		return 1
	}
	cmd := exec.Command("setpriv", append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", self}, os.Args[1:]...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "PTGUARD_E2E_NOBODY=", "PTGUARD_TEST_BASE="+base, "PTGUARD_TEST_BUILD="+ktest.BuildDir(), "HOME="+base)
	if os.Getenv("PTGUARD_TEST_BINARY") == "" {
		cmd.Env = append(cmd.Env, "PTGUARD_TEST_BINARY="+filepath.Join(ktest.BuildDir(), "ptguard"))
	}
	fmt.Fprintln(os.Stderr, "e2e: again as uid 65534")
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e as nobody:", err)
		return 1
	}
	return 0
}
