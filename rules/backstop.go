// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"path"
	"slices"

	"ptguard/decode"
)

// Place is where a policy may let the tree change files, for a guard beneath this one that
// is fixed at the start of a run and ties what it grants to objects.
type Place struct {
	// Path is canonical and was there when the policy was bound.
	Path string
	// Tree: all beneath it too; else that one object.
	Tree bool
	// For is the path of the rule, where that was not there: Path is then its nearest
	// ancestor that was.
	For string
}

// Places gives all of them: a superset of what Decide can allow of Write, Create and Remove,
// but for
//   - devices that everybody may use, and /proc of the tree, which go by what an object is;
//   - what the tree holds a descriptor of;
//   - making, removing or moving the root of a rule itself, and missing directories above it;
//   - what is made under the name of a root that the tree removed, or of a single file;
//   - sockets that only a rule of net.bind names;
//   - built-in roots that are not there, and others where the nearest directory above them that
//     is there is the user's home or broader.
//
// why says that there is nothing to be held back, and why; there are no places then.
func (p *Policy) Places() (places []Place, why string) {
	if p.mode == ModeOpen {
		return nil, "mode open lets the tree change everything"
	}
	if p.ask.On {
		return nil, "answers may open more places while the program runs"
	}
	seen := map[Place]bool{}
	add := func(pl Place) {
		if !seen[pl] {
			seen[pl] = true
			places = append(places, pl)
		}
	}
	for _, e := range p.entries {
		if e.role.denies() || e.access&decode.Create == 0 {
			continue
		}
		switch tree := e.shape != shapeExact; {
		case p.machine.lookup(e.root).Exists:
			add(Place{Path: e.root, Tree: tree})
		case tree && e.rule.Layer != LayerBuiltin:
			if dir := p.ancestor(e.root); !p.tooBroad(dir) {
				add(Place{Path: dir, Tree: true, For: e.root})
			}
		}
	}
	if slices.ContainsFunc(places, func(pl Place) bool { return pl.Path == "/" && pl.Tree }) {
		return nil, "a write rule covers /"
	}
	return places, ""
}

// ancestor is the nearest directory above a path that is there.
func (p *Policy) ancestor(name string) string {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if dir == "/" || p.machine.lookup(dir).Exists {
			return dir
		}
	}
}

// Places gives those of base and of every scope, for a task may come to be in any.
func (s *Scopes) Places(base *Policy) (places []Place, why string) {
	places, why = base.Places()
	if s == nil {
		return places, why
	}
	for _, sc := range s.list {
		if why != "" {
			return nil, why
		}
		var more []Place
		more, why = sc.Policy.Places()
		for _, pl := range more {
			if !slices.Contains(places, pl) {
				places = append(places, pl)
			}
		}
	}
	if why != "" {
		return nil, why
	}
	return places, ""
}

// Cover is where a policy may let the tree change files, by name alone: a superset of what
// Decide can allow of Write, Create, Remove and Bind, but for what goes by what an object is
// (devices, /proc of the tree) and what the tree holds a descriptor of. It is found from the
// rules one by one, without the look-up that Decide makes, and so does not share its mistakes.
type Cover struct {
	trees []string
	names map[string]bool
}

// Cover gives that of a policy which has Places.
func (p *Policy) Cover() *Cover {
	c := &Cover{names: map[string]bool{}}
	c.add(p)
	return c
}

func (c *Cover) add(p *Policy) {
	for _, e := range p.entries {
		if e.role.denies() || e.access&(decode.Write|decode.Create|decode.Remove|decode.Bind) == 0 {
			continue
		}
		if e.shape == shapeExact {
			c.names[e.root] = true
		} else if !slices.Contains(c.trees, e.root) {
			c.trees = append(c.trees, e.root)
		}
		for dir := path.Dir(e.root); dir != "/" && !p.machine.lookup(dir).Exists; dir = path.Dir(dir) {
			c.names[dir] = true // missing, so the tree may make it
		}
	}
}

// Cover is that of base and of every scope, for a task may come to be in any.
func (s *Scopes) Cover(base *Policy) *Cover {
	c := base.Cover()
	if s != nil {
		for _, sc := range s.list {
			c.add(sc.Policy)
		}
	}
	return c
}

// Holds tells whether a canonical path is in it. It may be called from any goroutine.
func (c *Cover) Holds(name string) bool {
	return c.names[name] || slices.ContainsFunc(c.trees, func(root string) bool { return contains(root, name) })
}
