// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"slices"
)

// Limits of the fold table. A refusal that does not fit pushes out the one that was not
// seen for the longest time; its count is written then, so nothing goes uncounted.
const (
	foldEntries = 4096
	foldBytes   = 8 << 20
)

// foldTable remembers refusals already written, to count their repetitions.
// It has no lock: the Sink's protects it.
type foldTable struct {
	byKey   map[string]*folded
	root    folded // ring in order of use: root.next is the youngest
	pending int    // entries with a count
	bytes   int
	entries int // limits, changed by tests
	limit   int
	key     []byte
}

// folded is one kind of refusal: what its first record said, and how many followed.
type folded struct {
	prev, next *folded
	key        string
	first      Record
	count      uint64
	samePID    bool // what follows holds for all that were counted
	sameTID    bool
	samePath   bool
	sameComm   bool
	bytes      int
}

func newFoldTable() *foldTable {
	t := &foldTable{byKey: make(map[string]*folded), entries: foldEntries, limit: foldBytes}
	t.root.prev, t.root.next = &t.root, &t.root
	return t
}

// appendFoldKey appends what makes two refusals identical: exe, syscall, object, access,
// rule and errno. The object is resolved; for sockets the address; for a name that could
// not be resolved the name itself.
func appendFoldKey(k []byte, r *Record) []byte {
	field := func(s string) {
		k = binary.AppendUvarint(k, uint64(len(s)))
		k = append(k, s...)
	}
	field(r.Exe)
	field(r.Syscall)
	field(r.Resolved)
	if r.Resolved == "" {
		field(r.Path)
	}
	field(r.Addr)
	k = binary.AppendVarint(k, int64(r.Port))
	for _, a := range r.Access {
		field(a)
	}
	k = append(k, 0)
	field(r.Verdict)
	field(r.Rule)
	field(r.Errno)
	return k
}

// add counts r if an identical refusal is remembered and tells so. Otherwise it remembers
// r and hands entries that had to go, if they have a count, to evict.
func (t *foldTable) add(r *Record, evict func(*Record)) bool {
	t.key = appendFoldKey(t.key[:0], r)
	if f := t.byKey[string(t.key)]; f != nil {
		if f.count == 0 {
			t.pending++
			f.samePID, f.sameTID, f.samePath, f.sameComm = true, true, true, true
		}
		f.count++
		f.samePID = f.samePID && f.first.PID == r.PID
		f.sameTID = f.sameTID && f.first.TID == r.TID
		f.samePath = f.samePath && f.first.Path == r.Path
		f.sameComm = f.sameComm && f.first.Comm == r.Comm
		t.unlink(f)
		t.linkFirst(f)
		return true
	}
	f := &folded{key: string(t.key), first: *r}
	f.first.Argv, f.first.Flags = nil, nil // may differ, and may be long
	f.first.Names = nil
	f.first.Access = append([]string(nil), r.Access...)
	f.first.Need, f.first.Held, f.first.Facts = slices.Clone(r.Need), slices.Clone(r.Held), slices.Clone(r.Facts)
	f.bytes = 2*len(f.key) + len(r.Path) + len(r.Reason) + len(r.Hint) + len(r.Fix) + 1024
	for len(t.byKey) > 0 && (len(t.byKey) >= t.entries || t.bytes+f.bytes > t.limit) {
		old := t.root.prev
		t.unlink(old)
		delete(t.byKey, old.key)
		t.bytes -= old.bytes
		if rec := t.take(old); rec != nil {
			evict(rec)
		}
	}
	t.byKey[f.key] = f
	t.bytes += f.bytes
	t.linkFirst(f)
	return false
}

// flush hands a record for every count to emit, oldest first, and goes on from zero.
func (t *foldTable) flush(emit func(*Record)) {
	for f := t.root.prev; f != &t.root && t.pending > 0; f = f.prev {
		if rec := t.take(f); rec != nil {
			emit(rec)
		}
	}
}

// take makes the record that stands for f's count and clears it; nil without a count.
// Who did it is told only where it was the same each time.
func (t *foldTable) take(f *folded) *Record {
	if f.count == 0 {
		return nil
	}
	rec := f.first
	rec.Count = f.count
	if !f.samePID {
		rec.PID, rec.PPID = 0, 0
	}
	if !f.sameTID {
		rec.TID = 0
	}
	if !f.samePath {
		rec.Path = ""
	}
	if !f.sameComm {
		rec.Comm = ""
	}
	rec.TookUS, rec.Stops = 0, 0
	f.count = 0
	t.pending--
	return &rec
}

func (t *foldTable) unlink(f *folded) {
	f.prev.next, f.next.prev = f.next, f.prev
}

func (t *foldTable) linkFirst(f *folded) {
	f.prev, f.next = &t.root, t.root.next
	f.prev.next, f.next.prev = f, f
}
