// SPDX-License-Identifier: Apache-2.0

package landlock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// role tells a re-executed test binary which child to be.
const role = "PTGUARD_LANDLOCK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "idle": // the target of a signal from inside the domain
		_, _ = os.Stdin.Read(make([]byte, 1))
	default:
		if how, files := strings.CutPrefix(os.Getenv(role), "files"); files {
			changeFiles(how)
		}
		attempt(os.Getenv(role))
	}
}

// attempt prints one "name errno" line an act, first outside, then, for a role other than
// "bare", inside a domain.
func attempt(how string) {
	runtime.LockOSThread() // never unlocked: the domain belongs to this thread
	parent := os.Getppid()
	if err := dropPerfmon(); err != nil {
		fmt.Println("capset", err)
		return
	}
	acts := func(when string) {
		fmt.Println(when+" kill-parent", errnoWord(unix.Kill(parent, 0)))
		fmt.Println(when+" mem-parent", errnoWord(openRead("/proc/"+strconv.Itoa(parent)+"/mem")))
		fmt.Println(when+" environ-parent", errnoWord(openRead("/proc/"+strconv.Itoa(parent)+"/environ")))
		fmt.Println(when+" abstract", errnoWord(dialAbstract(os.Getenv("PTGUARD_LANDLOCK_TEST_SOCKET"))))
		fmt.Println(when+" kill-self-child", errnoWord(killOwnChild()))
	}
	acts("before")
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println("no_new_privs", err)
		return
	}
	scope := Signal
	if how == "signal+abstract" {
		scope |= AbstractUnixSocket
	}
	if err := RestrictScoped(scope); err != nil {
		fmt.Println("restrict", err)
		return
	}
	acts("inside")
	if fds, err := os.ReadDir("/proc/thread-self/fd"); err == nil {
		for _, fd := range fds {
			if to, _ := os.Readlink("/proc/thread-self/fd/" + fd.Name()); strings.Contains(to, "landlock") {
				fmt.Println("leaked", to)
			}
		}
	}
}

// dropPerfmon clears CAP_PERFMON and CAP_SYS_ADMIN from the effective set of this thread.
// With either, mm_access() in the kernel grants what PTRACE_MODE_READ guards (environ, maps)
// although Landlock refuses it, so as root the domain alone does not hide them.
func dropPerfmon() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	for _, c := range []int{unix.CAP_PERFMON, unix.CAP_SYS_ADMIN} {
		data[c/32].Effective &^= 1 << (c % 32)
	}
	return unix.Capset(&hdr, &data[0])
}

func errnoWord(err error) string {
	if err == nil {
		return "ok"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func openRead(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

func dialAbstract(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + name})
}

// killOwnChild starts a child from this thread and sends it SIGTERM: inside a domain the
// child is inside too.
func killOwnChild() error {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{role + "=idle"}
	hold, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer func() { _ = hold.Close() }()
	if err := cmd.Start(); err != nil {
		return err
	}
	killed := unix.Kill(cmd.Process.Pid, unix.SIGKILL)
	if killed != nil {
		_ = hold.Close() // let it end by itself
	}
	_ = cmd.Wait()
	return killed
}

// TestDomain shows each act working without the domain and then, where the scope covers it,
// refused with the errno that landlock(7) and the kernel's LSM hooks give: EPERM for signals
// and abstract sockets, EACCES for /proc/PID/environ (ptrace_may_access).
func TestDomain(t *testing.T) {
	name := "ptguard-landlock-test-" + strconv.Itoa(os.Getpid())
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ role, abstract string }{
		{"signal", "ok"},
		{"signal+abstract", "EPERM"},
	} {
		t.Run(tc.role, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), role+"="+tc.role, "PTGUARD_LANDLOCK_TEST_SOCKET="+name)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := strings.Join([]string{
				"before kill-parent ok",
				"before mem-parent ok",
				"before environ-parent ok",
				"before abstract ok",
				"before kill-self-child ok",
				"inside kill-parent EPERM",
				"inside mem-parent EACCES",
				"inside environ-parent EACCES",
				"inside abstract " + tc.abstract,
				"inside kill-self-child ok",
			}, "\n") + "\n"
			if string(out) != want {
				t.Errorf("got:\n%swant:\n%s", out, want)
			}
		})
	}
}

// TestCallerUnrestricted: a domain belongs to one thread; the rest of the process stays out.
func TestCallerUnrestricted(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{role + "=idle"}
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Close(); _ = cmd.Wait() }()
	outside := cmd.Process.Pid

	done := make(chan error)
	go func() {
		runtime.LockOSThread() // ends with its thread
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- err
			return
		}
		if err := unix.Kill(outside, 0); err != nil {
			done <- fmt.Errorf("kill before the domain: %w", err)
			return
		}
		if err := RestrictScoped(Signal); err != nil {
			done <- err
			return
		}
		if err := unix.Kill(outside, 0); !errors.Is(err, unix.EPERM) {
			done <- fmt.Errorf("kill from the domain: %w, want EPERM", err)
			return
		}
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(outside, 0); err != nil {
		t.Errorf("kill from another thread: %v, want success", err)
	}
}

func TestBadScope(t *testing.T) {
	// An unknown bit is EINVAL, none at all ENOMSG (landlock_create_ruleset(2)).
	for scope, want := range map[Scope]syscall.Errno{1 << 40: unix.EINVAL, 0: unix.ENOMSG} {
		if err := RestrictScoped(scope); !errors.Is(err, want) {
			t.Errorf("RestrictScoped(%#x) = %v, want %v", uint64(scope), err, want)
		}
	}
}

func TestABI(t *testing.T) {
	abi, err := ABI()
	if err != nil || abi < scopedABI {
		t.Fatalf("ABI() = %d, %v; want at least %d on this machine", abi, err, scopedABI)
	}
}

func TestNotSupported(t *testing.T) {
	for _, tc := range []struct {
		err  NotSupportedError
		want string
	}{
		{NotSupportedError{"landlock", "5.13", 0, unix.ENOSYS}, "landlock: needs Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK: function not implemented"},
		{NotSupportedError{"landlock", "5.13", 0, unix.EOPNOTSUPP}, "landlock: landlock is disabled at boot (add landlock to the lsm= kernel parameter)"},
		{NotSupportedError{"landlock scopes", "6.12", 4, 0}, "landlock scopes: needs Linux 6.12 or later: this kernel has landlock ABI 4"},
	} {
		err := fmt.Errorf("start: %w", &tc.err)
		if tc.err.Error() != tc.want {
			t.Errorf("got %q, want %q", tc.err.Error(), tc.want)
		}
		if !errors.Is(err, ErrNotSupported) {
			t.Errorf("%v is not ErrNotSupported", err)
		}
		if tc.err.Errno != 0 && !errors.Is(err, tc.err.Errno) {
			t.Errorf("%v hides its errno", err)
		}
	}
}
