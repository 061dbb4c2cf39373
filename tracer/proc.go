// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/internal/readfile"
)

// statusField reads one field of /proc/TID/status. It is "" if the task is gone, and as well if we
// have no descriptor left to read it with, so nothing may follow from that.
func statusField(tid int, name string) string {
	value, _ := statusOf(tid, name)
	return value
}

// statusOf is statusField for what depends on it: with ESRCH or ENOENT the task is gone.
func statusOf(tid int, name string) (string, error) {
	text, err := readfile.All(procPath(tid, "status"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("read /proc/%d/status: no %s", tid, name)
}

// threadGroup gives the pid a thread belongs to, the thread itself if it is gone.
func threadGroup(tid int) int {
	// Most often it is a process that has just been made, which the kernel tells in one call.
	if isThread(tid, tid) {
		return tid
	}
	if pid, err := strconv.Atoi(statusField(tid, "Tgid")); err == nil {
		return pid
	}
	return tid
}

// isThread tells whether a process has a thread, by a signal 0 to it (tgkill(2)). EPERM: it is there, and
// not ours.
func isThread(pid, tid int) bool {
	err := unix.Tgkill(pid, tid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
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
