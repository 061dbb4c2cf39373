// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"ptguard/internal/resolve"
	"ptguard/internal/stack"
	"ptguard/rules"
)

// lookups remembers what paths lead to while a policy is bound to the machine. The rules of
// a start name the same few directories some five hundred times; with the directory known,
// a name in it takes one lstat(2) instead of the resolver's four calls or more.
//
// What is remembered can change at any time, by whoever is not guarded; a policy is bound to
// what was there at one moment of the start, and which one it was is nothing that could be
// relied on. It must not outlive the start, though: what the tree or the user changes later
// has to be seen. So forget is called before the program runs, and from then on each
// question goes to the kernel.
type lookups struct {
	known atomic.Pointer[map[string]found]
}

// foreseen is what foresee has found, the last first.
var foreseen atomic.Pointer[view]

// view is what some paths lead to. It does not change.
type view struct {
	known map[string]found
	older *view
}

// binding: a policy is being bound. What is not foreseen by then is for whoever binds it: the
// other CPU has more to do (tracer.Begin).
var binding atomic.Bool

// foresee finds out on another CPU what a run is going to ask: what paths lead to that hold
// for every policy, or for every preset but one. Who asks for what is not found yet, asks the
// kernel.
func foresee() {
	stack.Grow()
	ground()
	lookAhead(systemBin)
	for paths := range slices.Chunk(rules.RuntimePaths(), lookedAtOnce) {
		lookAhead(paths)
	}
	var homes []string
	for _, home := range []string{ownHome(), os.Getenv("HOME")} {
		if filepath.IsAbs(home) && !slices.Contains(homes, home) {
			homes = append(homes, home)
		}
	}
	// A policy is bound from its beginning to its end.
	paths := rules.DeniedPlaces(homes)
	for end := len(paths); end > 0 && !binding.Load(); end -= lookedAtOnce {
		lookAhead(paths[max(0, end-lookedAtOnce):end])
	}
}

const lookedAtOnce = 16

func lookAhead(paths []string) {
	v := &view{known: make(map[string]found, 2*lookedAtOnce), older: foreseen.Load()}
	for _, path := range paths {
		if foreseeable(path) && !strings.Contains(path, "*") {
			v.find(path)
		}
	}
	foreseen.Store(v)
}

// found is what one absolute, clean path leads to.
type found struct {
	rules.Target
	// absent: ENOENT; so is all beneath it, and is named as it is written. dir: a directory
	// with a canonical name.
	absent, dir bool
}

func newLookups() *lookups {
	l := &lookups{}
	known := make(map[string]found, 100)
	l.known.Store(&known)
	return l
}

// forget ends the remembering.
func (l *lookups) forget() { l.known.Store(nil) }

// lookup is lookup, remembered. Until forget, only one goroutine may use it.
func (l *lookups) lookup(path string) rules.Target {
	known := l.known.Load()
	if known == nil || !foreseeable(path) {
		return lookup(path)
	}
	return (&view{*known, foreseen.Load()}).find(path).Target
}

// foreseeable tells whether a path can be found from its directory.
func foreseeable(path string) bool {
	return filepath.IsAbs(path) && path == filepath.Clean(path) && len(path) < unix.PathMax
}

// find says what a clean, absolute path leads to, and remembers it in the newest of the views.
func (v *view) find(path string) found {
	for w := v; w != nil; w = w.older {
		if f, ok := w.known[path]; ok {
			return f
		}
	}
	var f found
	if path == "/" {
		f = resolved(path)
	} else {
		cut := strings.LastIndexByte(path, '/') // for path is clean
		f = findIn(v.find(path[:max(1, cut)]), path, path[cut:])
	}
	v.known[path] = f
	return f
}

// findIn finds a path, dir/name, whose directory has been found.
func findIn(dir found, path, slashName string) found {
	name := path
	if d := strings.TrimSuffix(dir.Path, "/"); d != path[:len(path)-len(slashName)] {
		name = d + slashName
	}
	if dir.absent {
		return found{Target: rules.Target{Path: name, Links: dir.Links}, absent: true}
	}
	if !dir.dir {
		return resolved(path)
	}
	var st unix.Stat_t
	switch err := unix.Fstatat(unix.AT_FDCWD, name, &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT); {
	case errors.Is(err, unix.ENOENT):
		return found{Target: rules.Target{Path: name, Links: dir.Links}, absent: true}
	case err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return resolved(path)
	}
	return foundAt(name, &st, dir.Links)
}

func foundAt(name string, st *unix.Stat_t, links []string) found {
	dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	return found{
		Target: rules.Target{Path: name, Exists: true, IsDir: dir, Inode: rules.Inode{Dev: st.Dev, Ino: st.Ino}, Links: links},
		dir:    dir && name != "",
	}
}

// unseen is the first failure to look at a path at all. Taken for a path that leads nowhere,
// it would take a deny away from what the path leads to: so nothing is started then.
var unseen atomic.Pointer[error]

// boundBlindly tells of a path that rules or seals were bound to without having been seen.
func boundBlindly() error {
	if err := unseen.Load(); err != nil {
		return fmt.Errorf("bind the policy to this machine: %w", *err)
	}
	return nil
}

// resolved asks the resolver.
func resolved(path string) found {
	o, err := resolve.Canonical(path)
	if err != nil {
		if filepath.IsAbs(path) { // else it is not one for the resolver, whatever it leads to
			unseen.CompareAndSwap(nil, &err)
		}
		return found{Target: rules.Target{Path: path}}
	}
	if o.Exists && o.Errno == 0 {
		return foundAt(o.Path, &o.Stat, o.Hops)
	}
	return found{Target: rules.Target{Path: o.Path, Links: o.Hops}, absent: o.Errno == unix.ENOENT && o.Path != ""}
}
