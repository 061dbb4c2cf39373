// SPDX-License-Identifier: Apache-2.0

package seals

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"ptguard/internal/policytext"
)

// Load reads the seal files of a directory: every name that ends in .yaml and does not
// begin with a dot, in order of the names. dir is the directory's own path, for messages.
// A file that cannot be read is an error, and so is one that ends in .yml: a seal that
// does not hold must not go unnoticed.
func Load(dir string, fsys fs.FS) ([]*File, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("read seals in %s: %w", dir, bare(err))
	}
	var out []*File
	for _, e := range entries {
		name := within(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
			continue
		case strings.HasSuffix(e.Name(), ".yml"):
			return nil, fmt.Errorf("%s: seal files end in .yaml (rename it, or it would hold nowhere)", name)
		case !strings.HasSuffix(e.Name(), ".yaml"):
			continue
		}
		f, err := LoadFile(dir, fsys, e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// within names an entry of a directory. The directory stays as it is spelled: made shorter,
// link/.. would be another one, and the name is what the run guards.
func within(dir, base string) string {
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + base
	}
	return dir + "/" + base
}

// LoadFile reads one file of a directory, whatever its name.
func LoadFile(dir string, fsys fs.FS, base string) (*File, error) {
	name := within(dir, base)
	text, err := readFile(fsys, base)
	if err != nil {
		return nil, fmt.Errorf("read seal file %s: %w", name, bare(err))
	}
	return Read(name, text)
}

// readFile reads a regular file, a little more than may be read so that Read can tell.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name) // first: opening a FIFO would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return io.ReadAll(io.LimitReader(f, policytext.MaxSize+1))
}

func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
