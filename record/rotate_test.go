// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A trace keeps to its size, loses nothing but what is older than the parts that are kept,
// and its records go on from one part to the next.
func TestRotate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.jsonl")
	const limit, keep, n = 4096, 3, 100
	s := open(t, name, SinkOptions{Run: "r", MaxSize: limit, Keep: keep})
	for i := range n {
		s.Put(denial(fmt.Sprint("/x", i)), nil)
	}
	long := denial("/" + strings.Repeat("y", 2*limit)) // in a file of its own
	s.Put(long, nil)
	s.Put(denial("/after"), nil)
	if err := s.Close(&Record{End: &End{}}); err != nil {
		t.Fatal(err)
	}
	var all []Record
	for i := keep; i >= 0; i-- {
		part := name
		if i > 0 {
			part = PartName(name, i)
		}
		st, err := os.Stat(part)
		if err != nil {
			t.Fatal(err)
		}
		records := readFile(t, part)
		if st.Size() > limit && len(records) != 1 || st.Mode() != 0o600 {
			t.Errorf("%s has %d bytes in %d records, mode %v", part, st.Size(), len(records), st.Mode())
		}
		all = append(all, records...)
	}
	if _, err := os.Stat(PartName(name, keep+1)); err == nil {
		t.Error("more parts than are kept")
	}
	for i, r := range all {
		if want := uint64(n + 3 - len(all) + 1 + i); r.Seq != want {
			t.Fatalf("record %d has number %d, want %d", i, r.Seq, want)
		}
	}
	if len(all) < 8 || all[len(all)-1].End == nil || all[len(all)-1].End.Lost != 0 {
		t.Errorf("%d records, the last is %+v", len(all), all[len(all)-1])
	}
}

// The parts lie beside the trace, also where its name goes up from a link.
func TestRotateUp(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/a/deep", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a/deep", root+"/up"); err != nil {
		t.Fatal(err)
	}
	s := open(t, root+"/up/../t.jsonl", SinkOptions{Run: "r", MaxSize: 4096, Keep: 1})
	for i := range 20 {
		s.Put(denial(fmt.Sprint("/x", i)), nil)
	}
	if err := s.Close(&Record{End: &End{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root + "/a/t.jsonl.1"); err != nil {
		t.Error(err)
	}
}

// What stands in the way of a rotation is told once, and the trace grows on.
func TestRotateFails(t *testing.T) {
	for what, obstacle := range map[string]func(name string) error{
		"is a directory": func(name string) error { return os.Mkdir(name+".1", 0o700) },
		"another file": func(name string) error {
			return os.WriteFile(name+".new", nil, 0o600)
		},
	} {
		name := filepath.Join(t.TempDir(), "t.jsonl")
		var ws warnings
		s := open(t, name, SinkOptions{MaxSize: 1000, Keep: 1, Warn: ws.add})
		inode := s.t.stat.Ino
		if err := obstacle(name); err != nil {
			t.Fatal(err)
		}
		if what == "another file" {
			if err := os.Rename(name+".new", name); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 20 {
			s.Put(denial(fmt.Sprint("/x", i)), nil)
		}
		if got := ws.all(); len(got) != 1 || !strings.Contains(got[0], what) {
			t.Errorf("%s: warnings %q", what, got)
		}
		if s.t.stat.Ino != inode || s.Stats().Lost != 0 {
			t.Errorf("%s: lost %d", what, s.Stats().Lost)
		}
		if err := s.Close(nil); err != nil {
			t.Fatal(err)
		}
		if n := len(readFile(t, name)); what == "is a directory" && n != 20 {
			t.Errorf("%s: %d records", what, n)
		}
	}
	if _, err := Open("none", SinkOptions{MaxSize: 1, Keep: 1}); err == nil {
		t.Error("the size of nothing")
	}
	if _, err := Open(filepath.Join(t.TempDir(), "x"), SinkOptions{MaxSize: 1}); err == nil {
		t.Error("no part is kept")
	}
}
