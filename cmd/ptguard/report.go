// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ptguard/record"
)

// reportCmd is "ptguard report TRACE -o FILE.html": one page to look at.
type reportCmd struct {
	Trace  string `arg:"" help:"Trace to show, plain or gzip; - is standard input."`
	Output string `short:"o" required:"" placeholder:"FILE.html" help:"Where the page goes; - is standard output."`
}

// Run is called by kong. The page replaces a file only when it is complete.
func (c *reportCmd) Run() error {
	if c.Output == "-" {
		return c.write(os.Stdout)
	}
	if out, err := os.Stat(c.Output); err == nil {
		if in, err := os.Stat(c.Trace); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("report: the page would replace the trace %s: say another -o FILE.html", record.Escape(c.Trace))
		}
	}
	f, err := os.CreateTemp(filepath.Dir(c.Output), "."+filepath.Base(c.Output)+".*")
	if err != nil {
		return outputError(c.Output, err)
	}
	err = c.write(f)
	if e := f.Close(); err == nil && e != nil {
		err = outputError(c.Output, e)
	}
	if err == nil {
		if err = os.Rename(f.Name(), c.Output); err != nil {
			err = outputError(c.Output, err)
		}
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		return err
	}
	return nil
}

func outputError(name string, err error) error {
	var pe *os.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	return fmt.Errorf("write %s: %w", record.Escape(name), err)
}

func (c *reportCmd) write(w io.Writer) error {
	name := filepath.Base(c.Trace)
	if c.Trace == "-" {
		name = ""
	}
	page := record.NewReport(w, name)
	lines, err := readTrace(c.Trace, os.Stderr, func(r *record.Reader, rec *record.Record) error {
		return page.Add(rec, r.Raw())
	})
	if err != nil {
		return err
	}
	if page.Bad = lines.bad; lines.good == 0 {
		return fmt.Errorf("%s has no records", record.Escape(c.Trace))
	}
	if err := page.Close(); err != nil {
		return fmt.Errorf("write %s: %w", record.Escape(c.Output), err)
	}
	return nil
}
