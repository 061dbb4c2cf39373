// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/record"
	"ptguard/rules"
)

// A record holds all of a request, so that the same can be asked of another policy.

// types are the words of a record for what an object is (find(1) has letters for them).
var types = map[uint32]string{
	unix.S_IFREG: "reg", unix.S_IFDIR: "dir", unix.S_IFLNK: "lnk", unix.S_IFIFO: "fifo", unix.S_IFSOCK: "sock", unix.S_IFCHR: "chr", unix.S_IFBLK: "blk",
}

// The other words for what an object is.
const (
	typeAbsent   = "absent"
	typeNameless = "nameless"
)

// fact is one word of a record's facts.
type fact struct {
	word string
	get  func(*rules.Request) bool
	set  func(*rules.Request)
}

var requestFacts = []fact{
	{"made", func(q *rules.Request) bool { return q.File.Made }, func(q *rules.Request) { q.File.Made = true }},
	{"own", func(q *rules.Request) bool { return q.File.Owner == rules.OwnerTree }, func(q *rules.Request) { q.File.Owner = rules.OwnerTree }},
	{"outsider", func(q *rules.Request) bool { return q.File.Owner == rules.OwnerOutsider }, func(q *rules.Request) { q.File.Owner = rules.OwnerOutsider }},
	{"guard", func(q *rules.Request) bool { return q.File.Owner == rules.OwnerGuard }, func(q *rules.Request) { q.File.Owner = rules.OwnerGuard }},
	{"via-outsider", func(q *rules.Request) bool { return q.File.Via == rules.OwnerOutsider }, func(q *rules.Request) { q.File.Via = rules.OwnerOutsider }},
	{"via-guard", func(q *rules.Request) bool { return q.File.Via == rules.OwnerGuard }, func(q *rules.Request) { q.File.Via = rules.OwnerGuard }},
	{"kernel-fs", func(q *rules.Request) bool { return q.File.KernelFS }, func(q *rules.Request) { q.File.KernelFS = true }},
	{"own-pty", func(q *rules.Request) bool { return q.File.OwnPTY }, func(q *rules.Request) { q.File.OwnPTY = true }},
	{"memfd", func(q *rules.Request) bool { return q.File.Memfd }, func(q *rules.Request) { q.File.Memfd = true }},
	{"unreachable", func(q *rules.Request) bool { return q.File.Unreachable }, func(q *rules.Request) { q.File.Unreachable = true }},
	{"program", func(q *rules.Request) bool { return q.Program }, func(q *rules.Request) { q.Program = true }},
	{"loader", func(q *rules.Request) bool { return q.Loader }, func(q *rules.Request) { q.Loader = true }},
	{"first", func(q *rules.Request) bool { return q.First }, func(q *rules.Request) { q.First = true }},
	{"executable", func(q *rules.Request) bool { return q.File.Mode&0o111 != 0 && q.File.Mode&unix.S_IFMT == unix.S_IFREG }, func(q *rules.Request) { q.File.Mode |= 0o111 }},
	{"tree", func(q *rules.Request) bool { return q.Addr.Tree }, func(q *rules.Request) { q.Addr.Tree = true }},
	{"autobind", func(q *rules.Request) bool { return q.Addr.Autobind }, func(q *rules.Request) { q.Addr.Autobind = true }},
	{"unnamed", func(q *rules.Request) bool { return q.Addr.Nameless }, func(q *rules.Request) { q.Addr.Nameless = true }},
}

// Describe writes a request into a record, apart from who asks and what was answered.
func Describe(r *record.Record, q *rules.Request, decided decode.Access) {
	r.Resolved = q.File.Path
	r.Access = decided.Names()
	if decided != q.Access {
		r.Need = q.Access.Names()
	}
	r.Act = actNames[q.Act]
	f := &q.File
	net := q.Access&(decode.Connect|decode.Bind) != 0
	switch {
	case f.Nameless:
		r.Type = typeNameless
	case f.Exists && q.Access&decode.Reach == 0:
		r.Type = types[f.Mode&unix.S_IFMT]
		if t := f.Mode & unix.S_IFMT; t == unix.S_IFCHR || t == unix.S_IFBLK {
			r.Device = fmt.Sprintf("%d:%d", unix.Major(f.Rdev), unix.Minor(f.Rdev))
		}
	case f.Path != "" && !f.Exists:
		r.Type = typeAbsent
	}
	r.Held = f.Held.Names()
	r.Names = slices.DeleteFunc(slices.Clone(f.Spellings), func(s string) bool { return s == f.Path })
	for _, x := range requestFacts {
		if x.get(q) {
			r.Facts = append(r.Facts, x.word)
		}
	}
	if q.NodeType != 0 {
		r.Facts = append(r.Facts, "node-"+types[q.NodeType&unix.S_IFMT])
	}
	if net {
		describeAddr(r, &q.Addr)
	}
}

// RequestOf gives the request behind a record that was read from a trace, as far as the
// record tells: links and inodes that a rule of another policy names are looked up by name
// only, and masked arguments stay masked. ok is false for a record that holds no request
// (a call refused by its number, a fact of the run).
func RequestOf(r *record.Record) (q rules.Request, ok bool) {
	need := r.Need
	if len(need) == 0 {
		need = r.Access
	}
	for _, word := range need {
		a, err := decode.ParseAccess(word)
		if err != nil {
			return q, false
		}
		q.Access |= a
	}
	if q.Access == 0 {
		return q, false
	}
	f := &q.File
	f.Path = record.Unescape(r.Resolved)
	for _, word := range r.Held {
		a, _ := decode.ParseAccess(word)
		f.Held |= a
	}
	for _, name := range r.Names {
		f.Spellings = append(f.Spellings, record.Unescape(name))
	}
	for act, word := range actNames {
		if word == r.Act && word != "" {
			q.Act = rules.Act(act)
		}
	}
	q.Comm = record.Unescape(r.Comm)
	f.Nameless = r.Type == typeNameless
	f.Exists = r.Type != typeAbsent && r.Type != "" || q.Access&decode.Reach != 0
	for mode, word := range types {
		if word == r.Type {
			f.Mode = mode | 0o644
		}
		if slices.Contains(r.Facts, "node-"+word) {
			q.NodeType = mode
		}
	}
	if r.Type == "dir" {
		f.Mode |= 0o111
	}
	if major, minor, found := strings.Cut(r.Device, ":"); found {
		a, _ := strconv.ParseUint(major, 10, 32)
		b, _ := strconv.ParseUint(minor, 10, 32)
		f.Rdev = unix.Mkdev(uint32(a), uint32(b))
	}
	for _, x := range requestFacts {
		if slices.Contains(r.Facts, x.word) {
			x.set(&q)
		}
	}
	if q.Access&decode.Exec != 0 {
		for _, arg := range r.Argv {
			q.Argv = append(q.Argv, record.Unescape(arg))
		}
	}
	if q.Access&(decode.Connect|decode.Bind) != 0 {
		addrOf(&q.Addr, r)
	}
	return q, true
}

// addrOf is the inverse of describeAddr.
func addrOf(a *rules.Addr, r *record.Record) {
	for family, word := range familyNames {
		if word == r.Family {
			a.Family = family
		}
	}
	if rest, ok := strings.CutPrefix(r.Family, "family "); ok {
		n, _ := strconv.ParseUint(rest, 10, 16)
		a.Family = uint16(n)
	}
	text := record.Unescape(r.Addr)
	switch ip, err := netip.ParseAddr(text); {
	case a.Family == unix.AF_UNIX:
		if name, ok := strings.CutPrefix(text, "@"); ok {
			a.Abstract = name
		}
	case err == nil:
		a.IP, a.Port = ip, uint16(r.Port)
	}
	switch r.Proto {
	case "tcp":
		a.Proto = rules.ProtoTCP
	case "udp":
		a.Proto = rules.ProtoUDP
	}
}

// actNames are the words of a record for an act that the access does not name.
var actNames = [...]string{
	decode.ActOther: "", decode.ActMkdir: "mkdir", decode.ActMknod: "mknod", decode.ActRenameSource: "rename-source",
	decode.ActRenameTarget: "rename-target", decode.ActExchange: "exchange", decode.ActLinkSource: "link-source",
	decode.ActLinkTarget: "link-target", decode.ActSymlink: "symlink", decode.ActRmdir: "rmdir",
}
