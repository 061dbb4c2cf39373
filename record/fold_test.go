// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Whatever the order of refusals, first records plus counts are all of them, and the
// table stays within its limits.
func TestFoldCountsEverything(t *testing.T) {
	table := newFoldTable()
	table.entries, table.limit = 100, 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	want, got := map[string]uint64{}, map[string]uint64{}
	count := func(r *Record) { got[r.Resolved] += r.Count }
	for i := range 200_000 {
		path := fmt.Sprint("/", rng.IntN(300))
		if rng.IntN(50) == 0 {
			path += strings.Repeat("x", 4000)
		}
		want[path]++
		if !table.add(denial(path), count) {
			got[path]++
		}
		if i%1000 == 0 {
			table.flush(count)
			if table.pending != 0 {
				t.Fatalf("%d counts left by flush", table.pending)
			}
		}
		if len(table.byKey) > 100 || table.bytes > 200_000 {
			t.Fatalf("%d entries, %d bytes", len(table.byKey), table.bytes)
		}
	}
	table.flush(count)
	for path, n := range want {
		if got[path] != n {
			t.Errorf("%.20s: %d, want %d", path, got[path], n)
		}
	}
}

func TestFoldMillionDistinct(t *testing.T) {
	table := newFoldTable()
	r := denial("")
	none := func(*Record) { t.Error("a count of nothing") }
	for i := range million {
		r.Resolved = fmt.Sprint("/", i)
		if table.add(r, none) {
			t.Fatal("folded")
		}
	}
	if len(table.byKey) > foldEntries || table.bytes > foldBytes {
		t.Errorf("%d entries, %d bytes", len(table.byKey), table.bytes)
	}
}

// Identical is what RECORDS.md says: exe, syscall, resolved, access, rule, errno.
func TestFoldKey(t *testing.T) {
	base := string(appendFoldKey(nil, denial("/a")))
	same := map[string]func(*Record){
		"pid":  func(r *Record) { r.PID++ },
		"comm": func(r *Record) { r.Comm = "x" },
		"path": func(r *Record) { r.Path = "../a" },
		"argv": func(r *Record) { r.Argv = []string{"x"} },
	}
	differ := map[string]func(*Record){
		"exe":      func(r *Record) { r.Exe = "/bin/x" },
		"syscall":  func(r *Record) { r.Syscall = "open" },
		"resolved": func(r *Record) { r.Resolved = "/b" },
		"access":   func(r *Record) { r.Access = []string{"read"} },
		"more":     func(r *Record) { r.Access = append(r.Access, "read") },
		"rule":     func(r *Record) { r.Rule = "x" },
		"errno":    func(r *Record) { r.Errno = "ENOENT" },
		"addr":     func(r *Record) { r.Addr = "127.0.0.1" },
		"port":     func(r *Record) { r.Port = 80 },
	}
	for name, change := range same {
		r := denial("/a")
		change(r)
		if string(appendFoldKey(nil, r)) != base {
			t.Errorf("%s makes a difference", name)
		}
	}
	for name, change := range differ {
		r := denial("/a")
		change(r)
		if string(appendFoldKey(nil, r)) == base {
			t.Errorf("%s makes no difference", name)
		}
	}
	// Fields cannot run into each other.
	a, b := &Record{Exe: "/a", Syscall: "bc"}, &Record{Exe: "/ab", Syscall: "c"}
	if string(appendFoldKey(nil, a)) == string(appendFoldKey(nil, b)) {
		t.Error("fields run into each other")
	}
}

// A count that stands for several processes names none of them.
func TestFoldOfSeveral(t *testing.T) {
	table := newFoldTable()
	none := func(*Record) { t.Error("evicted") }
	for pid := range 3 {
		r := denial("/a")
		r.PID, r.TID, r.Comm, r.Path = pid+1, pid+1, fmt.Sprint("c", pid), fmt.Sprint("p", pid)
		table.add(r, none)
	}
	var got []*Record
	table.flush(func(r *Record) { got = append(got, r) })
	if len(got) != 1 || got[0].Count != 2 {
		t.Fatalf("%+v", got)
	}
	if r := got[0]; r.PID != 0 || r.TID != 0 || r.PPID != 0 || r.Comm != "" || r.Path != "" || r.Exe == "" || r.Resolved != "/a" || r.Reason == "" {
		t.Errorf("%+v", r)
	}
}
