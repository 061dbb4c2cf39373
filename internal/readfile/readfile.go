// SPDX-License-Identifier: Apache-2.0

// Package readfile reads the small files of the kernel and of /etc that a start, and many a
// stop, looks at: open(2), read(2), close(2). An os.File adds a status, a poller that the file
// is not for, and a finalizer, and costs twice that.
package readfile

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// All gives what is in a file. An error is a *fs.PathError.
func All(path string) ([]byte, error) {
	fail := func(op string, err error) ([]byte, error) { return nil, &fs.PathError{Op: op, Path: path, Err: err} }
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return fail("open", err)
	}
	defer unix.Close(fd)
	text := make([]byte, 0, 2048) // most fit
	for {
		if len(text) == cap(text) {
			text = append(text, 0)[:len(text)]
		}
		n, err := retry(func() (int, error) { return unix.Read(fd, text[len(text):cap(text)]) })
		if err != nil {
			return fail("read", err)
		}
		if n == 0 {
			return text, nil
		}
		text = text[:len(text)+n]
	}
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
