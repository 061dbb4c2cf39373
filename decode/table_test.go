// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Rows and passthrough together are all names of both architectures, and disjoint: a new
// kernel call fails here until somebody decides.
func TestEveryNameIsDecidedOnce(t *testing.T) {
	rows, pass := map[string]bool{}, map[string]bool{}
	for _, r := range Rows {
		rows[r.Name] = true
	}
	for _, name := range PassthroughNames() {
		if pass[name] {
			t.Errorf("%s is twice on the passthrough list", name)
		}
		pass[name] = true
		if rows[name] {
			t.Errorf("%s is a row and on the passthrough list", name)
		}
	}
	known := map[string]bool{}
	for _, a := range []*Arch{AMD64, ARM64} {
		for nr, name := range a.Names() {
			known[name] = true
			if !rows[name] && !pass[name] {
				t.Errorf("%s %d %s is neither a row nor on the passthrough list", a.Name, nr, name)
			}
		}
	}
	for name := range rows {
		if !known[name] {
			t.Errorf("row %s is no system call of either architecture", name)
		}
	}
	for name := range pass {
		if !known[name] {
			t.Errorf("%s is on the passthrough list and no system call of either architecture", name)
		}
	}
}

// The tables agree with what x/sys read from the kernel's headers, up to its newest call.
func TestNumbersAreTheHeaders(t *testing.T) {
	for _, a := range []*Arch{AMD64, ARM64} {
		for name, nr := range headerNumbers(t, a.Name) {
			got := a.CallName(nr)
			if got != name && !slices.Contains(aliases[name], got) {
				t.Errorf("%s %d: the table says %q, x/sys %q", a.Name, nr, got, name)
			}
		}
	}
}

// Names that the arch tables and x/sys spell differently: fstatat is arm64's newfstatat,
// arch_specific_syscall the first number of a reserved range.
var aliases = map[string][]string{
	"newfstatat": {"fstatat"}, "umount2": {"umount"}, "_sysctl": {"sysctl"}, "fadvise64": {"fadvise64_64"},
	"arch_specific_syscall": {"arch_specific_syscall"}, "sendfile": {"sendfile64"},
}

var sysLine = regexp.MustCompile(`SYS_([A-Z0-9_]+)\s*= (\d+)`)

// headerNumbers reads x/sys's generated table.
func headerNumbers(t *testing.T, goarch string) map[string]uint32 {
	t.Helper()
	dir := moduleDir(t, "golang.org/x/sys")
	text, err := os.ReadFile(filepath.Join(dir, "unix", "zsysnum_linux_"+goarch+".go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint32{}
	for _, m := range sysLine.FindAllStringSubmatch(string(text), -1) {
		out[lower(m[1])] = number(t, m[2])
	}
	if len(out) < 300 {
		t.Fatalf("only %d numbers in x/sys for %s", len(out), goarch)
	}
	return out
}

func TestEveryRowIsWellFormed(t *testing.T) {
	for _, r := range Rows {
		if r.Const != nil && (r.Const.Errno == 0 || r.Const.Guard == "" || r.Const.Reason == "") {
			t.Errorf("%s: a constant refusal needs errno, guard and reason", r.Name)
		}
		if r.Const == nil && len(r.Args) == 0 && r.Special == NotSpecial {
			t.Errorf("%s: nothing to judge", r.Name)
		}
		if len(r.Args) > 6 {
			t.Errorf("%s: %d arguments", r.Name, len(r.Args))
		}
		for i, a := range r.Args {
			if slices.Contains([]Kind{OpenHow, Sockaddr, Mmsghdr, MapRange}, a.Kind) && i+1 >= len(r.Args) {
				t.Errorf("%s: argument %d needs its length after it", r.Name, i)
			}
			if (a.Kind == Path || a.Kind == Entry) && a.Access == 0 && r.Flags == 0 && !slices.ContainsFunc(r.Args, func(b Arg) bool { return b.Kind == OpenFlags || b.Kind == OpenHow }) {
				t.Errorf("%s: argument %d needs no access", r.Name, i)
			}
		}
	}
}

// The events are CPython's own: those of its file, process and socket calls, read off
// CPython 3.10 to 3.13 (strings of the binary that an audit hook was told). A name that it
// does not raise is not ours to invent.
func TestEventsAreCPythons(t *testing.T) {
	raised := strings.Fields(`
		open os.chdir os.chmod os.chown os.exec os.fork os.forkpty os.getxattr os.kill os.killpg os.link os.listdir
		os.listxattr os.lockf os.mkdir os.posix_spawn os.putenv os.remove os.removexattr os.rename os.rmdir os.scandir
		os.setxattr os.symlink os.system os.truncate os.unsetenv os.utime
		fcntl.fcntl fcntl.flock fcntl.ioctl fcntl.lockf mmap.__new__ resource.prlimit resource.setrlimit signal.pthread_kill
		socket.__new__ socket.bind socket.connect socket.getaddrinfo socket.gethostbyaddr socket.gethostbyname
		socket.gethostname socket.getnameinfo socket.getservbyname socket.getservbyport socket.sendmsg socket.sendto
		socket.sethostname subprocess.Popen`)
	for _, r := range Rows {
		if r.Event != "" && !slices.Contains(raised, r.Event) {
			t.Errorf("%s: CPython raises no %s", r.Name, r.Event)
		}
	}
}

// Each passthrough group says why, and holds something.
func TestPassthroughHasReasons(t *testing.T) {
	for _, group := range Passthrough {
		if len(strings.Fields(group.Why)) < 3 || strings.TrimSpace(group.Names) == "" {
			t.Errorf("%q: %q", group.Why, group.Names)
		}
	}
}

// A row that always stops hides the later rows of its name.
func TestNoRowIsHidden(t *testing.T) {
	type key struct {
		name string
		need Need
	}
	always := map[key]bool{}
	for _, r := range Rows {
		if always[key{r.Name, NeedAlways}] || always[key{r.Name, r.Need}] {
			t.Errorf("%s: an earlier row always stops", r.Name)
		}
		if len(r.When) == 0 {
			always[key{r.Name, r.Need}] = true
		}
	}
}

// From 424 on both architectures count alike and without holes, and below only the numbers
// that Linux never gave are without a name: a table that forgot a call would show here.
func TestTablesHaveNoHoles(t *testing.T) {
	holes := map[string][][2]uint32{
		// uprobe's 336, then what x86 left out to meet the others at 424.
		"amd64": {{337, 423}},
		// arch_specific_syscall reserves 244 to 259 of asm-generic/unistd.h; 295 to 402 were never
		// given, and 403 to 423 are the time64 calls of 32-bit machines.
		"arm64": {{245, 259}, {295, 402}, {415, 415}},
	}
	for _, a := range []*Arch{AMD64, ARM64} {
		newest := uint32(0)
		for nr := range a.Names() {
			newest = max(newest, nr)
		}
		if newest < 471 {
			t.Errorf("%s: newest number %d", a.Name, newest)
		}
		for nr := range newest {
			hole := slices.ContainsFunc(holes[a.Name], func(h [2]uint32) bool { return nr >= h[0] && nr <= h[1] })
			if (a.CallName(nr) == "") != hole {
				t.Errorf("%s: number %d is %q, a hole %v", a.Name, nr, a.CallName(nr), hole)
			}
		}
	}
	for nr := uint32(424); AMD64.CallName(nr) != "" || ARM64.CallName(nr) != ""; nr++ {
		if AMD64.CallName(nr) != ARM64.CallName(nr) && AMD64.CallName(nr) != "" && ARM64.CallName(nr) != "" {
			t.Errorf("number %d is %s and %s", nr, AMD64.CallName(nr), ARM64.CallName(nr))
		}
	}
}

// The headers of this machine: a kernel newer than the tables fails here until somebody
// decides on its calls.
func TestNumbersAreThisMachinesHeaders(t *testing.T) {
	checked := 0
	for _, h := range []struct {
		arch  *Arch
		files []string
	}{
		{AMD64, []string{"/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"}},
		{ARM64, []string{"/usr/include/asm-generic/unistd.h"}},
	} {
		for _, file := range h.files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // another distribution, or no headers
			}
			checked++
			for _, m := range defineLine.FindAllStringSubmatch(string(text), -1) {
				nr := number(t, m[2])
				if got := h.arch.CallName(nr); got == "" && !notACall[m[1]] {
					t.Errorf("%s: %s %d is unknown on %s", file, m[1], nr, h.arch.Name)
				}
			}
		}
	}
	t.Logf("%d headers", checked)
}

var (
	defineLine = regexp.MustCompile(`(?m)^#\s*define __NR(?:3264)?_(\w+)\s+(\d+)$`)
	// Of asm-generic/unistd.h: the end marker, and a call of 32-bit machines.
	notACall = map[string]bool{"syscalls": true}
)
