// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refuse names, for a re-executed test binary, the system calls that a filter over the
// whole process shall refuse, as "NUMBER=ERRNO,…", before it runs the probes and prints
// their results. "none" is a run without a filter.
const refuse = "PTGUARD_PROBE_TEST_REFUSE"

func TestMain(m *testing.M) {
	ChildMain(os.Args)
	if spec := os.Getenv(refuse); spec != "" {
		_ = os.Unsetenv(refuse) // not for the children of the probes
		if err := confine(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if os.Getenv("PTGUARD_PROBE_TEST_WAIT") != "" {
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
		out := map[string]Result{}
		for _, p := range All() {
			out[p.Name] = p.Try()
		}
		if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// confine puts a filter on every thread that answers the calls of spec with an errno, as
// the profile of a container does.
func confine(spec string) error {
	if spec == "none" {
		return nil
	}
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	for rule := range strings.SplitSeq(spec, ",") {
		var nr, errno uint32
		if _, err := fmt.Sscanf(rule, "%d=%d", &nr, &errno); err != nil {
			return err
		}
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | errno})
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	if r != 0 {
		return fmt.Errorf("thread %d kept out of the filter", r)
	}
	return nil
}

// under runs all probes in a process whose calls of spec are refused.
func under(t *testing.T, spec string) map[string]Result {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), refuse+"="+spec)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]Result
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return results
}

// TestHere: this machine has everything, so that a refusal below is the filter's doing.
func TestHere(t *testing.T) {
	for _, p := range All() {
		r := p.Try()
		t.Logf("%-18s %v %s", p.Name, r.OK, r.Sentence())
		want := true
		if p.Name == "cap-sys-ptrace" {
			want = os.Geteuid() == 0
		}
		if r.OK != want {
			t.Errorf("%s: ok = %v, want %v: %s", p.Name, r.OK, want, r.Sentence())
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		nr   int
		as   syscall.Errno
		want map[string]string // what each failing probe says; all others must be ok
	}{
		{"ptrace", unix.SYS_PTRACE, unix.EPERM, map[string]string{
			"ptrace":        "ptrace is refused (EPERM by the container's seccomp profile): run the container with --cap-add SYS_PTRACE, or with --security-opt seccomp=PROFILE where PROFILE allows ptrace",
			"seccomp-trace": "a filter can be installed, but not tried, for ptrace is refused (EPERM by the container's seccomp profile): run the container with --cap-add SYS_PTRACE, or with --security-opt seccomp=PROFILE where PROFILE allows ptrace",
			"syscall-info":  "not tried, for no call could be stopped",
		}},
		{"ptrace absent", unix.SYS_PTRACE, unix.ENOSYS, map[string]string{
			"ptrace":        "ptrace is refused (ENOSYS: by a seccomp profile, or a kernel without it): run the container with --cap-add SYS_PTRACE, or with --security-opt seccomp=PROFILE where PROFILE allows ptrace",
			"seccomp-trace": "a filter can be installed, but not tried, for ptrace is refused (ENOSYS: by a seccomp profile, or a kernel without it): run the container with --cap-add SYS_PTRACE, or with --security-opt seccomp=PROFILE where PROFILE allows ptrace",
			"syscall-info":  "not tried, for no call could be stopped",
		}},
		{"seccomp", unix.SYS_SECCOMP, unix.EPERM, map[string]string{
			"seccomp-trace": "seccomp(2) is refused by the container's profile (EPERM): run it with --security-opt seccomp=PROFILE where PROFILE allows seccomp, or seccomp=unconfined",
			"syscall-info":  "not tried, for no call could be stopped",
		}},
		{"process_vm_readv", unix.SYS_PROCESS_VM_READV, unix.EPERM, map[string]string{
			"process_vm_readv": "process_vm_readv is refused by the container's seccomp profile (EPERM): run it with --security-opt seccomp=PROFILE where PROFILE allows process_vm_readv",
		}},
		{"landlock", unix.SYS_LANDLOCK_CREATE_RULESET, unix.EPERM, map[string]string{
			"landlock-signal": "landlock_create_ruleset is refused by the container's seccomp profile (EPERM): run it with --security-opt seccomp=PROFILE where PROFILE allows landlock_create_ruleset",
			"landlock-files":  "landlock_create_ruleset is refused by the container's seccomp profile (EPERM): run it with --security-opt seccomp=PROFILE where PROFILE allows landlock_create_ruleset",
		}},
		{"landlock absent", unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, map[string]string{
			"landlock-signal": "landlock: needs Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK: function not implemented",
			"landlock-files":  "landlock: needs Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK: function not implemented",
		}},
		{"landlock off", unix.SYS_LANDLOCK_CREATE_RULESET, unix.EOPNOTSUPP, map[string]string{
			"landlock-signal": "landlock: landlock is disabled at boot (add landlock to the lsm= kernel parameter)",
			"landlock-files":  "landlock: landlock is disabled at boot (add landlock to the lsm= kernel parameter)",
		}},
		{"mseal", unix.SYS_MSEAL, unix.EPERM, map[string]string{
			"mseal": "mseal is refused by the container's seccomp profile (EPERM): run it with --security-opt seccomp=PROFILE where PROFILE allows mseal",
		}},
		{"openat2", unix.SYS_OPENAT2, unix.ENOSYS, map[string]string{
			"openat2": "openat2 is refused by the container's seccomp profile (ENOSYS): run it with --security-opt seccomp=PROFILE where PROFILE allows openat2",
		}},
		{"close_range", unix.SYS_CLOSE_RANGE, unix.EPERM, map[string]string{
			"close_range": "close_range is refused by the container's seccomp profile (EPERM): run it with --security-opt seccomp=PROFILE where PROFILE allows close_range",
		}},
		{"pidfd_getfd", unix.SYS_PIDFD_GETFD, unix.EPERM, map[string]string{
			"pidfd_getfd": "pidfd_getfd is refused by the container's seccomp profile (EPERM)",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := under(t, fmt.Sprintf("%d=%d", tc.nr, int(tc.as)))
			for _, p := range All() {
				r, want := got[p.Name], tc.want[p.Name]
				switch {
				case p.Name == "cap-sys-ptrace":
				case want == "" && !r.OK:
					t.Errorf("%s fails too: %s", p.Name, r.Sentence())
				case want != "" && (r.OK || r.Sentence() != want):
					t.Errorf("%s: ok = %v\n got %s\nwant %s", p.Name, r.OK, r.Sentence(), want)
				}
			}
		})
	}
}

// TestTraced runs the probes in a process that this test traces.
func TestTraced(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), refuse+"=none", "PTGUARD_PROBE_TEST_WAIT=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	var got map[string]Result
	onOwnThread(func() {
		// Only its first thread is traced, and let run at every stop.
		if err := request(unix.PTRACE_SEIZE, pid, unix.PTRACE_O_EXITKILL); err != nil {
			t.Error(err)
			return
		}
		_ = stdin.Close()
		line := make(chan string, 1)
		go func() {
			s, _ := bufio.NewReader(stdout).ReadString('\n')
			line <- s
		}()
		for {
			var ws unix.WaitStatus
			if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil {
				t.Error(err)
				return
			}
			if !ws.Stopped() {
				break
			}
			var sig uintptr
			if uint32(ws)>>16 == 0 {
				sig = uintptr(ws.StopSignal())
			}
			_ = request(unix.PTRACE_CONT, pid, sig)
		}
		if err := json.Unmarshal([]byte(<-line), &got); err != nil {
			t.Error(err)
		}
	})
	_ = cmd.Wait() // reaped above; closes the pipes
	// TracerPid names the tracing thread, which is gone by now.
	said := got["ptrace"].Sentence()
	if got["ptrace"].OK || !strings.HasPrefix(said, "already guarded or traced by ") || strings.Contains(said, "traced by 0") {
		t.Errorf("got %q", said)
	}
}

// TestSentences covers what cannot be set up here: Yama, other security modules, old
// kernels.
func TestSentences(t *testing.T) {
	for _, tc := range []struct {
		got  Result
		want string
	}{
		{
			facts{yama: 3, capPtrace: true}.ptraceRefused(unix.EPERM),
			"ptrace is refused (Yama ptrace_scope=3): boot with kernel.yama.ptrace_scope=1 in /etc/sysctl.d, for scope 3 cannot be lowered while the machine runs",
		},
		{
			facts{yama: 2}.ptraceRefused(unix.EPERM),
			"ptrace is refused (Yama ptrace_scope=2): run it with CAP_SYS_PTRACE (root, or --cap-add SYS_PTRACE), or set sysctl kernel.yama.ptrace_scope=1",
		},
		{
			facts{yama: 1, apparmor: "docker-default (enforce)"}.ptraceRefused(unix.EPERM),
			"ptrace is refused (EPERM by the security module, profile docker-default (enforce)): allow ptrace of its own children to that profile (--security-opt apparmor=PROFILE; SELinux: setsebool deny_ptrace off)",
		},
		{
			facts{yama: 1}.ptraceRefused(unix.EPERM),
			"ptrace is refused (EPERM): look for a security module or sandbox that forbids ptrace",
		},
		{
			facts{yama: 3, tracer: 77, ptraceFiltered: true}.ptraceRefused(unix.EPERM),
			"already guarded or traced by 77: run it outside that guard, strace or debugger",
		},
		{
			facts{yama: 2}.accessRefused("process_vm_readv", unix.EPERM),
			"process_vm_readv is refused (Yama ptrace_scope=2): run it with CAP_SYS_PTRACE (root, or --cap-add SYS_PTRACE), or set sysctl kernel.yama.ptrace_scope=1",
		},
		{
			facts{tracer: 77, seccomp: true}.accessRefused("process_vm_readv", unix.EPERM),
			"process_vm_readv is refused (EPERM) while 77 guards or traces this process: run it outside that guard, strace or debugger",
		},
		{
			facts{}.seccompRefused(unix.ENOSYS),
			"seccomp(2) is not there (ENOSYS): use a kernel with CONFIG_SECCOMP_FILTER",
		},
		{
			facts{}.seccompRefused(unix.EACCES),
			"seccomp(2) is refused (EACCES), for no_new_privs is not set and CAP_SYS_ADMIN not held: leave out --allow-setuid, or run as root",
		},
		{
			facts{release: "6.1.0-18-amd64", seccomp: true}.withheld("mseal", "6.10", unix.ENOSYS),
			"mseal is not in Linux 6.1.0-18-amd64: needs Linux 6.10 or later",
		},
	} {
		if tc.got.OK || tc.got.Sentence() != tc.want {
			t.Errorf("\n got %s\nwant %s", tc.got.Sentence(), tc.want)
		}
	}
}

// TestExplain: on this machine nothing refuses these calls, so only the errno is told.
func TestExplain(t *testing.T) {
	for call, want := range map[string]string{
		"ptrace":           "ptrace is refused (EPERM): look for a security module or sandbox that forbids ptrace",
		"seccomp":          "seccomp(2) is refused (EPERM): look for a security module or sandbox that forbids it",
		"process_vm_readv": "process_vm_readv is refused (EPERM): look for a security module, a sandbox or a kernel built without it",
		"close_range":      "close_range is refused (EPERM): look for a security module, a sandbox or a kernel built without it",
	} {
		if got := Explain(call, fmt.Errorf("launch: %w", unix.EPERM)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if Tracer() != 0 {
		t.Errorf("traced by %d", Tracer())
	}
}

func TestAtLeast(t *testing.T) {
	for _, tc := range []struct {
		release, want string
		is            bool
	}{
		{"6.18.44-fc", "6.10", true},
		{"6.9.0", "6.10", false},
		{"6.10", "6.10", true},
		{"5.19.1", "6.10", false},
		{"7.0-rc1", "6.12", true},
		{"gvisor", "5.3", true},
	} {
		if got := atLeast(tc.release, tc.want); got != tc.is {
			t.Errorf("atLeast(%q, %q) = %v", tc.release, tc.want, got)
		}
	}
}

func TestStatus(t *testing.T) {
	// Field names and forms of proc_pid_status(5); CAP_SYS_PTRACE is bit 19.
	var f facts
	f.fromStatus([]byte("Name:\tx\nTracerPid:\t1234\nCapEff:\t0000000000080000\nSeccomp:\t2\nSeccomp_filters:\t1\n"))
	if want := (facts{tracer: 1234, seccomp: true, capPtrace: true}); f != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
	f = facts{}
	f.fromStatus([]byte("TracerPid:\t0\nCapEff:\t00000000a80425fb\nSeccomp:\t0\n")) // stock Docker
	if f != (facts{}) {
		t.Errorf("got %+v, want nothing", f)
	}
}

// TestHungChild: a child that never answers is killed, and the probe says so.
func TestHungChild(t *testing.T) {
	old := limit
	limit = 50 * time.Millisecond
	defer func() { limit = old }()
	c, err := start(roleIdle) // never told to proceed
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	if s, err := c.line(); err == nil {
		t.Fatalf("an idle child said %q", s)
	}
	ws, err := c.wait()
	if err != nil || !ws.Signaled() || ws.Signal() != unix.SIGKILL || !c.expired {
		t.Errorf("status %#x, %v, expired %v; want killed by the limit", ws, err, c.expired)
	}
}

func TestErrnoWords(t *testing.T) {
	for _, e := range []syscall.Errno{unix.EPERM, unix.ENOSYS, unix.EOPNOTSUPP, unix.EHWPOISON} {
		if got := errnoOf(errnoName(fmt.Errorf("x: %w", e))); got != e {
			t.Errorf("%v came back as %v", e, got)
		}
	}
	if errnoOf("ok") != 0 || errnoName(errors.New("other")) != "other" {
		t.Error("a word that is no errno")
	}
}

// TestNoLeak: descriptors, children and threads are as before.
func TestNoLeak(t *testing.T) {
	run := func() {
		for _, p := range All() {
			p.Try()
		}
	}
	run() // what the runtime opens once
	fds, goroutines := openFiles(t), runtime.NumGoroutine()
	for range 3 {
		run()
	}
	if got := openFiles(t); got > fds { // fewer: what earlier tests left to the collector
		t.Errorf("%d descriptors, before %d", got, fds)
	}
	if got := runtime.NumGoroutine(); got > goroutines {
		t.Errorf("%d goroutines, before %d", got, goroutines)
	}
	var ws unix.WaitStatus
	if pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WALL, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("child %s is left (%v)", strconv.Itoa(pid), err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
