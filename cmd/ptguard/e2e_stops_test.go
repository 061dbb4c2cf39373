// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/internal/landlock"
)

// What still stops. What a program calls is counted by strace(1) without ptguard, what of it
// may stop is said here, call by call, and what did stop is counted by a ptguard that is built
// for that (tag ptguard_counts). So the tests hold with any libc, and fail when a call that
// no rule can refuse stops, or one that a rule can refuse does not.

// stopping tells which calls of a name stop: those whose arguments, as strace writes them,
// match. The numbers are those of docs/system-calls.md.
type stopping map[string]*regexp.Regexp

var (
	always = regexp.MustCompile("")
	// whatever is asked about but whether the name is there (access(2), F_OK)
	asksMore  = regexp.MustCompile(`\b[RWX]_OK\b`)
	opensOpen = regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_TMPFILE`)
	others    = regexp.MustCompile(`^[^0,]+,`) // the first argument is another process, or may be
	cores     = regexp.MustCompile(`^(\d+, )?RLIMIT_CORE`)
	setsOwner = regexp.MustCompile(`, F_SETOWN`)
	noUnix    = regexp.MustCompile(`^AF_(INET6?, SOCK_(RAW|PACKET)|PACKET|[^UINP]|NETLINK, SOCK_\w+, NETLINK_[^R])`)
)

// changes stop under every policy: guards hold in mode open, too.
var changes = stopping{
	"execve": always, "execveat": always, "openat2": always, "creat": always,
	"unlink": always, "unlinkat": always, "rmdir": always, "mkdir": always, "mkdirat": always, "mknod": always, "mknodat": always,
	"symlink": always, "symlinkat": always, "rename": always, "renameat": always, "renameat2": always, "link": always, "linkat": always,
	"truncate": always, "chmod": always, "fchmod": always, "fchmodat": always, "fchmodat2": always,
	"chown": always, "lchown": always, "fchown": always, "fchownat": always, "utime": always, "utimes": always, "utimensat": always, "futimesat": always,
	"connect": always, "bind": always, "sendmsg": always, "sendmmsg": always,
	"kill": always, "tkill": always, "tgkill": always, "rt_sigqueueinfo": always, "rt_tgsigqueueinfo": always,
	"pidfd_open": always, "pidfd_getfd": always, "pidfd_send_signal": always,
	"setuid": always, "setgid": always, "setresuid": always, "setresgid": always, "setgroups": always, "capset": always,
	"prlimit64": others, "sched_setaffinity": others, "fcntl": setsOwner,
}

// opens stop where some rule or guard can refuse to read; under permissive that is always so.
var opens = stopping{"open": always, "openat": always, "getxattr": always, "lgetxattr": always}

// rules stop in all modes but open.
var rules = stopping{"access": asksMore, "faccessat": asksMore, "faccessat2": asksMore, "listen": always, "socket": noUnix}

// looks stop where a rule can hide a name or refuse to look at it.
var looks = stopping{
	"stat": always, "lstat": always, "newfstatat": always, "statx": always, "readlink": always, "readlinkat": always,
	"access": always, "faccessat": always, "faccessat2": always, "chdir": always, "statfs": always,
	"listxattr": always, "llistxattr": always, "inotify_add_watch": always, "name_to_handle_at": always, "getdents64": always,
}

// presetLooks are the presets under which there is something that may not be looked at.
var presetLooks = []string{"agent", "hermetic", "strict"}

// stopsUnder says what stops under a preset.
func stopsUnder(t *testing.T, preset string) stopping {
	t.Helper()
	out := maps.Clone(changes)
	if runtime.NumCPU() > 1 { // a serial tree is kept on one of them
		out["sched_getaffinity"], out["sched_setaffinity"] = always, always
	}
	if preset == "open" {
		out["open"], out["openat"] = opensOpen, opensOpen
		// /proc of others is closed to all but root by Landlock, else by ptguard.
		if abi, err := landlock.ABI(); os.Geteuid() == 0 || err != nil || abi < 6 {
			maps.Copy(out, opens)
		}
		return out
	}
	maps.Copy(out, opens)
	maps.Copy(out, rules)
	if slices.Contains(presetLooks, preset) {
		maps.Copy(out, looks)
	}
	if out["prlimit64"] = others; coresAreFiles(t) {
		out["prlimit64"], out["setrlimit"], out["getrlimit"] = regexp.MustCompile(others.String()+"|"+cores.String()), cores, cores
	}
	return out
}

// coresAreFiles: a core dump that is piped to a program is no file that the kernel writes.
func coresAreFiles(t *testing.T) bool {
	return !strings.HasPrefix(text(t, "/proc/sys/kernel/core_pattern"), "|")
}

// tracedCall is a line of strace -f.
var tracedCall = regexp.MustCompile(`^(?:\d+ +)?([a-z0-9_]+)\((.*)$`)

// bareCalls runs a program without ptguard and counts the calls that may stop.
func bareCalls(t *testing.T, b *ktest.Box, stops stopping, argv ...string) map[string]int {
	t.Helper()
	log := filepath.Join(b.Root, "strace")
	if r := b.Bare(t, append([]string{"strace", "-f", "-qq", "-e", "signal=none", "-o", log}, argv...)...); r.Status != 0 {
		t.Fatalf("without ptguard: %v", r)
	}
	calls := map[string]int{}
	for line := range strings.Lines(text(t, log)) {
		if m := tracedCall.FindStringSubmatch(strings.TrimSpace(line)); m != nil && stops[m[1]] != nil && stops[m[1]].MatchString(m[2]) {
			calls[m[1]]++
		}
	}
	return calls
}

// guardedStops runs it under a preset and gives the stops of its calls, and of all else.
func guardedStops(t *testing.T, b *ktest.Box, preset string, argv ...string) (calls, events map[string]int) {
	t.Helper()
	counts := filepath.Join(b.Root, "counts")
	b.Env = append(b.Env, "PTGUARD_COUNTS="+counts)
	r := b.Run(t, ktest.Cmd{Argv: append([]string{ktest.TaggedBinary(t, "ptguard_counts"), "run", "--preset", preset, "--"}, argv...)})
	b.Env = b.Env[:len(b.Env)-1]
	if r.Status != 0 {
		t.Fatalf("under %s: %v", preset, r)
	}
	var got struct{ Calls, Events map[string]int }
	if err := json.Unmarshal([]byte(text(t, counts)), &got); err != nil {
		t.Fatal(err)
	}
	return got.Calls, got.Events
}

// presetNames are those of ptguard policy list.
func presetNames(t *testing.T, b *ktest.Box) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(b.Bare(t, ktest.Binary(t), "policy", "list").Stdout) {
		name, _, _ := strings.Cut(line, " ")
		out = append(out, name)
	}
	if len(out) < 5 {
		t.Fatalf("presets: %q", out)
	}
	return out
}

// pythonItself is the interpreter, without scripts that choose one.
func pythonItself(t *testing.T, b *ktest.Box) string {
	t.Helper()
	r := b.Bare(t, "python3", "-c", "import os, sys; print(os.path.realpath(sys.executable))")
	if r.Status != 0 {
		t.Fatalf("python3: %v", r)
	}
	return strings.TrimSpace(r.Stdout)
}

// TestStops: of programs with one thread, each call that can be refused stops once, and
// nothing else does.
func TestStops(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/file", "text\n") })
	python := pythonItself(t, b)
	for _, preset := range presetNames(t, b) {
		stops := stopsUnder(t, preset)
		for name, argv := range map[string][]string{
			"cat":    {"/bin/cat", "file"},
			"python": {python, "-S", "-c", "pass"},
		} {
			t.Run(preset+" "+name, func(t *testing.T) {
				want := bareCalls(t, b, stops, argv...)
				got, events := guardedStops(t, b, preset, argv...)
				if !maps.Equal(got, want) {
					t.Errorf("stops %v, want %v", got, want)
				}
				// The exec, its end, and four to bring the window in, from one more stop of
				// the call that was the first to need it: its exit where it has no stub.
				if events["exec"] != 1 || events["end"] != 1 || events["setup"] > 5 || events["fork"]+events["vfork"]+events["clone"] != 0 {
					t.Errorf("other stops %v", events)
				}
			})
		}
	}
}

// TestStopsOfGoBuild: what the tool calls depends on how its threads meet, so the counts are
// bounds, within a fifth, or ten, of what it does without ptguard; and it sends itself a signal
// (tgkill) whenever it wants a thread to let go, as often as time passes. But no call stops
// that no rule can refuse.
func TestStopsOfGoBuild(t *testing.T) {
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Write(t, "work/go.mod", "module example.com/m\n\ngo 1.21\n")
		b.Write(t, "work/main.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(1) }\n")
	})
	argv := []string{"go", "build", "-o", "m", "."}
	if r := b.Bare(t, argv...); r.Status != 0 { // fills the cache
		t.Fatal(r)
	}
	for _, preset := range []string{"permissive", "go"} {
		t.Run(preset, func(t *testing.T) {
			stops := stopsUnder(t, preset)
			want := bareCalls(t, b, stops, argv...)
			got, _ := guardedStops(t, b, preset, argv...)
			names := slices.Sorted(maps.Keys(got))
			for name := range want {
				if got[name] == 0 {
					names = append(names, name)
				}
			}
			for _, name := range names {
				n, w := got[name], want[name]
				switch {
				case name == "tgkill":
				case stops[name] == nil:
					t.Errorf("%s stops %d times, and no rule can refuse it", name, n)
				case n > w+max(10, w/5) || n < w-max(10, w/5):
					t.Errorf("%s stops %d times, called %d times", name, n, w)
				}
			}
			t.Logf("stops %v, calls without ptguard %v", got, want)
		})
	}
}

// TestAllocationsPerStop: an allowed call that a program has made before costs no allocation.
// What remains is of the loop that waits, a few for many stops.
func TestAllocationsPerStop(t *testing.T) {
	program := ktest.Tracee(t, "repeat")
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/file", "text\n") })
	counted := func(act string, n int) (mallocs, stops, collections float64) {
		counts := filepath.Join(b.Root, "counts")
		b.Env = append(b.Env, "PTGUARD_COUNTS="+counts)
		r := b.Run(t, ktest.Cmd{Argv: []string{ktest.TaggedBinary(t, "ptguard_counts"), "run", "--", program, act, strconv.Itoa(n), b.Path("work/file")}})
		b.Env = b.Env[:len(b.Env)-1]
		if r.Status != 0 {
			t.Fatalf("%s: %v", act, r)
		}
		var got struct {
			Calls        map[string]int
			Mallocs, GCs float64
		}
		if err := json.Unmarshal([]byte(text(t, counts)), &got); err != nil {
			t.Fatal(err)
		}
		for _, calls := range got.Calls {
			stops += float64(calls)
		}
		return got.Mallocs, stops, got.GCs
	}
	for _, act := range []string{"open", "write", "relative", "unlink", "rename", "mkdir", "chmod", "access", "connect", "sendmsg"} {
		// What goes by the clock may come between: the least of some tries counts.
		perStop, collections := math.Inf(1), math.Inf(1)
		for range 4 {
			few, fewStops, _ := counted(act, 200)
			many, manyStops, collected := counted(act, 2200)
			stops := manyStops - fewStops
			if stops < 2000 {
				t.Errorf("%s: %v stops of 2000 calls", act, stops)
			}
			perStop, collections = min(perStop, (many-few)/stops), min(collections, collected)
			if perStop < 0.8 {
				break
			}
		}
		most := 0.8 // of the loop that waits, where all that have stopped are taken at once: 0.2, or 0.4 with an exit stop
		if act == "connect" {
			// The tree could rename a directory of the path, so we connect ourselves, elsewhere.
			most = 20
		}
		if perStop > most {
			t.Errorf("%s: %.2f allocations a stop", act, perStop)
		}
		if collections > 0 && act != "connect" {
			t.Errorf("%s: %v garbage collections", act, collections)
		}
	}
}
