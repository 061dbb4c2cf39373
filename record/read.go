// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line of a trace; the longest that ptguard writes has an argument
// vector in it (execve(2): 128 KiB a string, 6 MiB in all).
const maxLine = 16 << 20

// Reader reads a trace, plain or gzip, line by line in constant memory.
type Reader struct {
	in    *bufio.Reader
	gzip  bool
	line  int
	long  []byte // of a line longer than in's buffer
	raw   []byte
	rec   Record
	quick decoder
	err   error // sticky end
}

// LineError is a line that is no record. The Reader goes on with the next one.
type LineError struct {
	Line int   // from 1
	Cut  bool  // the file ends within the line: the run was killed, or is still writing
	Err  error // what is wrong with it
}

// Error says where and what.
func (e *LineError) Error() string {
	if e.Cut {
		return fmt.Sprintf("line %d: cut off (%v)", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// NewReader looks at the first bytes of r to tell gzip from JSON.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, 256<<10)
	magic, err := in.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) { // RFC 1952
		return &Reader{in: in}, nil
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	return &Reader{in: bufio.NewReaderSize(z, 256<<10), gzip: true}, nil
}

// Next returns the next record; it is valid until the call after. At the end the error is
// io.EOF. A *LineError tells of one line that was skipped: call Next again. Any other
// error is final. Unknown fields and kinds are no errors; blank lines are skipped.
func (r *Reader) Next() (*Record, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return nil, err
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		r.raw = text
		r.rec = Record{}
		if text[0] != '{' {
			err = errors.New("no JSON object")
		} else {
			if r.quick.decode(text, &r.rec) {
				return &r.rec, nil
			}
			r.rec = Record{}
			err = json.Unmarshal(text, &r.rec)
		}
		if err != nil {
			return nil, &LineError{Line: r.line, Cut: r.err != nil, Err: err}
		}
		return &r.rec, nil
	}
}

// Line is the number of the line that Next returned last, from 1.
func (r *Reader) Line() int { return r.line }

// Buffered tells whether more was read already than Next has given: without it, Next may wait
// for a file that is followed.
func (r *Reader) Buffered() bool { return r.in.Buffered() > 0 }

// Raw is the text of that line without its newline, valid until the next call of Next.
func (r *Reader) Raw() []byte { return r.raw }

// readLine returns the next line; at the end of the input it sets r.err.
func (r *Reader) readLine() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	r.line++
	line, err := r.in.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	r.long = append(r.long[:0], line...)
	size := len(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.in.ReadSlice('\n')
		if size += len(line); size <= maxLine {
			r.long = append(r.long, line...)
		}
	}
	if err != nil {
		r.err = io.EOF
		if !errors.Is(err, io.EOF) && !r.gzip {
			r.err = fmt.Errorf("read trace: line %d: %w", r.line, err)
		} else if !errors.Is(err, io.EOF) {
			// A cut or damaged gzip stream: what came out so far was good.
			return nil, &LineError{Line: r.line, Cut: true, Err: err}
		}
	}
	if size > maxLine {
		return nil, &LineError{Line: r.line, Cut: r.err != nil, Err: fmt.Errorf("longer than %d MiB", maxLine>>20)}
	}
	if len(r.long) == 0 {
		return nil, r.err
	}
	return r.long, nil
}
