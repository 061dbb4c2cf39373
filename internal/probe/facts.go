// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// facts is what the machine says of itself. It explains a refused attempt and never
// replaces one.
type facts struct {
	release   string // uname -r
	tracer    int    // TracerPid of this process, 0 if not traced
	seccomp   bool   // a seccomp filter is already on this process
	yama      int    // kernel.yama.ptrace_scope, -1 without Yama
	capPtrace bool   // CAP_SYS_PTRACE is effective
	apparmor  string // the AppArmor or SELinux context, empty if none confines
	// ptraceFiltered: ptrace(2) is refused whatever it is asked, which only a seccomp
	// filter (or a kernel without it) does.
	ptraceFiltered bool
}

func readFacts() facts {
	f := facts{yama: -1, release: Kernel()}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		f.fromStatus(status)
	}
	if b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			f.yama = n
		}
	}
	if b, err := os.ReadFile("/proc/self/attr/current"); err == nil {
		if s := strings.TrimSpace(string(bytes.TrimRight(b, "\x00"))); s != "unconfined" && s != "kernel" {
			f.apparmor = s
		}
	}
	if f.tracer != 0 {
		return f // no need to ask, and a guard would record it
	}
	// Asked of a process that is no tracee of ours, PTRACE_CONT is ESRCH.
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_CONT, uintptr(os.Getpid()), 0, 0, 0, 0)
	f.ptraceFiltered = errno != unix.ESRCH
	return f
}

func (f *facts) fromStatus(status []byte) {
	for line := range bytes.Lines(status) {
		key, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "TracerPid":
			f.tracer, _ = strconv.Atoi(value)
		case "Seccomp":
			f.seccomp = value != "0"
		case "CapEff":
			caps, _ := strconv.ParseUint(value, 16, 64)
			f.capPtrace = caps&(1<<unix.CAP_SYS_PTRACE) != 0
		}
	}
}

// Kernel gives the release of the running kernel (uname(2)), as "6.18.44-generic".
func Kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// Tracer gives the process that traces this one (TracerPid of proc_pid_status(5)), 0 if
// none does. ptguard inside ptguard is found this way.
func Tracer() int { return readFacts().tracer }

// Explain says in one sentence why call failed with err while a run was set up, and what
// to change. call is the kernel's name: "ptrace", "seccomp", or any other.
func Explain(call string, err error) string {
	f := readFacts()
	switch call {
	case "ptrace":
		return f.ptraceRefused(err).Sentence()
	case "seccomp":
		return f.seccompRefused(err).Sentence()
	case "process_vm_readv", "process_vm_writev", "pidfd_getfd":
		return f.accessRefused(call, err).Sentence()
	}
	return f.withheld(call, "", err).Sentence()
}

// ptraceRefused tells apart who can refuse PTRACE_SEIZE of an own child: the tracer that is
// there already, a seccomp filter, Yama, another security module.
func (f facts) ptraceRefused(err error) Result {
	var by string
	switch {
	case f.tracer != 0:
		return Result{Detail: fmt.Sprintf("already guarded or traced by %d", f.tracer), Fix: f.ptraceFix()}
	case f.ptraceFiltered && errors.Is(err, unix.ENOSYS):
		by = "ENOSYS: by a seccomp profile, or a kernel without it"
	case f.ptraceFiltered:
		by = errnoName(err) + " by the container's seccomp profile"
	case f.yamaRefuses():
		by = fmt.Sprintf("Yama ptrace_scope=%d", f.yama)
	case f.apparmor != "":
		by = errnoName(err) + " by the security module, profile " + f.apparmor
	default:
		by = errnoName(err)
	}
	return Result{Detail: "ptrace is refused (" + by + ")", Fix: f.ptraceFix()}
}

func (f facts) yamaRefuses() bool { return f.yama >= 3 || f.yama == 2 && !f.capPtrace }

// ptraceFix says what to change for anything that ptrace_may_access() or ptrace(2) itself
// refused.
func (f facts) ptraceFix() string {
	switch {
	case f.tracer != 0:
		return "run it outside that guard, strace or debugger"
	case f.ptraceFiltered:
		return "run the container with --cap-add SYS_PTRACE, or with --security-opt seccomp=PROFILE where PROFILE allows ptrace"
	case f.yama >= 3:
		return "boot with kernel.yama.ptrace_scope=1 in /etc/sysctl.d, for scope 3 cannot be lowered while the machine runs"
	case f.yamaRefuses():
		return "run it with CAP_SYS_PTRACE (root, or --cap-add SYS_PTRACE), or set sysctl kernel.yama.ptrace_scope=1"
	case f.apparmor != "":
		return "allow ptrace of its own children to that profile (--security-opt apparmor=PROFILE; SELinux: setsebool deny_ptrace off)"
	}
	return "look for a security module or sandbox that forbids ptrace"
}

// seccompRefused explains a failed SECCOMP_SET_MODE_FILTER with no_new_privs set.
func (f facts) seccompRefused(err error) Result {
	switch {
	case errors.Is(err, unix.EINVAL):
		return Result{Detail: "seccomp(2) does not know filters (EINVAL)", Fix: "use a kernel with CONFIG_SECCOMP_FILTER"}
	case errors.Is(err, unix.EACCES):
		return Result{Detail: "seccomp(2) is refused (EACCES), for no_new_privs is not set and CAP_SYS_ADMIN not held", Fix: "leave out --allow-setuid, or run as root"}
	case errors.Is(err, unix.ENOSYS) && !f.seccomp:
		return Result{Detail: "seccomp(2) is not there (ENOSYS)", Fix: "use a kernel with CONFIG_SECCOMP_FILTER"}
	case f.seccomp:
		return Result{
			Detail: fmt.Sprintf("seccomp(2) is refused by the container's profile (%s)", errnoName(err)),
			Fix:    "run it with --security-opt seccomp=PROFILE where PROFILE allows seccomp, or seccomp=unconfined",
		}
	}
	return Result{Detail: fmt.Sprintf("seccomp(2) is refused (%s)", errnoName(err)), Fix: "look for a security module or sandbox that forbids it"}
}

// accessRefused explains a call that needs the same permission as ptrace.
func (f facts) accessRefused(call string, err error) Result {
	if errors.Is(err, unix.EPERM) && !f.ptraceFiltered && f.tracer == 0 && f.yamaRefuses() {
		return Result{Detail: fmt.Sprintf("%s is refused (Yama ptrace_scope=%d)", call, f.yama), Fix: f.ptraceFix()}
	}
	return f.withheld(call, "", err)
}

// withheld explains a call that came with kernel since (empty: old enough) and needs no
// permission.
func (f facts) withheld(call, since string, err error) Result {
	fix := fmt.Sprintf("run it with --security-opt seccomp=PROFILE where PROFILE allows %s", call)
	switch {
	case errors.Is(err, unix.ENOSYS) && since != "" && !atLeast(f.release, since):
		return Result{Detail: fmt.Sprintf("%s is not in Linux %s", call, f.release), Fix: "needs Linux " + since + " or later"}
	case f.tracer != 0: // a guard of ours has a filter too
		return Result{Detail: fmt.Sprintf("%s is refused (%s) while %d guards or traces this process", call, errnoName(err), f.tracer), Fix: f.ptraceFix()}
	case f.seccomp:
		return Result{Detail: fmt.Sprintf("%s is refused by the container's seccomp profile (%s)", call, errnoName(err)), Fix: fix}
	}
	return Result{Detail: fmt.Sprintf("%s is refused (%s)", call, errnoName(err)), Fix: "look for a security module, a sandbox or a kernel built without it"}
}

// atLeast compares the first two numbers of release with want, "6.10". A release that
// cannot be read counts as new enough: then the message names the errno, not a version.
func atLeast(release, want string) bool {
	var a, b, x, y int
	if _, err := fmt.Sscanf(release, "%d.%d", &a, &b); err != nil {
		return true
	}
	if _, err := fmt.Sscanf(want, "%d.%d", &x, &y); err != nil {
		return true
	}
	return a > x || a == x && b >= y
}

// errnoName gives the kernel's name of an errno, or the text of another error.
func errnoName(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return "errno " + strconv.Itoa(int(errno))
	}
	return fmt.Sprint(err)
}

// errnoOf is the inverse of errnoName; 0 for a word that is no errno.
func errnoOf(word string) syscall.Errno {
	for e := syscall.Errno(1); e < 134; e++ {
		if unix.ErrnoName(e) == word {
			return e
		}
	}
	return 0
}
