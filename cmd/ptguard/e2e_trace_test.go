// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/record"
)

// manyOutside writes files outside and gives the number of those it could not make as its status,
// and the errno in words once.
const manyOutside = `n=0; i=0; while [ $i -lt 200 ]; do { echo x > ../outside/$i; } 2>/dev/null || n=$((n+1)); i=$((i+1)); done
echo x > ../outside/last || true; exit $n`

// TestTraceReaderStops: a reader that never reads holds a run up for a second or two, and
// changes nothing of it: each act is refused, with its errno, and the status is the program's.
func TestTraceReaderStops(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	if r := b.Bare(t, "sh", "-c", manyOutside); r.Status != 0 || !fileExists(b.Path("outside/199")) {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "run", "--trace", "fd:1", "--", "sh", "-c", manyOutside}, Stdout: w})
	w.Close()
	if got.Status != 200 || fileExists(b.Path("outside/0")) || fileExists(b.Path("outside/199")) {
		t.Errorf("%v", got)
	}
	for _, want := range []string{"its reader does not read; the run goes on", "records lost", "Operation not permitted"} {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("no %q in\n%s", want, got.Stderr)
		}
	}
}

// TestTraceUnix: the trace arrives at a listening socket, and nothing of the socket in the tree.
func TestTraceUnix(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	path := filepath.Join(b.Outside, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	records := make(chan []record.Record, 1)
	go func() {
		var out []record.Record
		defer func() { records <- out }()
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		in, err := record.NewReader(conn)
		if err != nil {
			t.Error(err)
			return
		}
		for {
			rec, err := in.Next()
			if err != nil {
				return
			}
			out = append(out, *rec)
		}
	}()
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "run", "--trace", "unix:" + path, "--", "sh", "-c", "ls -l /proc/self/fd; echo x > ../outside/x"}})
	got := <-records
	if r.Status == 0 || !strings.Contains(r.Stdout, "pipe:") || strings.Contains(r.Stdout, "socket:") || len(got) != 3 || got[0].Kind != record.KindStart || got[1].Resolved != b.Path("outside/x") || got[2].Kind != record.KindEnd {
		t.Errorf("%v\n%+v", r, got)
	}
}

// TestTraceRotates: the parts of a rotated trace are read as one, and the tree can change none
// of them, neither those that are there nor those that will be.
func TestTraceRotates(t *testing.T) {
	t.Parallel()
	b := ktest.NewBox(t, nil)
	script := manyOutside + "\n"
	tamper := `for f in t t.1 t.2 t.3 t.9; do { echo x >> $f; } 2>/dev/null && echo $f; done`
	if r := b.Bare(t, "sh", "-c", tamper); r.Stdout != "t\nt.1\nt.2\nt.3\nt.9\n" {
		t.Fatalf("bare: %v", r)
	}
	b.Reset(t)
	trace := filepath.Join(b.Work, "t") // where the tree may write
	r := b.Run(t, ktest.Cmd{Argv: []string{ktest.Binary(t), "run", "--trace", trace, "--trace-size", "64K", "--trace-keep", "8", "-q", "--", "sh", "-c", tamper + "; " + script}})
	if r.Status != 200 || r.Stdout != "t.9\n" {
		t.Fatalf("%v", r)
	}
	for i, part := range []string{trace, trace + ".1"} {
		if st, err := os.Stat(part); err != nil || st.Size() > 64<<10 {
			t.Errorf("part %d: %v", i, err)
		}
	}
	r = b.Bare(t, ktest.Binary(t), "dump", trace, "--format", "jsonl")
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	// A start, four attempts on the trace, 201 files, an end.
	if len(lines) != 207 || !strings.Contains(lines[0], `"kind":"start"`) || !strings.Contains(lines[206], `"denials":205`) {
		t.Errorf("%d lines\n%s\n%s", len(lines), lines[0], lines[len(lines)-1])
	}
	for i, line := range lines {
		if !strings.Contains(line, fmt.Sprintf(`"seq":%d,`, i+1)) {
			t.Fatalf("line %d: %s", i+1, line)
		}
	}
	// A record of an older part is found, with the start of its run in one older still.
	if r := b.Bare(t, ktest.Binary(t), "why", trace+":20"); r.Status != 1 || !strings.HasPrefix(r.Stdout, "recorded: deny") || strings.Contains(r.Stdout, "note:") {
		t.Errorf("%v", r)
	}
	for flag, want := range map[string]string{"64X": "is no size", "0": "is no size"} {
		r := b.Bare(t, ktest.Binary(t), "run", "--trace", trace, "--trace-size", flag, "true")
		if r.Status != 125 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: %v", flag, r)
		}
	}
	for _, flags := range [][]string{{"--trace-keep", "8"}, {"--trace-keep=5"}, {"--trace-keep", "0"}} {
		says := "ptguard: error: --trace-keep " + strings.TrimPrefix(flags[len(flags)-1], "--trace-keep=") + ": a trace has old files only with --trace-size, such as --trace-size 64M\n"
		r := b.Bare(t, slices.Concat([]string{ktest.Binary(t), "run", "--trace", trace}, flags, []string{"--", "sh", "-c", "echo ran"})...)
		if r.Status != 125 || r.Stdout != "" || r.Stderr != says {
			t.Errorf("%v: %v", flags, r)
		}
	}
	if r := b.Bare(t, ktest.Binary(t), "run", "--trace", trace, "--trace-size", "1M", "--trace-keep", "0", "true"); r.Status != 125 || !strings.Contains(r.Stderr, "0 rotated files: 1 to 1000 are kept") {
		t.Errorf("%v", r)
	}
	if r := b.Bare(t, ktest.Binary(t), "run", "--trace-size", "1M", "true"); r.Status != 125 || !strings.Contains(r.Stderr, "only a file has a size") {
		t.Errorf("a size of no trace: %v", r)
	}
	if r := b.Bare(t, ktest.Binary(t), "run", "--trace", "fd:2", "--trace-size", "1M", "true"); r.Status != 125 || !strings.Contains(r.Stderr, "only a file has a size") {
		t.Errorf("%v", r)
	}
}
