// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// followPeriod is how often a file that has ended is looked at again.
const followPeriod = 200 * time.Millisecond

// Follower reads a file that grows, as tail -F does: at the end it waits for more, goes on
// with the file that has taken the name when the trace was rotated, and begins again when
// it was cut. Its end is that of the context.
type Follower struct {
	ctx    context.Context
	path   string
	f      *os.File
	at     int64
	period time.Duration
	last   bool // the name is another file's: what is left is the end of this one
}

// Follow opens path.
func Follow(ctx context.Context, path string) (*Follower, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Follower{ctx: ctx, path: path, f: f, period: followPeriod}, nil
}

// Close closes the file that is being read.
func (f *Follower) Close() error { return f.f.Close() }

// Read gives what there is, or waits. io.EOF means that the context is done.
func (f *Follower) Read(p []byte) (int, error) {
	for {
		n, err := f.f.Read(p)
		if f.at += int64(n); n > 0 || err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		again, err := f.next()
		if err != nil {
			return 0, err
		}
		if again {
			continue
		}
		timer := time.NewTimer(f.period)
		select {
		case <-f.ctx.Done():
			timer.Stop()
			return 0, io.EOF
		case <-timer.C:
		}
	}
}

// next looks what became of the file; true means: read on at once.
func (f *Follower) next() (bool, error) {
	if f.last {
		// It was read to its end after it had lost its name: the writer has left it.
		in, err := os.Open(f.successor())
		if err != nil {
			return false, nil // between two names; look again
		}
		_ = f.f.Close()
		f.f, f.at, f.last = in, 0, false
		return true, nil
	}
	mine, err := f.f.Stat()
	if err != nil {
		return false, fmt.Errorf("read trace: %w", err)
	}
	if named, err := os.Stat(f.path); err == nil && !os.SameFile(mine, named) {
		f.last = true
		return true, nil
	}
	if mine.Mode().IsRegular() && mine.Size() < f.at {
		f.at, err = f.f.Seek(0, io.SeekStart)
		return true, err
	}
	return false, nil
}

// successor is the name of the part of the trace that was written after this one. There may
// have been more than one rotation since the last look.
func (f *Follower) successor() string {
	mine, err := f.f.Stat()
	if err != nil {
		return f.path
	}
	for i := 1; ; i++ {
		part, err := os.Stat(PartName(f.path, i))
		switch {
		case err != nil:
			return f.path
		case os.SameFile(mine, part) && i > 1:
			return PartName(f.path, i-1)
		case os.SameFile(mine, part):
			return f.path
		}
	}
}

// PartName is the name that a rotated trace has: FILE.1 is the youngest.
func PartName(path string, n int) string { return fmt.Sprintf("%s.%d", path, n) }
