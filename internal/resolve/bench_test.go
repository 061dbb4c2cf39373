// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func BenchmarkResolve(b *testing.B) {
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(root+"/usr/lib/x86_64", 0o755); err != nil {
		b.Fatal(err)
	}
	os.WriteFile(root+"/usr/lib/x86_64/libc.so.6.1", nil, 0o644)
	os.Symlink("usr/lib", root+"/lib")
	os.Symlink("libc.so.6.1", root+"/usr/lib/x86_64/libc.so.6")
	c := startChild(b)
	c.do(request{Op: "chdir", Path: root + "/usr"})
	fd := c.do(request{Op: "keep", Dirfd: unix.AT_FDCWD, Path: root + "/usr/lib", Flags: unix.O_RDONLY}).FD
	r, err := New()
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range []struct {
		name  string
		dirfd int
		path  string
		f     Flags
	}{
		{"absolute", unix.AT_FDCWD, root + "/usr/lib/x86_64/libc.so.6.1", 0},
		{"relative", unix.AT_FDCWD, "lib/x86_64/libc.so.6.1", 0},
		{"dirfd", fd, "x86_64/libc.so.6.1", 0},
		{"absent", unix.AT_FDCWD, root + "/usr/lib/x86_64/none", 0},
		{"entry", unix.AT_FDCWD, root + "/usr/lib/x86_64/none", Entry},
		{"twolinks", unix.AT_FDCWD, root + "/lib/x86_64/libc.so.6", 0},
		{"bin", unix.AT_FDCWD, "/bin/sh", 0},
		{"procself", unix.AT_FDCWD, "/proc/self/status", 0},
		{"magic", unix.AT_FDCWD, "/proc/self/fd/4", 0},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			var o Object
			cpu := cpuTime(b)
			for b.Loop() {
				if err := r.Resolve(&o, c.main, q.dirfd, q.path, q.f); err != nil {
					b.Fatal(err)
				}
				o.Close()
			}
			cpu()
		})
	}
	for _, path := range []string{root + "/usr/lib/x86_64/libc.so.6.1", "lib/x86_64/libc.so.6.1"} {
		name := map[bool]string{true: "glance", false: "glance-relative"}[path[0] == '/']
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var o Object
			cpu := cpuTime(b)
			for b.Loop() {
				if !r.Glance(&o, c.main, unix.AT_FDCWD, path, 0) {
					b.Fatal("no glance")
				}
			}
			cpu()
		})
	}
	b.Run("bare", func(b *testing.B) { // what the kernel takes for one O_PATH open
		cpu := cpuTime(b)
		for b.Loop() {
			fd, err := unix.Open(root+"/usr/lib/x86_64/libc.so.6.1", unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				b.Fatal(err)
			}
			unix.Close(fd)
		}
		cpu()
	})
}

// cpuTime reports the processor time of an operation, which other load changes less than
// the time of the wall clock. Precondition: nothing else runs in the process.
func cpuTime(b *testing.B) func() {
	used := func() int64 {
		var ru unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
			b.Fatal(err)
		}
		return ru.Utime.Nano() + ru.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}
