// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shown reads text as a trace and shows it.
func shown(t *testing.T, show Renderer, records ...*Record) {
	t.Helper()
	var text []byte
	for i, r := range records {
		r.V, r.Run, r.Seq = Version, "r1", uint64(i+1)
		text = AppendLine(text, r)
	}
	in, err := NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := show.Add(r, in.Raw()); err != nil {
			t.Fatal(err)
		}
	}
	if err := show.Close(); err != nil {
		t.Fatal(err)
	}
}

func act(kind Kind, pid, ppid int, comm, argv string, access ...string) *Record {
	r := &Record{Kind: kind, PID: pid, PPID: ppid, Comm: comm, Exe: "/usr/bin/" + comm, Argv: strings.Fields(argv), Access: access, Syscall: "openat", Verdict: "allow", Resolved: "/etc/x"}
	if kind == KindDenial {
		r.Verdict, r.Errno, r.Reason, r.Fix = "deny", "EPERM", "because", "--write /etc/x"
	}
	return r
}

func TestTree(t *testing.T) {
	twice := act(KindDenial, 12, 11, "cc1", "cc1 a.c", "write")
	twice.Count = 4
	self := act(KindDenial, 90, 91, "odd", "odd one", "read")
	other := act(KindDenial, 91, 90, "odd", "odd two", "read")
	var out bytes.Buffer
	shown(
		t, NewTree(&out, false),
		&Record{Kind: KindStart, PID: 9, Start: &Start{Command: []string{"make", "all"}}},
		act(KindDecision, 10, 9, "exe", "ptguard __init 14", "exec"),
		act(KindExec, 10, 9, "make", "make all"),
		act(KindDenial, 12, 11, "cc1", "cc1 a.c", "write"), // before its parent
		act(KindDecision, 11, 10, "make", "make all", "exec"),
		act(KindExec, 11, 10, "gcc", "gcc -c a.c"),
		act(KindDecision, 11, 10, "gcc", "gcc -c a.c", "read"),
		act(KindDecision, 11, 10, "gcc", "gcc -c a.c", "read"),
		twice,
		act(KindDenial, 13, 10, "e\x1b[2J", "x\ny", "read"),
		self, other, // each the other's parent: made up
		&Record{Kind: KindEnd, End: &End{Status: 2, Denials: 8}},
	)
	want := `run r1  make all
        status 2, 8 denials, 0 folded, 0 lost, run 0.0 s
└─ make[10]  make all
   │  allowed 1 exec
   ├─ gcc[11]  gcc -c a.c
   │  │  allowed 2 read, 1 exec
   │  └─ cc1[12]  cc1 a.c
   │        denied write /etc/x: because (5 times)
   │          allow with: --write /etc/x
   └─ e\x1b[2J[13]  x y
         denied read /etc/x: because
           allow with: --write /etc/x
└─ odd[90]  odd one
   │  denied read /etc/x: because
   │    allow with: --write /etc/x
   └─ odd[91]  odd two
         denied read /etc/x: because
           allow with: --write /etc/x
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A chain of processes far deeper than a screen is wide costs lines, not squares of them.
func TestTreeDeep(t *testing.T) {
	var out bytes.Buffer
	show := NewTree(&out, true)
	const n = 20_000
	for i := range n {
		if err := show.Add(act(KindDecision, i+2, i+1, "sh", "sh", "exec"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := show.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "sh["); got != n || out.Len() > n*500 {
		t.Errorf("%d processes in %d bytes", got, out.Len())
	}
}

// ecsNames are the fields of the Elastic Common Schema that are used, with their types as its
// reference has them.
var ecsNames = map[string]string{
	"@timestamp": "date", "message": "text", "ecs.version": "keyword", "log.level": "keyword",
	"event.kind": "keyword", "event.category": "keywords", "event.type": "keywords", "event.action": "keyword", "event.outcome": "keyword", "event.reason": "keyword",
	"event.sequence": "long", "event.id": "keyword", "event.module": "keyword", "event.dataset": "keyword", "event.duration": "long",
	"process.pid": "long", "process.name": "keyword", "process.executable": "keyword", "process.args": "keywords", "process.args_count": "long",
	"process.parent.pid": "long", "process.thread.id": "long",
	"file.path": "keyword", "file.name": "keyword", "file.directory": "keyword",
	"destination.address": "keyword", "destination.ip": "ip", "destination.port": "long",
	"server.address": "keyword", "server.ip": "ip", "server.port": "long",
	"network.type": "keyword", "rule.name": "keyword", "rule.ruleset": "keyword",
}

// ecsTypes are the expected types of each category, of the schema's categorization pages.
var ecsTypes = map[string][]string{
	"file": {"access", "change", "creation", "deletion", "info"}, "process": {"access", "change", "end", "info", "start"},
	"network": {"access", "allowed", "connection", "denied", "end", "info", "protocol", "start"}, "session": {"start", "end", "info"},
	"configuration": {"access", "change", "creation", "deletion", "info"}, "intrusion_detection": {"allowed", "denied", "info"},
}

func TestECS(t *testing.T) {
	connect := act(KindDenial, 5, 1, "curl", "curl x", "connect")
	connect.Resolved, connect.Addr, connect.Port, connect.Family, connect.TookUS = "", "fe80::1%eth0", 443, "inet6", 7
	bind := act(KindDecision, 5, 1, "srv", "srv", "bind")
	bind.Resolved, bind.Addr, bind.Port, bind.TID = "", "127.0.0.1", 80, 6
	guard := act(KindDenial, 5, 1, "gdb", "gdb x")
	guard.Resolved, guard.Syscall, guard.Rule, guard.Layer = "", "ptrace", "guard ptrace", "guard"
	var records []*Record
	for _, words := range []string{"read", "write create", "remove", "attr", "exec", "reach", "look"} {
		records = append(records, act(KindDecision, 5, 1, "x", "x --token=secret", strings.Fields(words)...), act(KindDenial, 5, 1, "x", "x", strings.Fields(words)...))
	}
	records = append(
		records, connect, bind, guard, act(KindExec, 5, 1, "x", "x"), act(KindExit, 5, 1, "x", "x"),
		&Record{Kind: KindStart, PID: 1, Start: &Start{Command: []string{"x"}}}, &Record{Kind: KindEnd, PID: 1, End: &End{}},
		&Record{Kind: KindWarning, Reason: "careful"}, &Record{Kind: KindSeal, Reason: "s"}, &Record{Kind: KindGrant, Reason: "g"},
	)
	var out bytes.Buffer
	shown(t, NewECS(&out), records...)
	text := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(text) != len(records) {
		t.Fatalf("%d lines of %d records", len(text), len(records))
	}
	used := map[string]bool{}
	for _, line := range text {
		var doc map[string]any
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Fatal(err)
		}
		checkECS(t, line, "", doc, used)
		event := doc["event"].(map[string]any)
		categories, _ := event["category"].([]any)
		types, _ := event["type"].([]any)
		var allowed []string
		for _, c := range categories {
			if ecsTypes[c.(string)] == nil {
				t.Errorf("unknown category: %s", line)
			}
			allowed = append(allowed, ecsTypes[c.(string)]...)
		}
		for _, ty := range types {
			if !slices.Contains(allowed, ty.(string)) {
				t.Errorf("type %v is none of the categories %v: %s", ty, categories, line)
			}
		}
	}
	for name := range ecsNames {
		if !used[name] {
			t.Errorf("%s is not tried", name)
		}
	}
	for _, want := range []struct{ line, word string }{
		{text[0], `"category":["file"],"type":["access"]`},
		{text[1], `"kind":"alert","category":["file","intrusion_detection"],"type":["access","denied"]`},
		{text[2], `"type":["creation","change"]`},
		{text[4], `"type":["deletion"]`},
		{text[14], `"destination":{"address":"fe80::1%eth0","ip":"fe80::1","port":443},"network":{"type":"ipv6"}`},
		{text[14], `"duration":7000`},
		{text[15], `"server":{"address":"127.0.0.1","ip":"127.0.0.1","port":80},"network":{"type":"ipv4"}`},
		{text[16], `"action":"ptrace"`},
		{text[3], `"message":"denied write,create /etc/x: because"`},
	} {
		if !strings.Contains(want.line, want.word) {
			t.Errorf("no %s in %s", want.word, want.line)
		}
	}
}

func checkECS(t *testing.T, line, at string, v any, used map[string]bool) {
	t.Helper()
	if m, ok := v.(map[string]any); ok {
		for k, e := range m {
			if at == "" && k == "ptguard" {
				continue // ours
			}
			checkECS(t, line, strings.TrimPrefix(at+"."+k, "."), e, used)
		}
		return
	}
	used[at] = true
	ok := false
	switch ecsNames[at] {
	case "keyword", "text", "ip", "date":
		_, ok = v.(string)
	case "long":
		_, ok = v.(float64)
	case "keywords":
		_, ok = v.([]any)
	}
	if !ok {
		t.Errorf("%s = %v is no field of the schema, or of another type: %s", at, v, line)
	}
}

func TestAgainst(t *testing.T) {
	old := NewKnown()
	gone := act(KindDenial, 1, 1, "sh", "sh", "read")
	gone.Resolved = "/gone"
	old.Add(act(KindDenial, 7, 1, "sh", "sh", "write"))
	old.Add(gone)
	old.Add(act(KindDecision, 7, 1, "sh", "sh", "exec"))
	fresh := act(KindDenial, 9, 1, "sh", "sh", "write")
	fresh.Resolved = "/new"
	byOther := act(KindDenial, 9, 1, "cat", "cat", "write")
	var out bytes.Buffer
	shown(t, NewSummary(&out, old, "old.jsonl"), act(KindDenial, 8, 1, "sh", "sh", "write"), fresh, byOther)
	for _, want := range []string{
		"new       2 kinds of refusal that old.jsonl does not have\n", "gone      1 kinds that only old.jsonl has\n",
		"new refusals\n  1  write /etc/x by /usr/bin/cat\n  1  write /new by /usr/bin/sh\n", "gone refusals\n  1  read /gone by /usr/bin/sh\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if old.New(act(KindDecision, 1, 1, "x", "x", "read")) {
		t.Error("an allowed call is a new refusal")
	}
}

// TestFollow: a file that grows in the middle of a line, is rotated twice between two looks,
// and is cut.
func TestFollow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t")
	write := func(name, text string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	line := func(n int) string {
		return fmt.Sprintf(`{"v":1,"run":"r","seq":%d,"time":"2026-03-01T12:00:00Z","kind":"denial"}`+"\n", n)
	}
	write(name, line(1)+line(2)[:20])
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f, err := Follow(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.period = time.Millisecond
	in, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	want := func(seq uint64) {
		t.Helper()
		r, err := in.Next()
		if err != nil || r.Seq != seq {
			t.Fatalf("%+v, %v, want record %d", r, err, seq)
		}
	}
	want(1)
	write(name, line(2)[20:])
	want(2)
	write(name, line(3))
	for _, step := range []error{os.Rename(name, name+".1")} {
		if step != nil {
			t.Fatal(step)
		}
	}
	write(name, line(4))
	for _, step := range []error{os.Rename(name+".1", name+".2"), os.Rename(name, name+".1")} {
		if step != nil {
			t.Fatal(step)
		}
	}
	write(name, line(5)+line(6))
	for seq := uint64(3); seq <= 6; seq++ {
		want(seq)
	}
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	write(name, line(7))
	want(7)
	cancel()
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want the end", err)
	}
}

func TestTableColour(t *testing.T) {
	var plain, colour bytes.Buffer
	shown(t, NewTable(&plain, 0, false), act(KindDenial, 1, 1, "sh", "sh", "write"))
	shown(t, NewTable(&colour, 0, true), act(KindDenial, 1, 1, "sh", "sh", "write"))
	got := colour.String()
	if !strings.Contains(got, "\x1b[31mdeny\x1b[0m  ") || strings.Contains(plain.String(), "\x1b") {
		t.Errorf("%q", got)
	}
	if strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(got) != plain.String() {
		t.Error("the colour moves the columns")
	}
}
