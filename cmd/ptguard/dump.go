// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ptguard/record"
)

// dumpCmd is "ptguard dump FILE": it shows a trace.
type dumpCmd struct {
	File    string   `arg:"" help:"Trace to show, plain or gzip, with its rotated parts as far as its runs reach; - is standard input."`
	Format  string   `enum:"table,tree,summary,jsonl,ecs" default:"table" help:"How to show it: table, tree (by process), summary, jsonl, or ecs (Elastic Common Schema) (default ${default})."`
	Event   []string `placeholder:"NAME" help:"Only records of this audit event or system call (repeatable; default all)."`
	Path    []string `placeholder:"GLOB" sep:"none" help:"Only records about a path that matches (repeatable; default all)."`
	PID     []int    `name:"pid" placeholder:"PID" help:"Only records of this process or thread (repeatable; default all)."`
	Verdict []string `placeholder:"WORD" help:"Only records with this verdict: allow, deny, hide, ask, ask-allow, ask-deny or kill (repeatable; default all)."`
	Since   string   `placeholder:"TIME" help:"Only records from this time on: RFC 3339, or a duration before now such as 10m (default all)."`
	Against string   `placeholder:"OLD" help:"Only refusals of a kind that the trace OLD does not have; the summary tells what is new and what is gone (default none)."`
	Follow  bool     `short:"f" help:"Go on when the file grows or is rotated, until interrupted (default off)."`
}

// Run is called by kong. Lines that are no records are told on standard error and skipped.
func (c *dumpCmd) Run() error {
	width := 0
	if size, err := unix.IoctlGetWinsize(1, unix.TIOCGWINSZ); err == nil {
		width = int(size.Col)
	}
	d, err := c.dumper(os.Stdout, os.Stderr, width, time.Now())
	if err != nil {
		return err
	}
	if c.Follow {
		return d.follow()
	}
	return d.all()
}

// dumper is a dump that is ready to read.
type dumper struct {
	cmd    *dumpCmd
	filter *record.Filter
	known  *record.Known
	show   record.Renderer
	lines  traceReader
}

func (c *dumpCmd) dumper(out, errs io.Writer, width int, now time.Time) (*dumper, error) {
	filter, err := c.filter(now)
	if err != nil {
		return nil, err
	}
	d := &dumper{cmd: c, filter: filter, lines: traceReader{errs: errs}}
	if c.Against != "" {
		d.known = record.NewKnown()
		_, err := readTrace(c.Against, errs, func(_ *record.Reader, rec *record.Record) error {
			if filter.Match(rec) {
				d.known.Add(rec)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	d.show = c.renderer(out, width, d.known)
	return d, nil
}

// all reads the trace to its end.
func (d *dumper) all() error {
	for _, part := range traceParts(d.cmd.File) {
		in, err := openTrace(part)
		if err != nil {
			return err
		}
		err = d.lines.read(part, in, d.add)
		_ = in.Close() // opened for reading
		if err != nil {
			return errors.Join(err, d.show.Close())
		}
	}
	return d.close()
}

// follow reads until a signal comes, or standard input ends.
func (d *dumper) follow() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	add := func(r *record.Reader, rec *record.Record) error {
		if err := d.add(r, rec); err != nil || r.Buffered() {
			return err
		}
		return record.Flush(d.show)
	}
	in := io.ReadCloser(os.Stdin)
	if d.cmd.File != "-" {
		parts := traceParts(d.cmd.File)
		for _, part := range parts[:len(parts)-1] {
			old, err := openTrace(part)
			if err != nil {
				return err
			}
			err = d.lines.read(part, old, add)
			_ = old.Close()
			if err != nil {
				return errors.Join(err, d.show.Close())
			}
		}
		f, err := record.Follow(ctx, d.cmd.File)
		if err != nil {
			return traceError(d.cmd.File, err)
		}
		in = f
	}
	defer func() { _ = in.Close() }()
	if err := d.lines.read(d.cmd.File, in, add); err != nil {
		return errors.Join(err, d.show.Close())
	}
	return d.close()
}

func (d *dumper) add(r *record.Reader, rec *record.Record) error {
	if !d.filter.Match(rec) || d.known != nil && d.cmd.Format != "summary" && !d.known.New(rec) {
		return nil
	}
	return d.show.Add(rec, r.Raw())
}

func (d *dumper) close() error {
	if err := d.show.Close(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return d.lines.done(d.cmd.File)
}

func (c *dumpCmd) filter(now time.Time) (*record.Filter, error) {
	f := &record.Filter{Events: c.Event, Paths: c.Path, PIDs: c.PID, Verdicts: c.Verdict}
	if c.Since != "" {
		var err error
		if f.Since, err = record.ParseSince(c.Since, now); err != nil {
			return nil, err
		}
	}
	if err := knownEvents(c.Event); err != nil {
		return nil, err
	}
	for _, v := range c.Verdict {
		if !slices.Contains(record.Verdicts, v) {
			return nil, fmt.Errorf("unknown verdict %q (one of %s)", v, strings.Join(record.Verdicts, ", "))
		}
	}
	return f, f.Check()
}

// knownEvents refuses names that no record can have.
func knownEvents(names []string) error {
	if len(names) == 0 {
		return nil
	}
	known := []string{"os.rmdir"} // unlinkat's, by its flag
	for _, row := range events() {
		known = append(known, row.Syscall, row.Event)
	}
	for _, name := range names {
		if slices.Contains(known, name) || strings.HasPrefix(name, "syscall_") || strings.Trim(name, "0123456789") == "" {
			continue // a call without a name is recorded by its number
		}
		if likely := nearest(name, known); likely != "" {
			return fmt.Errorf("--event: unknown event %s (did you mean %s?)", record.Escape(name), likely)
		}
		return fmt.Errorf("--event: unknown event %s (an audit event such as open or socket.connect, or a system call: see ptguard events)", record.Escape(name))
	}
	return nil
}

func (c *dumpCmd) renderer(out io.Writer, width int, known *record.Known) record.Renderer {
	switch c.Format {
	case "jsonl":
		return record.NewJSONL(out)
	case "ecs":
		return record.NewECS(out)
	case "summary":
		return record.NewSummary(out, known, c.Against)
	case "tree":
		return record.NewTree(out, colourWanted(out))
	}
	return record.NewTable(out, width, colourWanted(out))
}

// colourWanted tells whether out is a terminal whose owner has not asked for none
// (no-color.org).
func colourWanted(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
