// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/internal/readfile"
)

// statusField reads one field of /proc/TID/status, "" if the task is gone.
func statusField(tid int, name string) string {
	text, err := readfile.All(procPath(tid, "status"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// threadGroup gives the pid a thread belongs to, the thread itself if it is gone.
func threadGroup(tid int) int {
	// Most often it is a process that has just been made, which the kernel tells in one call:
	// a signal 0 to a thread of its own id (tgkill(2)). EPERM: it is there, and not ours.
	if err := unix.Tgkill(tid, tid, 0); err == nil || errors.Is(err, unix.EPERM) {
		return tid
	}
	if pid, err := strconv.Atoi(statusField(tid, "Tgid")); err == nil {
		return pid
	}
	return tid
}

// identity is what records say of who did it.
func identity(tid, pid int) (exe, comm string, ppid int, argv []string) {
	exe, _ = os.Readlink(procPath(tid, "exe"))
	text, _ := readfile.All(procPath(tid, "comm"))
	comm = strings.TrimSuffix(string(text), "\n")
	ppid, _ = strconv.Atoi(statusField(pid, "PPid"))
	argv, _ = argvOf(tid)
	return exe, comm, ppid, argv
}

// argvOf is the argument vector of a task as it stands in its memory now; nil if it has none.
func argvOf(tid int) (argv []string, err error) {
	raw, err := readfile.All(procPath(tid, "cmdline"))
	if len(raw) > 0 && err == nil {
		argv = strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
	}
	return argv, err
}

// capSysPtrace tells whether we hold CAP_SYS_PTRACE, which lets us read tasks that made
// themselves non-dumpable.
func capSysPtrace() bool {
	caps, err := strconv.ParseUint(statusField(os.Getpid(), "CapEff"), 16, 64)
	return err == nil && caps&(1<<unix.CAP_SYS_PTRACE) != 0
}
