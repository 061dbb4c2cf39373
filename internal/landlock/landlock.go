// SPDX-License-Identifier: Apache-2.0

// Package landlock is the raw layer over landlock(7): which ABI the kernel offers, and a
// domain for the calling thread. It decides nothing about what a tree may do.
//
// Every call is a plain system call on the calling thread and none of them blocks, so the
// init stage can use it between its last Go-level work and execve(2). What it must not do:
// restrict the other threads of the process, or set no_new_privs on behalf of the caller
// (with --allow-setuid the caller does not want it, and has to know that it then needs
// CAP_SYS_ADMIN).
package landlock

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Scope is a set of LANDLOCK_SCOPE_* bits: what the domain may no longer reach outside
// itself.
type Scope uint64

// The scopes; both came with ABI 6 (Linux 6.12).
const (
	// AbstractUnixSocket cuts connect(2) and sendto(2) to abstract unix sockets that were
	// bound outside the domain.
	AbstractUnixSocket Scope = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	// Signal cuts kill(2) and kin, and fcntl(2) F_SETOWN delivery, to processes outside
	// the domain.
	Signal Scope = unix.LANDLOCK_SCOPE_SIGNAL
)

// scopedABI is the first ABI with the scoped field, and scopedSince its kernel.
const (
	scopedABI   = 6
	scopedSince = "6.12"
)

// ErrNotSupported is what errors.Is finds in a NotSupportedError.
var ErrNotSupported = errors.New("not supported by this kernel")

// NotSupportedError says that the kernel lacks Landlock, or lacks what was asked of it.
type NotSupportedError struct {
	// Feature is what was asked for.
	Feature string
	// Since is the first kernel version that has Feature, as "6.12".
	Since string
	// ABI is the version that the kernel offers; 0 if it has no Landlock.
	ABI int
	// Errno is ENOSYS (not built in), EOPNOTSUPP (built in, but left out of the lsm= boot
	// parameter), or 0 if the kernel has Landlock and only the ABI is too old.
	Errno syscall.Errno
}

// Error names the feature, the kernel that has it, and what this kernel has.
func (e *NotSupportedError) Error() string {
	switch {
	case e.Errno == unix.EOPNOTSUPP:
		return e.Feature + ": landlock is disabled at boot (add landlock to the lsm= kernel parameter)"
	case e.Errno != 0:
		return fmt.Sprintf("%s: needs Linux %s or later with CONFIG_SECURITY_LANDLOCK: %v", e.Feature, e.Since, e.Errno)
	}
	return fmt.Sprintf("%s: needs Linux %s or later: this kernel has landlock ABI %d", e.Feature, e.Since, e.ABI)
}

// Is makes errors.Is(err, ErrNotSupported) true.
func (e *NotSupportedError) Is(target error) bool { return target == ErrNotSupported }

// Unwrap gives the errno, if there was one.
func (e *NotSupportedError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// ABI gives the Landlock ABI version of the running kernel, 1 or more
// (landlock_create_ruleset(2), LANDLOCK_CREATE_RULESET_VERSION). A kernel without Landlock
// is a *NotSupportedError; any other error means that somebody refused the question, as
// the seccomp profile of a container does.
func ABI() (int, error) {
	if absent {
		return 0, &NotSupportedError{Feature: "landlock", Since: "5.13", Errno: unix.ENOSYS}
	}
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return int(v), nil
	case unix.ENOSYS, unix.EOPNOTSUPP:
		return 0, &NotSupportedError{Feature: "landlock", Since: "5.13", Errno: errno}
	}
	return 0, fmt.Errorf("landlock_create_ruleset version: %w", errno)
}

// RestrictScoped puts the calling thread, and whatever it starts from now on, into a new
// domain that cuts no file system and no network access, only scope. The domain
// also may not ptrace(2) any process outside it, nor open its /proc/PID/mem, list its
// /proc/PID/fd (landlock(7), "Ptrace restrictions"). /proc/PID/environ and maps are refused
// too, but not to a holder of CAP_PERFMON or CAP_SYS_ADMIN: mm_access() lets those read past
// every security module (seen on 6.18), so rules on /proc have to hold by themselves. There
// is no way back.
//
// Precondition: the caller has locked its OS thread, and has set no_new_privs on it or holds
// CAP_SYS_ADMIN (EPERM otherwise). The other threads of the process stay as they are.
//
// Errors: *NotSupportedError below ABI 6; else the errno of the call that failed. On error
// the thread is not restricted.
func RestrictScoped(scope Scope) error { return (&Ruleset{Scope: scope}).Restrict() }
