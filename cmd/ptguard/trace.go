// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ptguard/record"
)

// openTrace opens a trace for reading; - is standard input.
func openTrace(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, traceError(name, err)
	}
	return f, nil
}

func traceError(name string, err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("open trace %s: %w", record.Escape(name), err)
}

// traceParts gives the files that hold the runs of a trace, oldest first: a trace that was
// rotated in the middle of a run begins in FILE.1, or before.
func traceParts(name string) []string {
	parts := []string{name}
	for i := 1; name != "-" && beginsAmid(parts[0]); i++ {
		older := record.PartName(name, i)
		if st, err := os.Stat(older); err != nil || !st.Mode().IsRegular() {
			break
		}
		parts = append([]string{older}, parts...)
	}
	return parts
}

// beginsAmid tells whether a file begins in the middle of a run.
func beginsAmid(name string) bool {
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return false // what can be read once only is not looked into
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	r, err := record.NewReader(f)
	if err != nil {
		return false
	}
	rec, err := r.Next()
	return err == nil && rec.Seq > 1
}

// badLinesShown is how many lines that are no records are told one by one.
const badLinesShown = 10

// traceReader reads traces and tells of lines that are no records.
type traceReader struct {
	errs      io.Writer
	bad, good int
	warnings  strings.Builder // of lines before the first record: a file without any is told in one line
}

// read hands each record of one part to visit.
func (t *traceReader) read(name string, in io.Reader, visit func(r *record.Reader, rec *record.Record) error) error {
	name = record.Escape(name)
	r, err := record.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for {
		rec, err := r.Next()
		var skipped *record.LineError
		switch {
		case errors.As(err, &skipped):
			if t.bad++; t.bad <= badLinesShown {
				w := io.Writer(&t.warnings)
				if t.good > 0 {
					w = t.errs
				}
				_, _ = fmt.Fprintf(w, "ptguard: warning: %s: %s; skipped\n", name, record.EscapeText(skipped.Error()))
			}
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		if t.good++; t.good == 1 {
			_, _ = io.WriteString(t.errs, t.warnings.String())
		}
		if err := visit(r, rec); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
}

// done ends the reading of name: it tells of lines that were not told one by one, and it is
// an error if there was no record.
func (t *traceReader) done(name string) error {
	if t.bad > badLinesShown && t.good > 0 {
		_, _ = fmt.Fprintf(t.errs, "ptguard: warning: %s: %d bad lines skipped in all\n", record.Escape(name), t.bad)
	}
	if t.good == 0 && t.bad > 0 {
		return fmt.Errorf("%s is not a trace: none of its %d lines is a record", record.Escape(name), t.bad)
	}
	return nil
}

// readTrace reads a trace with its rotated parts.
func readTrace(name string, errs io.Writer, visit func(r *record.Reader, rec *record.Record) error) (*traceReader, error) {
	t := &traceReader{errs: errs}
	for _, part := range traceParts(name) {
		in, err := openTrace(part)
		if err != nil {
			return t, err
		}
		err = t.read(part, in, visit)
		_ = in.Close() // opened for reading
		if err != nil {
			return t, err
		}
	}
	return t, t.done(name)
}
