// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/record"
	"ptguard/rules"
)

// A request comes back from its record as it was, but for what a trace does not hold: the
// inode and the permission bits.
func TestRequestComesBack(t *testing.T) {
	ip := netip.MustParseAddr("10.0.0.1")
	for _, want := range []rules.Request{
		{Access: decode.Read | decode.Write, File: rules.File{Path: "/a\\b\n\xff", Exists: true, Mode: unix.S_IFREG | 0o644, Spellings: []string{"/l\\ink"}, Made: true, Held: decode.Read}},
		{Access: decode.Create, Act: rules.ActMkdir, File: rules.File{Path: "/x"}},
		{Access: decode.Remove, Act: rules.ActRenameSource, File: rules.File{Path: "/x", Exists: true, Mode: unix.S_IFDIR | 0o755}},
		{Access: decode.Create, Act: rules.ActMknod, NodeType: unix.S_IFCHR, File: rules.File{Path: "/x"}},
		{Access: decode.Read, File: rules.File{Path: "/dev/x", Exists: true, Mode: unix.S_IFCHR | 0o644, Rdev: unix.Mkdev(5, 2), OwnPTY: true}},
		{Access: decode.Exec, Program: true, First: true, Argv: []string{"git", "push"}, File: rules.File{Path: "/x", Exists: true, Mode: unix.S_IFREG | 0o755}},
		{Access: decode.Exec, Loader: true, File: rules.File{Exists: true, Nameless: true, Memfd: true}},
		{Access: decode.Look, File: rules.File{Path: "/proc/7/stat", Exists: true, Mode: unix.S_IFREG | 0o644, Owner: rules.OwnerOutsider, Via: rules.OwnerGuard, KernelFS: true}},
		{Access: decode.Connect, Addr: rules.Addr{Family: unix.AF_INET, IP: ip, Port: 443, Proto: rules.ProtoUDP}},
		{Access: decode.Bind, Addr: rules.Addr{Family: unix.AF_INET6, IP: netip.IPv6Unspecified(), Proto: rules.ProtoTCP, Tree: true}},
		{Access: decode.Connect, Addr: rules.Addr{Family: unix.AF_UNIX, Abstract: "a\x00b"}},
		{Access: decode.Bind, Addr: rules.Addr{Family: unix.AF_UNIX, Autobind: true}},
		{Access: decode.Connect, Addr: rules.Addr{Family: unix.AF_VSOCK}},
		{Access: decode.Connect, Addr: rules.Addr{Family: 77}},
	} {
		var r, read record.Record
		Describe(&r, &want, decode.Read)
		if want.Access&decode.Exec != 0 {
			r.Argv = want.Argv
		}
		if err := json.Unmarshal(record.AppendLine(nil, &r), &read); err != nil {
			t.Fatal(err)
		}
		got, ok := RequestOf(&read)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v\nfrom %+v", got, want, read)
		}
	}
	if _, ok := RequestOf(&record.Record{Kind: record.KindDenial, Syscall: "bpf"}); ok {
		t.Error("a call refused by number has a request")
	}
}
