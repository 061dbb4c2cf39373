// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The other probes try one call each. This one tries the whole: a program under ptguard,
// which looks from inside whether the protection holds. It is this very program in the part
// of roleGuarded, run by this very program.

// roleGuarded tries, in a guarded run, to get round it. Its word is what it saw.
const roleGuarded = "guarded"

// held is what playGuarded says where nothing failed.
const held = "skip EPERM, rewrite ok, slot kept, listener refused"

// Guarded makes a guarded run and gives the tier that its first record names, "" if there
// was none. Precondition: as for ChildMain, and the program knows the command run.
func Guarded() (tier string, r Result) {
	dir, err := os.MkdirTemp("", "ptguard-doctor-")
	if err != nil {
		return "", Result{Detail: fmt.Sprintf("no folder to try it in (%v)", err), Fix: "make $TMPDIR writable"}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"denied", "allowed"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			return "", Result{Detail: err.Error()}
		}
	}
	if err := os.Symlink("allowed", filepath.Join(dir, "link")); err != nil {
		return "", Result{Detail: err.Error()}
	}
	self, err := os.Executable()
	if err != nil {
		return "", Result{Detail: err.Error()}
	}
	trace := filepath.Join(dir, "trace")
	cmd := exec.Command(self, "run", "--trace", trace, "--deny", filepath.Join(dir, "denied"), "--", self, childCommand, roleGuarded)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PTGUARD_POLICY=", "PTGUARD_LOG=")
	var said, complained strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &complained
	timer := time.AfterFunc(4*limit, func() { _ = cmd.Process.Kill() })
	err = cmd.Run()
	timer.Stop()
	if err != nil {
		return "", Result{Detail: fmt.Sprintf("a guarded run failed (%v): %s", err, strings.TrimSpace(complained.String()))}
	}
	if tier, err = tierOf(trace); err != nil {
		return "", Result{Detail: fmt.Sprintf("a guarded run left no record of its start (%v)", err)}
	}
	if got := strings.TrimPrefix(strings.TrimSpace(said.String()), "ready\n"); got != held {
		return tier, Result{Detail: fmt.Sprintf("a guarded program saw: %s (want: %s)", got, held)}
	}
	return tier, ok("a guarded program saw: %s", held)
}

// tierOf reads the tier from the first record of a trace.
func tierOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	var first struct{ Start struct{ Tier string } }
	if err := json.NewDecoder(f).Decode(&first); err != nil {
		return "", err
	}
	if first.Start.Tier == "" {
		return "", io.ErrUnexpectedEOF
	}
	return first.Start.Tier, nil
}

// playGuarded says how each part of the protection held.
func playGuarded() string {
	return fmt.Sprintf("skip %s, rewrite %s, slot %s, listener %s", trySkip(), tryRewrite(), trySlot(), tryListener())
}

func trySkip() string {
	_, err := os.ReadFile("denied")
	return errnoName(err)
}

// tryRewrite opens through a link, which a guarded run does on the canonical path.
func tryRewrite() string {
	text, err := os.ReadFile("link")
	switch {
	case err != nil:
		return errnoName(err)
	case string(text) != "allowed":
		return "read something else"
	}
	return "ok"
}

// trySlot looks for the argument window and tries to make it its own.
func trySlot() string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return errnoName(err)
	}
	found := false
	for line := range strings.Lines(string(maps)) {
		if !strings.Contains(line, "/memfd:ptguard") {
			continue
		}
		var from, to uintptr
		var perms string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perms); n != 3 {
			return "unreadable in maps"
		}
		found = true
		if strings.Contains(perms, "w") {
			return "writable"
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_MPROTECT, from, to-from, unix.PROT_READ|unix.PROT_WRITE); errno == 0 {
			return "made writable"
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_MUNMAP, from, to-from, 0); errno == 0 {
			return "taken away"
		}
	}
	if !found {
		return "missing"
	}
	return "kept"
}

// tryListener asks for a seccomp listener of its own, which could overrule ptguard's filter.
func tryListener() string {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return "no_new_privs " + errnoName(err)
	}
	prog := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno == 0 {
		return "given"
	}
	if !errors.Is(errno, unix.EPERM) && !errors.Is(errno, unix.EBUSY) {
		return errnoName(errno)
	}
	return "refused"
}
