// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
		for nr, name := range a.Names {
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
			got := a.Names[nr]
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
