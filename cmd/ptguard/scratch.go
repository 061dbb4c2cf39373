// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/record"
	"ptguard/seals"
)

// scratch is a temp folder that this run made for itself, and removes. All methods do
// nothing on nil.
type scratch struct{ dir string }

// tmpNames are the variables by which programs find the temp folder.
var tmpNames = []string{"TMPDIR", "TMP", "TEMP", "TEMPDIR"}

// newScratch makes the folder, with mode 0700, beneath the system's temp folder, which
// $TMPDIR can name from cwd. Its name is canonical.
func newScratch(cwd string) (*scratch, error) {
	dir, err := os.MkdirTemp(absolute(cwd, os.TempDir()), "ptguard-")
	if err != nil {
		return nil, fmt.Errorf("make a private temp folder: %w", err)
	}
	return &scratch{dir: lookup(dir).Path}, nil
}

// environ names the folder in an environment. here: the program starts in it.
func (s *scratch) environ(env []string, here bool) []string {
	if s == nil {
		return env
	}
	set := map[string]string{}
	for _, name := range tmpNames {
		set[name] = s.dir
	}
	if here {
		set["PWD"] = s.dir
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return set[name] != ""
	})
	for _, name := range append(slices.Clone(tmpNames), "PWD") {
		if set[name] != "" {
			env = append(env, name+"="+set[name])
		}
	}
	return env
}

// remove removes the folder that newScratch made, and no other. Nobody of the tree is left;
// folders that it closed to itself are opened first. What the tree may move but not remove, as
// a seal can say, ptguard does not remove for it.
func (s *scratch) remove(live *record.Live, set *seals.Set) {
	if s == nil {
		return
	}
	if why := s.keep(set); why != "" {
		live.Warn(fmt.Sprintf("the private temp folder %s is left as it is: %s", record.Escape(s.dir), why))
		return
	}
	err := os.RemoveAll(s.dir)
	if errors.Is(err, fs.ErrPermission) {
		_ = filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.IsDir() && os.Chmod(path, 0o700) == nil && err != nil {
				return fs.SkipDir // it could not be listed: the next walk can
			}
			return nil
		})
		err = os.RemoveAll(s.dir)
	}
	if err != nil && live != nil {
		live.Warn("remove the private temp folder: " + err.Error())
	}
}

// keep says why the folder is not to be removed: a seal keeps something in it from that, or
// might, for it cannot be looked at, as what lies deeper than PATH_MAX. "" if nothing is against it.
func (s *scratch) keep(set *seals.Set) string {
	if set == nil || !set.Movable() {
		return "" // what may not be moved has not come here
	}
	return keepBeneath(s.dir, set, false)
}

// keepBeneath is keep for a folder; opened if it was closed to us, and is not any more.
func keepBeneath(dir string, set *seals.Set, opened bool) (why string) {
	_ = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && !(opened && name == dir) && os.Chmod(name, 0o700) == nil { // the tree closed it
			if why = keepBeneath(name, set, true); why != "" {
				return fs.SkipAll
			}
			return nil
		}
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(name, &st)
		}
		if err != nil {
			why = fmt.Sprintf("something in it cannot be looked at, and could be sealed: %v", errnoOf(err))
			return fs.SkipAll
		}
		o := seals.Object{Path: name, Exists: true, Inode: seals.Inode{Dev: st.Dev, Ino: st.Ino}, Born: birth(name)}
		if seal, _ := set.Find(&o, []seals.Letters{seals.W}); seal != nil {
			why = fmt.Sprintf("%s is sealed by %s (%s)", record.Escape(name), record.EscapeText(seal.Owner), record.Escape(seal.Pos))
			return fs.SkipAll
		}
		return nil
	})
	return why
}

// tellEnv says, by name only, which variables the program does not get.
func (g *guarded) tellEnv(env []string) {
	passed := map[string]bool{}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		passed[name] = true
	}
	var dropped []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !passed[name] {
			dropped = append(dropped, record.Escape(name))
		}
	}
	slices.Sort(dropped)
	if len(dropped) > 0 {
		g.live.Note("not passed on: " + strings.Join(slices.Compact(dropped), " ") + " (--env NAME passes one)")
	}
	if g.scratch != nil {
		g.live.Note("temp folder of this run: " + g.scratch.dir)
	}
}
