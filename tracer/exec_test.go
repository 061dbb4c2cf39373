// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/rules"
)

// stoppedSelf starts this program anew and keeps it in its first stop; the test's goroutine is
// its tracer.
func stoppedSelf(t *testing.T) stopped {
	t.Helper()
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		t.Fatalf("%v, status %v", err, status)
	}
	t.Cleanup(func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
		runtime.UnlockOSThread()
	})
	return stopped{task: &task{tid: pid, proc: &process{pid: pid}}}
}

// TestAlive: a task is gone when it has left its stop, and not where nothing can be opened that
// would tell.
func TestAlive(t *testing.T) {
	s := stoppedSelf(t)
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	_, fault := os.Open("/dev/null")
	state, lives := statusField(s.tid, "State"), alive(s.tid)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if fault == nil || state != "" || !lives {
		t.Errorf("without descriptors: open %v, state %q, alive %t", fault, state, lives)
	}
	if err := unix.Kill(s.tid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_PID, s.tid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if alive(s.tid) {
		t.Error("killed, and still taken for stopped")
	}
}

// TestMappedAs: what was mapped must be there, of the file that was decided on. Where nothing
// lies any more, a sibling has moved it away.
func TestMappedAs(t *testing.T) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	decided := rules.Inode{Dev: st.Dev, Ino: st.Ino}
	l, s := &loop{}, stoppedSelf(t)
	maps, err := readMaps(s.tid)
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, m := range maps {
		if m.ino == st.Ino && m.dev == st.Dev {
			seen = true
			if !l.mappedAs(s, m.start, m.end-m.start, decided) {
				t.Errorf("the program at %#x: want it found", m.start)
			}
		}
	}
	if !seen {
		t.Fatal("the program is not among its mappings")
	}
	if l.mappedAs(s, pageSize, pageSize, decided) { // below vm.mmap_min_addr
		t.Error("nothing is mapped there: want false")
	}
}
