// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const namespaceVar = "PTGUARD_RESOLVE_NAMESPACE"

// inNamespace runs the test again in a mount name space of its own, where it may mount
// (in a user name space too, if the user is not root). It is true there.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceVar) != "" {
		return true
	}
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), namespaceVar+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("in a mount name space: %v\n%s", err, out)
	}
	return false
}

func TestMounts(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	w, root := place(t)
	pid := w.main.TGID
	for _, dir := range []string{"/m", "/c/d", "/nolinks", "/proc", "/part", "/twin"} {
		must(t, os.MkdirAll(root+dir, 0o755))
	}
	must(t, unix.Mount("none", root+"/m", "tmpfs", 0, ""), os.Mkdir(root+"/m/sub", 0o755), os.WriteFile(root+"/m/f", nil, 0o644),
		os.Symlink("..", root+"/m/up"), os.Symlink(root+"/m/f", root+"/m/abs"), os.Symlink("m/sub", root+"/in"),
		unix.Mount("none", root+"/nolinks", "tmpfs", 0x100 /* MS_NOSYMFOLLOW */, ""),
		os.Symlink("f", root+"/nolinks/l"), os.WriteFile(root+"/nolinks/f", nil, 0o644),
		unix.Mount("/proc", root+"/proc", "", unix.MS_BIND|unix.MS_REC, ""),
		unix.Mount(fmt.Sprintf("/proc/%d", pid), root+"/part", "", unix.MS_BIND, ""),
		unix.Mount(root+"/m", root+"/twin", "", unix.MS_BIND, ""))
	t.Cleanup(func() {
		for _, dir := range []string{"/m", "/nolinks", "/proc", "/part", "/twin"} {
			_ = unix.Unmount(root+dir, unix.MNT_DETACH)
		}
	})
	fd := w.do(request{Op: "keep", Dirfd: unix.AT_FDCWD, Path: "m/sub", Flags: unix.O_PATH}).FD

	for _, path := range []string{
		"m", "m/f", "m/..", "m/up", "m/up/m/f", "m/abs", "in", "in/../f", "in/../..", "nolinks/l", "nolinks/f", "nolinks/l/", "../" + "x",
		"proc/self", "proc/self/", "proc/self/cwd", "proc/thread-self/cwd/m", "part/cwd", "part/status", "twin/sub", "twin/up/c",
		fmt.Sprintf("/proc/self/fd/%d/..", fd), fmt.Sprintf("/proc/self/fd/%d/../..", fd), "/..", "/../" + root, root + "/m/abs",
	} {
		for _, f := range []Flags{0, NoFollow, Beneath, InRoot, NoXDev, NoSymlinks, NoXDev | Beneath, NoXDev | InRoot, NoXDev | NoFollow} {
			w.check(unix.AT_FDCWD, path, f)
			w.check(fd, path, f)
		}
	}
	for path, want := range map[string]int{
		"proc/self/status": pid, "proc/thread-self/comm": pid, "part/status": pid, "part/task": pid,
		"proc/version": 0, "proc/1/status": 1, "m/f": 0,
	} {
		o := w.resolve(unix.AT_FDCWD, path, 0)
		if o.Errno != 0 || o.ProcPID != want {
			t.Errorf("%s: %+v", path, o)
		}
		o.Close()
	}

	// A working directory that a newer mount hides, and one whose mount is gone, must not
	// be taken for what now has the name.
	must(t, os.WriteFile(root+"/c/d/f", nil, 0o644))
	w.do(request{Op: "chdir", Path: root + "/c/d"})
	must(t, unix.Mount(root+"/m", root+"/c", "", unix.MS_BIND, ""), os.Mkdir(root+"/m/d", 0o755), os.WriteFile(root+"/m/d/f", nil, 0o644))
	hidden := func(path string) {
		t.Helper()
		for _, f := range []Flags{0, Entry, MayCreate} {
			o := w.resolve(unix.AT_FDCWD, path, f)
			if o.Errno != 0 || !o.Nameless || o.NamelessKind != "unreachable" || o.Path != "" {
				t.Errorf("%s: %+v", path, o)
			}
			o.Close()
		}
		w.check(unix.AT_FDCWD, path, 0)
		w.check(unix.AT_FDCWD, path, Entry)
	}
	hidden("f")
	hidden(".")
	must(t, unix.Unmount(root+"/c", 0), os.Mkdir(root+"/sub", 0o755), os.WriteFile(root+"/m/sub/f", nil, 0o644))
	o := w.resolve(unix.AT_FDCWD, "f", 0)
	if o.Path != root+"/c/d/f" {
		t.Errorf("after umount: %+v", o)
	}
	o.Close()
	w.do(request{Op: "chdir", Path: root + "/m/sub"})
	must(t, unix.Unmount(root+"/m", unix.MNT_DETACH))
	hidden("f")
	hidden(".")
}
