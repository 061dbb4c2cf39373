// SPDX-License-Identifier: Apache-2.0

// Package probe finds out what this machine lets ptguard do by doing it: every probe is a
// real attempt on a child of its own, never a look at a version or a configuration file.
// Versions and settings are read only afterwards, to say why an attempt was refused.
//
// Each probe reaps its child and closes what it opened. Probes trace: they belong in a
// process that guards nothing, like `ptguard doctor`.
package probe

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"ptguard/internal/landlock"
)

// Probe is one thing that a run needs or can use.
type Probe struct {
	// Name is the kernel's word for it.
	Name string
	// Use says what ptguard does with it.
	Use string
	// Since is the first kernel that has it, as "5.3"; empty if every kernel ptguard can
	// run on has it.
	Since string
	// Required: without it there is no guarded run. The others only add protection.
	Required bool
	// Try attempts it. It takes some milliseconds and at most a few seconds.
	Try func() Result
}

// Result is what an attempt showed.
type Result struct {
	// OK: the attempt did what a run needs.
	OK bool
	// Detail says what was seen, or which call was refused and by whom; no full stop.
	Detail string
	// Fix says what to change if not OK; empty if nothing can be.
	Fix string
}

// Sentence is the result in one sentence: "what was refused: what to change".
func (r Result) Sentence() string {
	if r.Fix == "" {
		return r.Detail
	}
	return r.Detail + ": " + r.Fix
}

func ok(format string, args ...any) Result {
	return Result{OK: true, Detail: fmt.Sprintf(format, args...)}
}

// All lists the probes in the order in which a launch meets their subjects.
func All() []Probe {
	return []Probe{
		{"procfs", "finds what a path of the tree means", "", true, procfs},
		{"ptrace", "stops the tree at its calls; it dies with ptguard (EXITKILL)", "3.8", true, ptrace},
		{"seccomp-trace", "chooses the calls that stop, and skips a refused one", "4.8", true, seccompTrace},
		{"syscall-info", "reads the call at a stop (PTRACE_GET_SYSCALL_INFO)", "5.3", true, syscallInfo},
		{"close_range", "keeps ptguard's and inherited descriptors out of the tree (CLOSE_RANGE_CLOEXEC)", "5.11", true, closeRange},
		{"process_vm_readv", "reads paths and addresses from the tree's memory", "3.2", true, vmReadv},
		{"openat2", "follows a path as the tree's process would", "5.6", true, openat2},
		{"landlock-signal", "keeps signals inside the tree, below ptrace", "6.12", false, landlockSignal},
		{"landlock-files", "keeps writes where the policy can allow them, below ptguard", "5.19", false, landlockFiles},
		{"mseal", "pins the arguments that were judged in their place; without it the filter guards that", "6.10", false, mseal},
		{"pidfd_getfd", "copies a program's descriptor; without it the program sends the copy, which takes longer", "5.6", false, pidfdGetfd},
		{"cap-sys-ptrace", "follows a tree that changes its user", "", false, capSysPtrace},
	}
}

// procfs opens, as resolving a path does, the directory and a descriptor of another process
// with O_PATH.
func procfs() Result {
	const fix = "mount procfs on /proc without hidepid= or subset="
	var st unix.Statfs_t
	if err := unix.Statfs("/proc", &st); err != nil {
		return Result{Detail: fmt.Sprintf("/proc cannot be looked at (%v)", err), Fix: fix}
	}
	if st.Type != unix.PROC_SUPER_MAGIC {
		return Result{Detail: "/proc is not a proc file system", Fix: fix}
	}
	c, err := start(roleIdle)
	if err != nil {
		return cannotStart(err)
	}
	defer c.end()
	for _, name := range []string{"cwd", "root", "exe", "fd/0"} {
		path := fmt.Sprintf("/proc/%d/%s", c.pid, name)
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
				// The links are guarded by the same check as ptrace.
				return Result{Detail: fmt.Sprintf("/proc/PID/%s of a child cannot be opened (%s)", name, errnoName(err)), Fix: readFacts().ptraceFix()}
			}
			return Result{Detail: fmt.Sprintf("/proc/PID/%s of a child cannot be opened (%s)", name, errnoName(err)), Fix: fix}
		}
		_ = unix.Close(fd)
	}
	return ok("cwd, root, exe and descriptors of a child opened")
}

func openat2() Result {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/proc/self/status", &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return readFacts().withheld("openat2", "5.6", err)
	}
	_ = unix.Close(fd)
	// The resolve flags have to be honoured, not only taken.
	fd, err = unix.Openat2(unix.AT_FDCWD, "/proc/self/exe", &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err == nil {
		_ = unix.Close(fd)
	}
	if !errors.Is(err, unix.ELOOP) {
		return Result{Detail: fmt.Sprintf("openat2 followed a link under RESOLVE_NO_SYMLINKS (%v)", err)}
	}
	return ok("RESOLVE_NO_SYMLINKS stopped at a link")
}

// closeRange marks a descriptor close-on-exec by its number.
func closeRange() Result {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return Result{Detail: err.Error(), Fix: "make /dev/null readable"}
	}
	defer func() { _ = null.Close() }()
	fd, err := unix.FcntlInt(null.Fd(), unix.F_DUPFD, 3) // without close-on-exec
	if err != nil {
		return Result{Detail: fmt.Sprintf("a descriptor cannot be copied (%s)", errnoName(err))}
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.CloseRange(uint(fd), uint(fd), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		if errors.Is(err, unix.EINVAL) {
			err = unix.ENOSYS // Linux 5.9 and 5.10 do not know the flag
		}
		return readFacts().withheld("close_range", "5.11", err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		return Result{Detail: "close_range did not mark a descriptor close-on-exec"}
	}
	return ok("a descriptor was marked close-on-exec")
}

// landlockSignal has a child restrict itself and signal us.
func landlockSignal() Result {
	out, err := ask(roleLandlock)
	if err != nil {
		return cannotStart(err)
	}
	abi, abiErr := landlock.ABI()
	switch {
	case out == "ok EPERM":
		return ok("ABI %d; a signal out of the domain got EPERM", abi)
	case errors.Is(abiErr, landlock.ErrNotSupported):
		return Result{Detail: abiErr.Error()}
	case abiErr != nil:
		return readFacts().withheld("landlock_create_ruleset", "5.13", abiErr)
	case abi < 6:
		return Result{Detail: fmt.Sprintf("ABI %d has no scopes", abi), Fix: "needs Linux 6.12 or later"}
	}
	return Result{Detail: "a domain with the signal scope did not hold (" + out + ")"}
}

// landlockFiles has a child restrict itself to writing in one of two files, and write to
// both.
func landlockFiles() Result {
	out, err := ask(roleFiles)
	if err != nil {
		return cannotStart(err)
	}
	abi, abiErr := landlock.ABI()
	handled := landlock.Handled(abi)
	switch {
	case out == "ok EACCES" && handled != landlock.Changes:
		return ok("ABI %d, without truncate (Linux 6.2); a write outside of what was granted got EACCES", abi)
	case out == "ok EACCES":
		return ok("ABI %d; a write outside of what was granted got EACCES", abi)
	case errors.Is(abiErr, landlock.ErrNotSupported):
		return Result{Detail: abiErr.Error()}
	case abiErr != nil:
		return readFacts().withheld("landlock_create_ruleset", "5.13", abiErr)
	case handled == 0:
		return Result{Detail: fmt.Sprintf("ABI %d cannot leave moves between directories alone", abi), Fix: "needs Linux 5.19 or later"}
	}
	return Result{Detail: "a domain with file rules did not hold (" + out + ")"}
}

// mseal has a child seal a page and then try to change it.
func mseal() Result {
	out, err := ask(roleMseal)
	if err != nil {
		return cannotStart(err)
	}
	if out == "sealed EPERM" {
		return ok("a sealed page kept its protection")
	}
	if errno := errnoOf(out); errno != 0 {
		return readFacts().withheld("mseal", "6.10", errno)
	}
	return Result{Detail: "a sealed page could be changed (" + out + ")"}
}

func capSysPtrace() Result {
	if readFacts().capPtrace {
		return ok("in the effective set")
	}
	return Result{
		Detail: "CAP_SYS_PTRACE is not held, so a tree that changes its user is refused at setuid and its kin",
		Fix:    "needs --cap-add SYS_PTRACE",
	}
}

func cannotStart(err error) Result {
	return Result{Detail: fmt.Sprintf("the child of the probe failed (%v)", err)}
}
