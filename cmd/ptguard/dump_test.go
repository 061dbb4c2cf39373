// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"
)

const dumpTrace = `{"v":1,"run":"r","seq":1,"time":"2026-03-01T12:00:00Z","kind":"denial","event":"open","syscall":"openat","pid":42,"comm":"cat","resolved":"/etc/hosts","access":["write"],"verdict":"deny","rule":"built-in @work","reason":"outside the writable roots"}
{"v":1,"run":"r","seq":2,"time":"2026-03-01T12:00:01Z","kind":"denial","event":"os.rename","syscall":"rename","pid":43,"comm":"mv","resolved":"/home/me/x","access":["create"],"verdict":"hide","new":1}
{"v":1,"run":"r","seq":3,"ti`

// runDump parses args as the command line does and dumps in.
func runDump(t *testing.T, in string, args ...string) (out, errs string, err error) {
	t.Helper()
	var c dumpCmd
	p, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse(append([]string{"trace.jsonl"}, args...)); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	err = c.dump(strings.NewReader(in), &o, &e, 0, time.Date(2026, 3, 1, 12, 0, 10, 0, time.UTC))
	return o.String(), e.String(), err
}

// dump reads one stream as dumper.all reads a file.
func (c *dumpCmd) dump(in io.Reader, out, errs io.Writer, width int, now time.Time) error {
	d, err := c.dumper(out, errs, width, now)
	if err != nil {
		return err
	}
	if err := d.lines.read(c.File, in, d.add); err != nil {
		return errors.Join(err, d.show.Close())
	}
	return d.close()
}

func TestDump(t *testing.T) {
	const cut = "ptguard: warning: trace.jsonl: line 3: cut off (unexpected end of JSON input); skipped\n"
	lines := strings.SplitAfter(dumpTrace, "\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "" +
			"SEQ  TIME          VERDICT  ACCESS  OBJECT      PROGRAM  SYSCALL  TIMES  RULE            REASON\n" +
			"1    12:00:00.000  deny     write   /etc/hosts  cat[42]  openat   1      built-in @work  outside the writable roots\n" +
			"2    12:00:01.000  hide     create  /home/me/x  mv[43]   rename   1      -\n"},
		{[]string{"--format=jsonl"}, lines[0] + lines[1]},
		{[]string{"--format=jsonl", "--event=os.rename"}, lines[1]},
		{[]string{"--format=jsonl", "--path=/etc/{a,hosts}"}, lines[0]},
		{[]string{"--format=jsonl", "--path=/etc/*", "--path=/home/**"}, lines[0] + lines[1]},
		{[]string{"--format=jsonl", "--pid=43"}, lines[1]},
		{[]string{"--format=jsonl", "--verdict=hide,kill"}, lines[1]},
		{[]string{"--format=jsonl", "--since=9s"}, lines[1]},
		{[]string{"--format=jsonl", "--since=2026-03-01T12:00:00Z", "--verdict=allow"}, ""},
		{[]string{"--verdict=allow"}, ""},
	} {
		out, errs, err := runDump(t, dumpTrace, c.args...)
		if out != c.want || errs != cut || err != nil {
			t.Errorf("%q: %v\n%s%s", c.args, err, out, errs)
		}
	}
	out, _, err := runDump(t, dumpTrace, "--format=summary")
	if err != nil || !strings.Contains(out, "denials   2\n") || !strings.Contains(out, "1  deny write /etc/hosts\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDumpErrors(t *testing.T) {
	for _, c := range []struct {
		in, arg, want string
	}{
		{"", "--path=[", `malformed path pattern "["`},
		{"", "--verdict=maybe", `unknown verdict "maybe" (one of allow, deny, hide, ask, ask-allow, ask-deny, kill)`},
		{"", "--event=opne", "--event: unknown event opne (did you mean open?)"},
		{"", "--event=zzzzzz", "--event: unknown event zzzzzz (an audit event such as open or socket.connect, or a system call: see ptguard events)"},
		{"", "--since=soon", `since "soon": neither a time (2026-01-31T12:00:00Z) nor a duration (10m)`},
		{"#!/bin/sh\nls\n", "--format=jsonl", "trace.jsonl is not a trace: none of its 2 lines is a record"},
		{"\x1f\x8b", "--format=jsonl", "trace.jsonl: read trace: unexpected EOF"},
	} {
		if _, _, err := runDump(t, c.in, c.arg); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.arg, err, c.want)
		}
	}
	for _, in := range []string{strings.Repeat("x\n", 999) + dumpTrace, dumpTrace + strings.Repeat("x\n", 1000)} {
		_, errs, err := runDump(t, in, "--format=jsonl")
		if n := strings.Count(errs, "\n"); n != 11 || err != nil || !strings.Contains(errs, "1000 bad lines skipped in all") {
			t.Errorf("%d lines of warnings, %v\n%s", n, err, errs)
		}
	}
	_, errs, err := runDump(t, strings.Repeat("x\n", 1000), "--format=jsonl")
	if errs != "" || err == nil || !strings.Contains(err.Error(), "none of its 1000 lines is a record") {
		t.Errorf("no trace at all: %v\n%s", err, errs)
	}
	missing := filepath.Join(t.TempDir(), "no\nsuch")
	if err := (&dumpCmd{File: missing}).Run(); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if err := (&dumpCmd{File: t.TempDir()}).Run(); !errors.Is(err, unix.EISDIR) {
		t.Errorf("a folder: %v", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	err = (&dumpCmd{File: "x"}).dump(strings.NewReader(dumpTrace), full, new(bytes.Buffer), 0, time.Time{})
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
}
