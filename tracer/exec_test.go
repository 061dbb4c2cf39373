// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/rules"
)

// TestMappedAs: what was mapped must be there, of the file that was decided on. Where nothing
// lies any more, a sibling has moved it away.
func TestMappedAs(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	decided := rules.Inode{Dev: st.Dev, Ino: st.Ino}
	l, s := &loop{}, stopped{task: &task{tid: os.Getpid(), proc: &process{pid: os.Getpid()}}}
	maps, err := readMaps(s.tid)
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, m := range maps {
		if m.ino == st.Ino && m.dev == st.Dev {
			seen = true
			if !l.mappedAs(s, m.start, m.end-m.start, decided) {
				t.Errorf("our own program at %#x: want it found", m.start)
			}
		}
	}
	if !seen {
		t.Fatal("our own program is not among our mappings")
	}
	if l.mappedAs(s, pageSize, pageSize, decided) { // below vm.mmap_min_addr
		t.Error("nothing is mapped there: want false")
	}
}
