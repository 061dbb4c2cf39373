// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptguard/decode"
)

// The manual's page is what the command writes today.
func TestManualListsTheCallsOfToday(t *testing.T) {
	var want bytes.Buffer
	if err := writeEvents(&want, "markdown"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/system-calls.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/system-calls.md is stale: go generate ./cmd/ptguard")
	}
}

// Every name of both architectures is on the list, each row of the table is one line, and
// no condition is left in numbers.
func TestEventsListEveryCall(t *testing.T) {
	all := events()
	listed := map[string]int{}
	for i := range all {
		e := &all[i]
		listed[e.Syscall]++
		if len(e.Arch) == 0 {
			t.Errorf("%s: on no architecture", e.Syscall)
		}
		if e.Treated != treatJudged && e.Reason == "" {
			t.Errorf("%s: %s without a reason", e.Syscall, e.Treated)
		}
		if e.Treated == treatRefused && (e.Errno != "EPERM" && e.Errno != "ENOSYS" && e.Errno != "EAFNOSUPPORT" && e.Errno != "ENOTSUP" || e.Guard == "") {
			t.Errorf("%s: refused with %q by guard %q", e.Syscall, e.Errno, e.Guard)
		}
		if e.Treated == treatJudged && len(e.Objects) == 0 && len(e.Notes) == 0 {
			t.Errorf("%s: judged, and nothing to judge", e.Syscall)
		}
		for _, o := range e.Objects {
			if len(o.Access) == 0 && !o.FromFlags {
				t.Errorf("%s: argument %d needs nothing", e.Syscall, o.Argument)
			}
		}
		if line := e.how() + e.needs(); noWords.MatchString(line) {
			t.Errorf("%s: %q lacks words (events_words.go)", e.Syscall, line)
		}
	}
	rows := map[string]int{}
	for _, r := range decode.Rows {
		rows[r.Name]++
	}
	for _, name := range decode.PassthroughNames() {
		rows[name]++
	}
	for _, a := range []*decode.Arch{decode.AMD64, decode.ARM64} {
		for _, name := range a.Names() {
			if listed[name] == 0 || listed[name] != rows[name] {
				t.Errorf("%s: %d lines for %d rows", name, listed[name], rows[name])
			}
		}
	}
}

var noWords = regexp.MustCompile(`0x|argument \d|\?|: $|: ;`)

// A sample read by hand from the man pages: words, not only presence.
func TestEventsInWords(t *testing.T) {
	all := events()
	for _, want := range []struct{ call, text string }{
		{"openat", "else if flags has O_WRONLY, O_RDWR, O_CREAT, O_TRUNC or O_TMPFILE"},
		{"mmap", "prot has PROT_EXEC and flags has no MAP_ANONYMOUS"},
		{"ioctl", "if op is TIOCSTI, TIOCLINUX or TIOCSETD"},
		{"setsockopt", "level is IPPROTO_IPV6 and optname is IPV6_RTHDR"},
		{"socket", "domain is not AF_UNIX, AF_INET, AF_INET6 or AF_NETLINK"},
		{"sendto", "dest_addr is not NULL"},
		{"unshare", "CLONE_NEWUSER"},
		{"renameat2", "entry: remove (rename source); entry: create (rename target)"},
		{"lchown", "path: attr (the link itself)"},
		{"creat", "path: write create"},
		{"io_uring_setup", "ENOSYS, guard io_uring"},
	} {
		if !slices.ContainsFunc(all, func(e eventRow) bool {
			return e.Syscall == want.call && strings.Contains(e.needs()+" "+e.how(), want.text)
		}) {
			t.Errorf("%s: nowhere %q", want.call, want.text)
		}
	}
}

// The JSON form is an array of objects with the names that the table uses.
func TestEventsAsJSON(t *testing.T) {
	var out bytes.Buffer
	if err := writeEvents(&out, "json"); err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(events()) {
		t.Errorf("%d objects for %d rows", len(rows), len(events()))
	}
	i := slices.IndexFunc(rows, func(r map[string]any) bool { return r["syscall"] == "symlinkat" })
	if i < 0 || rows[i]["event"] != "os.symlink" || rows[i]["treated"] != "judged" {
		t.Fatalf("symlinkat: %v", rows[max(i, 0)])
	}
	objects := rows[i]["objects"].([]any)
	if o := objects[0].(map[string]any); len(objects) != 1 || o["argument"] != 3.0 || o["act"] != "symlink" {
		t.Errorf("symlinkat: %v", objects)
	}
}
