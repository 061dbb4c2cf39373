// SPDX-License-Identifier: Apache-2.0

package seals

import (
	"path"
	"slices"
	"strings"

	"ptguard/internal/policytext"
)

// Inode identifies an object of a file system.
type Inode struct{ Dev, Ino uint64 }

// Machine is what binding needs to know of the machine.
type Machine struct {
	Homes  []string // what ~ means
	Lookup func(path string) Target
}

// Target is what a literal path leads to.
type Target struct {
	Path   string // canonical; as far as it could be followed if it does not exist
	Exists bool
	IsDir  bool
	Inode  Inode
	Born   int64 // time of birth, 0 if unknown
}

// Object is what an act touches.
type Object struct {
	Path      string   // canonical; "" if it has no name
	Spellings []string // other absolute names that led here
	Exists    bool
	Inode     Inode
	// Born is its time of birth, 0 if unknown: an inode's number is given again.
	Born int64
	// Above are the inodes of the directories above it, for the case that one of them was
	// moved; needed only if Set.Directories.
	Above []Inode
	// Unseen tells that some directory above could not be looked at, so that it may be any.
	Unseen bool
}

// Set is the seals of a run. It is asked, and told of objects (Meet), from one goroutine.
type Set struct {
	seals []*Seal
	trees []tree
	globs []glob
	pins  map[Inode][]pin
	dirs  bool
}

// tree is a literal place of a seal: it and all beneath.
type tree struct {
	seal *Seal
	root string
}

// glob is a place with wildcards: what matches beneath root, and all beneath that.
type glob struct {
	seal       *Seal
	root       string
	segs, deep []string
	rooted     bool
}

// pin ties an object to a seal, whatever its name becomes.
type pin struct {
	seal *Seal
	born int64
}

// Bind ties the seals of all files to a machine. A literal path holds as it is spelled, as
// it resolves, and for the object that is there now.
func Bind(files []*File, m Machine) *Set {
	s := &Set{pins: map[Inode][]pin{}}
	for _, f := range files {
		for _, seal := range f.Seals {
			s.seals = append(s.seals, seal)
			for _, p := range seal.patterns {
				s.bind(seal, p, m)
			}
		}
	}
	return s
}

func (s *Set) bind(seal *Seal, p policytext.Pattern, m Machine) {
	bases := []string{"/"}
	if p.Anchor != "/" {
		bases = m.Homes
	}
	for _, base := range bases {
		spelled := policytext.Beneath(base, p.Literal...)
		t := lookup(m, spelled)
		roots := []string{t.Path}
		for _, r := range policytext.Spellings(spelled, func(dir string) string { return lookup(m, dir).Path }) {
			if !slices.Contains(roots, r) {
				roots = append(roots, r)
			}
		}
		for _, root := range roots {
			if !slices.Contains(seal.Places, root) {
				seal.Places = append(seal.Places, root)
			}
			if len(p.Glob) == 0 {
				s.trees = append(s.trees, tree{seal, root})
				continue
			}
			g := glob{seal: seal, root: root, segs: p.Glob, rooted: p.Rooted}
			if p.Glob[len(p.Glob)-1] != "**" {
				g.deep = append(slices.Clone(p.Glob), "**")
			}
			s.globs = append(s.globs, g)
		}
		if len(p.Glob) == 0 && t.Exists {
			s.pin(seal, t.Inode, t.Born)
			s.dirs = s.dirs || t.IsDir
		}
	}
}

func lookup(m Machine, path string) Target {
	if m.Lookup != nil {
		if t := m.Lookup(path); t.Path != "" {
			return t
		}
	}
	return Target{Path: path}
}

// Seals lists the seals in the order they were read.
func (s *Set) Seals() []*Seal {
	if s == nil {
		return nil
	}
	return slices.Clone(s.seals)
}

// Letters gives every letter that some seal has: what the run can refuse by seals.
func (s *Set) Letters() (all Letters) {
	if s != nil {
		for _, seal := range s.seals {
			all |= seal.Letters
		}
	}
	return all
}

// Movable tells whether a sealed object may get another name in the run: some seal that
// forbids more lets it be renamed.
func (s *Set) Movable() bool {
	return s != nil && slices.ContainsFunc(s.seals, func(seal *Seal) bool { return seal.Letters&M == 0 })
}

// Directories tells whether a directory is pinned, so that Object.Above matters.
func (s *Set) Directories() bool { return s != nil && s.dirs }

// Pinned tells whether an inode carries a seal, so that Object.Born matters.
func (s *Set) Pinned(i Inode) bool { return s != nil && len(s.pins[i]) > 0 }

func (s *Set) pin(seal *Seal, i Inode, born int64) {
	if !slices.ContainsFunc(s.pins[i], func(p pin) bool { return p.seal == seal && p.born == born }) {
		s.pins[i] = append(s.pins[i], pin{seal, born})
	}
}

// Meet pins an object that seals cover, by its name or by a folder above it that was moved:
// from now on they hold for the object, whatever its name becomes. dir: it is a directory,
// which seals all beneath it.
func (s *Set) Meet(o *Object, dir bool) {
	if s == nil || !o.Exists {
		return
	}
	s.Covering(o, func(seal *Seal) {
		s.pin(seal, o.Inode, o.Born)
		s.dirs = s.dirs || dir
	})
}

// named calls f for every seal that covers one of the object's names.
func (s *Set) named(o *Object, f func(*Seal)) {
	s.covering(o.Path, f)
	for _, spelled := range o.Spellings {
		if spelled != o.Path {
			s.covering(path.Clean(spelled), f)
		}
	}
}

func (s *Set) covering(name string, f func(*Seal)) {
	if name == "" {
		return
	}
	for i := range s.trees {
		if policytext.Contains(s.trees[i].root, name) {
			f(s.trees[i].seal)
		}
	}
	for i := range s.globs {
		g := &s.globs[i]
		if !policytext.Contains(g.root, name) {
			continue
		}
		rest := strings.TrimLeft(name[len(g.root):], "/")
		if policytext.MatchSegments(g.segs, rest) || g.deep != nil && policytext.MatchSegments(g.deep, rest) {
			f(g.seal)
		}
	}
}

// Covering calls f for every seal that covers the object: by name, or by inode.
func (s *Set) Covering(o *Object, f func(*Seal)) {
	if s == nil {
		return
	}
	s.named(o, f)
	if o.Exists {
		for _, p := range s.pins[o.Inode] {
			if p.born == o.Born || p.born == 0 || o.Born == 0 {
				f(p.seal)
			}
		}
	}
	for _, dir := range o.Above {
		for _, p := range s.pins[dir] {
			f(p.seal)
		}
	}
	if o.Unseen && s.dirs {
		for _, seal := range s.seals {
			f(seal)
		}
	}
}

// Find gives the seal that forbids one of the letters in order, the first of them that is
// forbidden; nil if none is.
func (s *Set) Find(o *Object, order []Letters) (*Seal, Letters) {
	if s == nil || len(order) == 0 {
		return nil, 0
	}
	var by [len(letterNames)]*Seal
	s.Covering(o, func(seal *Seal) {
		for i := range by {
			if seal.Letters&(1<<i) != 0 && by[i] == nil {
				by[i] = seal
			}
		}
	})
	for _, l := range order {
		for i := range by {
			if l == 1<<i && by[i] != nil {
				return by[i], l
			}
		}
	}
	return nil, 0
}

// Carried gives a seal that renaming the directory dir to the name to would carry to where
// it no longer holds: a literal place beneath it, or a glob that its own name is a part of.
func (s *Set) Carried(dir, to string) *Seal {
	if s == nil {
		return nil
	}
	for i := range s.trees {
		if t := &s.trees[i]; t.root != dir && policytext.Contains(dir, t.root) {
			return t.seal
		}
	}
	for i := range s.globs {
		if g := &s.globs[i]; g.carries(dir, to) {
			return g.seal
		}
	}
	return nil
}

// OnTheWay gives a seal with a literal place beneath a name: whoever puts another object, a
// link above all, in the place of that name would lead the sealed one elsewhere.
func (s *Set) OnTheWay(name string) *Seal {
	if s == nil {
		return nil
	}
	for i := range s.trees {
		if t := &s.trees[i]; t.root != name && policytext.Contains(name, t.root) {
			return t.seal
		}
	}
	return nil
}

// carries: what matches beneath dir might match no longer beneath to.
func (g *glob) carries(dir, to string) bool {
	switch {
	case policytext.Contains(dir, g.root):
		return !g.rooted && dir != "/" // the way to the place itself
	case !policytext.Contains(g.root, dir):
		return false
	case g.segs[0] == "**" && len(g.segs) == 2 && policytext.Contains(g.root, to):
		return false // by the last name alone, anywhere beneath the root
	case g.segs[0] == "**" && policytext.Contains(g.root, to):
		// One of the names in the middle: it matters whether this directory bears it.
		return slices.ContainsFunc(g.segs[1:len(g.segs)-1], func(seg string) bool {
			return seg != "**" && policytext.MatchComponent(seg, path.Base(dir))
		})
	}
	return mayMatchBeneath(g.segs, strings.TrimLeft(dir[len(g.root):], "/"))
}

// mayMatchBeneath tells whether segments could match some path beneath a directory.
func mayMatchBeneath(segs []string, rest string) bool {
	for rest != "" {
		if len(segs) == 0 {
			return false
		}
		if segs[0] == "**" {
			return true
		}
		var name string
		name, rest = policytext.CutComponent(rest)
		if !policytext.MatchComponent(segs[0], name) {
			return false
		}
		segs = segs[1:]
	}
	return len(segs) > 0
}
