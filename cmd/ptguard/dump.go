// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ptguard/record"
)

// dumpCmd is "ptguard dump FILE": it shows a trace.
type dumpCmd struct {
	File    string   `arg:"" help:"Trace to show, plain or gzip; - is standard input."`
	Format  string   `enum:"table,jsonl,summary" default:"table" help:"How to show it: table, jsonl or summary (default ${default})."`
	Event   []string `placeholder:"NAME" help:"Only records of this audit event or system call (repeatable; default all)."`
	Path    []string `placeholder:"GLOB" sep:"none" help:"Only records about a path that matches (repeatable; default all)."`
	PID     []int    `name:"pid" placeholder:"PID" help:"Only records of this process or thread (repeatable; default all)."`
	Verdict []string `placeholder:"WORD" help:"Only records with this verdict: allow, deny, hide, ask-allow, ask-deny or kill (repeatable; default all)."`
	Since   string   `placeholder:"TIME" help:"Only records from this time on: RFC 3339, or a duration before now such as 10m (default all)."`
}

// Run is called by kong. Lines that are no records are told on standard error and skipped.
func (c *dumpCmd) Run() error {
	in := io.Reader(os.Stdin)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			if pe, ok := errors.AsType[*os.PathError](err); ok {
				err = pe.Err
			}
			return fmt.Errorf("open trace %s: %w", record.Escape(c.File), err)
		}
		defer func() { _ = f.Close() }() // opened for reading
		in = f
	}
	width := 0
	if size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ); err == nil {
		width = int(size.Col)
	}
	return c.dump(in, os.Stdout, os.Stderr, width, time.Now())
}

// badLinesShown is how many lines that are no records are told one by one.
const badLinesShown = 10

func (c *dumpCmd) dump(in io.Reader, out, errs io.Writer, width int, now time.Time) error {
	filter, err := c.filter(now)
	if err != nil {
		return err
	}
	name := record.Escape(c.File)
	r, err := record.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	show := c.renderer(out, width)
	bad, good := 0, 0
	var warnings strings.Builder // of lines before the first record: a file without any is told in one line
	for {
		rec, err := r.Next()
		var skipped *record.LineError
		switch {
		case errors.As(err, &skipped):
			if bad++; bad <= badLinesShown {
				w := io.Writer(&warnings)
				if good > 0 {
					w = errs
				}
				_, _ = fmt.Fprintf(w, "ptguard: warning: %s: %s; skipped\n", name, record.EscapeText(skipped.Error()))
			}
			continue
		case errors.Is(err, io.EOF):
			if bad > badLinesShown && good > 0 {
				_, _ = fmt.Fprintf(errs, "ptguard: warning: %s: %d bad lines skipped in all\n", name, bad)
			}
			if err := show.Close(); err != nil {
				return fmt.Errorf("write: %w", err)
			}
			if good == 0 && bad > 0 {
				return fmt.Errorf("%s is not a trace: none of its %d lines is a record", name, bad)
			}
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, errors.Join(err, show.Close()))
		}
		if good++; good == 1 {
			_, _ = io.WriteString(errs, warnings.String())
		}
		if filter.Match(rec) {
			if err := show.Add(rec, r.Raw()); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
	}
}

func (c *dumpCmd) filter(now time.Time) (*record.Filter, error) {
	f := &record.Filter{Events: c.Event, Paths: c.Path, PIDs: c.PID, Verdicts: c.Verdict}
	if c.Since != "" {
		var err error
		if f.Since, err = record.ParseSince(c.Since, now); err != nil {
			return nil, err
		}
	}
	for _, v := range c.Verdict {
		switch v {
		case "allow", "deny", "hide", "ask-allow", "ask-deny", "kill":
		default:
			return nil, fmt.Errorf("unknown verdict %q (one of allow, deny, hide, ask-allow, ask-deny, kill)", v)
		}
	}
	return f, f.Check()
}

func (c *dumpCmd) renderer(out io.Writer, width int) record.Renderer {
	switch c.Format {
	case "jsonl":
		return record.NewJSONL(out)
	case "summary":
		return record.NewSummary(out)
	}
	return record.NewTable(out, width)
}
