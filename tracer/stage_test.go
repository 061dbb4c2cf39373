// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// allowAll is a filter that lets everything run.
var allowAll = []bpf.Instruction{bpf.RetConstant{Val: retAllow}}

func stageOf(t *testing.T, change func(*stageSpec)) *stage {
	t.Helper()
	filter, err := assemble(allowAll)
	if err != nil {
		t.Fatal(err)
	}
	spec := &stageSpec{Path: "/bin/true", Argv: []string{"true"}, Domain: -1}
	change(spec)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	st, err := startStage(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.free)
	if err := st.load(filter); err != nil {
		t.Fatal(err)
	}
	return st
}

// TestStageFails: the step that fails before the stage is seized is told with its errno, and
// nothing is left of it.
func TestStageFails(t *testing.T) {
	for want, c := range map[string]struct {
		change func(*stageSpec)
		errno  unix.Errno
	}{
		"change to /nonexistent: ":    {func(s *stageSpec) { s.Dir = "/nonexistent" }, unix.ENOENT},
		"change to /etc/passwd: ":     {func(s *stageSpec) { s.Dir = "/etc/passwd" }, unix.ENOTDIR},
		"keep descriptor 999: ":       {func(s *stageSpec) { s.KeepFDs = []int{0, 999} }, unix.EBADF},
		"enter the Landlock domain: ": {func(s *stageSpec) { s.Domain = 999 }, unix.EBADF},
	} {
		st := stageOf(t, c.change)
		err := st.ready()
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, c.errno) {
			t.Errorf("got %v, want %s%v", err, want, c.errno)
		}
		if err := unix.Kill(st.pid, 0); !errors.Is(err, unix.ESRCH) {
			t.Errorf("%s the stage is still there: %v", want, err)
		}
	}
	if _, err := startStage(&stageSpec{Path: "/bin/true", Argv: []string{"a\x00b"}, Domain: -1}); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a NUL byte in an argument: %v", err)
	}
}

// TestStageExecutes: what the program finds, or why it cannot be executed.
func TestStageExecutes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte("echo \"$0 $1 $X $PWD\" >out"), 0o755); err != nil {
		t.Fatal(err)
	}
	finish := func(st *stage) unix.WaitStatus {
		if err := st.ready(); err != nil {
			t.Fatal(err)
		}
		st.release()
		var status unix.WaitStatus
		for {
			if _, err := unix.Wait4(st.pid, &status, unix.WALL, nil); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if fd := st.listener(); fd < 0 {
			t.Error("the listener's descriptor is not ours")
		} else if err := unix.Close(fd); err != nil {
			t.Errorf("close the listener: %v", err)
		}
		return status
	}
	st := stageOf(t, func(s *stageSpec) { // without #!
		s.Path, s.Argv, s.Env, s.Dir = filepath.Join(dir, "script"), []string{"name", "word"}, []string{"X=y", "PATH=/usr/bin:/bin"}, dir
	})
	if status := finish(st); status != 0 {
		t.Fatalf("status %#x", status)
	}
	wants := map[string][]string{"out": {dir + "/script word y " + dir + "\n"}}

	st = stageOf(t, func(s *stageSpec) {
		s.Path, s.Argv = "/bin/cp", []string{"cp", "/proc/self/status", "/proc/self/limits", dir}
		s.Ignored, s.Blocked = 1<<(unix.SIGHUP-1)|1<<(unix.SIGUSR1-1), 1<<(unix.SIGALRM-1)
		s.Limits, s.NoCore = map[int]uint64{unix.RLIMIT_NOFILE: 55}, true
	})
	if status := finish(st); status != 0 {
		t.Fatalf("status %#x", status)
	}
	wants["status"] = []string{"SigBlk:\t0000000000002000\n", "SigIgn:\t0000000000000201\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "Threads:\t1\n"}
	wants["limits"] = []string{"\nMax open files            55                   55 ", "\nMax core file size        0                    0 "}
	for name, texts := range wants {
		got, err := os.ReadFile(filepath.Join(dir, name))
		for _, want := range texts {
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%s: %q, %v; want %q in it", name, got, err, want)
			}
		}
	}

	st = stageOf(t, func(s *stageSpec) { s.Path = "/nonexistent" })
	if status := finish(st); status.ExitStatus() != 125 {
		t.Errorf("status %#x", status)
	}
	stage := &stageError{}
	if err := st.failure(); !errors.As(err, &stage) || !stage.Exec || stage.Errno != unix.ENOENT {
		t.Errorf("got %v", err)
	}
}

// TestStageEndsWithUs: a stage that waits to be seized does not outlive whoever started it.
func TestStageEndsWithUs(t *testing.T) {
	const role = "PTGUARD_TEST_STAGE"
	if os.Getenv(role) != "" {
		st := stageOf(t, func(*stageSpec) {})
		if err := st.ready(); err != nil {
			t.Fatal(err)
		}
		fmt.Println("pid", st.pid)
		select {}
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestStageEndsWithUs$")
	cmd.Env = append(os.Environ(), role+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	if _, err := fmt.Fscanf(out, "pid %d\n", &pid); err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		state := statusField(pid, "State")
		return state != "" && state[0] != 'Z' && state[0] != 'X'
	}
	if !running() {
		t.Fatal("the stage does not wait")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for begin := time.Now(); running(); {
		if time.Since(begin) > 10*time.Second {
			_ = unix.Kill(pid, unix.SIGKILL)
			t.Fatal("the stage has outlived its supervisor")
		}
		runtime.Gosched()
	}
}
