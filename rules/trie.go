// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"path"
	"strings"

	"ptguard/decode"
)

// role is the step of the decision order (docs/manual.md) an entry speaks in.
type role uint8

const (
	roleUserDeny   role = iota // step 5: files.deny, exec.deny, net.deny of a file or flag
	roleUserHide               // step 5: files.hide
	roleUserAllow              // step 6
	rolePresetDeny             // step 7
	rolePresetHide             // step 7
	roleBaseAllow              // step 8: allow of a preset, built-in root
)

func (r role) denies() bool { return r != roleUserAllow && r != roleBaseAllow }
func (r role) hides() bool  { return r == roleUserHide || r == rolePresetHide }
func (r role) preset() bool { return r == rolePresetDeny || r == rolePresetHide }

// shape is how far an entry reaches from its root.
type shape uint8

const (
	shapeTree     shape = iota // the root and all beneath: a plain path
	shapeExact                 // the root only: file:
	shapeContents              // all beneath, not the root: D/**
	shapeGlob                  // what the segments match beneath the root
)

// entry is one rule at one place: a rule has several if its path is a link, names more
// than one folder (@tmp, two homes) or has alternatives.
type entry struct {
	rule   *Rule
	role   role
	access decode.Access
	root   string // literal prefix
	shape  shape
	segs   []string // of shapeGlob
	deep   []string // segs, then "**": what lies beneath a match (denies only)
	// folder: the root was a directory at start, or absent and made by ptguard's rules
	// as one (built-in roots).
	folder bool
	// names: the rule names its object and so may lift a preset's deny; false for
	// @work, @tmp and globs that start with **/.
	names bool
	// own: beneath the root it grants only what the tree itself made, or makes.
	own bool
	// follows: it grants Exec to what follows from a program, not to programs.
	follows bool
	// program: an exec.deny; it takes Map only from what looks like a program.
	program bool
	// apiOnly: a built-in root that a fence has taken from all scopes but api.
	apiOnly bool
	// lifters are the allows of files and flags that lift this preset deny.
	lifters []*entry
	// lifted: one of them names the very root, for all accesses of the deny.
	lifted bool
}

// matches tells whether the entry covers a canonical path.
func (e *entry) matches(path string) bool {
	if !contains(e.root, path) {
		return false
	}
	return e.covers(strings.TrimLeft(path[len(e.root):], "/"))
}

// covers is matches for a path relative to the root.
func (e *entry) covers(rest string) bool {
	switch e.shape {
	case shapeTree:
		return true
	case shapeExact:
		return rest == ""
	case shapeContents:
		return rest != ""
	}
	return matchSegments(e.segs, rest) || e.deep != nil && matchSegments(e.deep, rest)
}

// leadsTo tells whether a folder lies on the way from the entry's root to what its glob
// matches, with every name on the way matched by one of the glob's own. Where `**` may stand
// for the names, any folder would do, and nothing is said.
func (e *entry) leadsTo(folder string) bool {
	if !contains(e.root, folder) {
		return false
	}
	rest := strings.TrimLeft(folder[len(e.root):], "/")
	for _, seg := range e.segs[:len(e.segs)-1] {
		if rest == "" {
			break
		}
		var name string
		if name, rest = cutComponent(rest); seg == "**" || !matchComponent(seg, name) {
			return false
		}
	}
	return rest == "" && folder != e.root
}

// kids are the nodes beneath a node by name. Most have few, and those are a list: a map costs
// more to make, and to ask.
type kids struct {
	few  []kid
	many map[string]*node // all of them, if there are more than fewKids
}

type kid struct {
	name string
	node *node
}

const fewKids = 8

// find gives nil if there is none of the name.
func (k *kids) find(name string) *node {
	if k.many != nil {
		return k.many[name]
	}
	for i := range k.few {
		if k.few[i].name == name {
			return k.few[i].node
		}
	}
	return nil
}

// add adds one whose name is new.
func (k *kids) add(name string, n *node) {
	switch {
	case k.many != nil:
		k.many[name] = n
	case len(k.few) < fewKids:
		k.few = append(k.few, kid{name, n})
	default:
		k.many = make(map[string]*node, 4*fewKids)
		for _, old := range k.few {
			k.many[old.name] = old.node
		}
		k.many[name], k.few = n, nil
	}
}

// node is a directory name in the trie of literal prefixes. A walk costs one look-up
// a component, however many rules there are.
type node struct {
	kids    kids
	entries []*entry
	// loose are the places in entries of those that index does not find.
	loose []int
	index *globIndex
	// named are the globs **/NAME by NAME, so that many of them cost one look-up.
	named map[string][]*entry
	// denied is a deny, hide or guard at or beneath this node, if any: a directory here
	// must not be renamed.
	denied *entry
	// below is a deny strictly beneath.
	below *entry
	// writable is a write rule at or beneath this node: mkdir of a missing name here is
	// granted. visible is any allow at or beneath.
	writable, visible *Rule
}

// nowhere is what a new node is written with: memory that is read before it was ever written
// to costs the kernel two faults, and a word to the other CPUs between them.
var nowhere = []int{}

// insert adds an entry at its root. Entries must come in layer order.
func (n *node) insert(e *entry) {
	path := []*node{n}
	for rest := strings.TrimLeft(e.root, "/"); rest != ""; {
		var name string
		name, rest = cutComponent(rest)
		next := n.kids.find(name)
		if next == nil {
			next = &node{loose: nowhere}
			n.kids.add(name, next)
		}
		n = next
		path = append(path, n)
	}
	if e.shape == shapeGlob && len(e.segs) == 2 && e.segs[0] == "**" {
		if literal, wild, err := parseComponent(e.segs[1]); err == nil && !wild {
			if n.named == nil {
				n.named = map[string][]*entry{}
			}
			n.named[literal] = append(n.named[literal], e)
			n.mark(path, e)
			return
		}
	}
	n.entries = append(n.entries, e)
	n.mark(path, e)
	if e.shape == shapeGlob {
		if n.index == nil {
			n.index = &globIndex{}
		}
		if n.index.add(e, len(n.entries)-1) {
			return
		}
	}
	n.loose = append(n.loose, len(n.entries)-1)
}

// mark leaves word of the entry at every node on the way to it.
func (n *node) mark(path []*node, e *entry) {
	for _, on := range path {
		switch {
		case e.apiOnly:
		case e.role.denies():
			// A preset's deny can be lifted, and exempts what the tree made: it must
			// not stand before one of a file or flag.
			if e.lifted {
				continue
			}
			if on.denied == nil || on.denied.role.preset() && !e.role.preset() {
				on.denied = e
			}
			if on != n && (on.below == nil || on.below.role.preset() && !e.role.preset()) {
				on.below = e
			}
		default:
			if on.visible == nil {
				on.visible = e.rule
			}
			if e.access&decode.Create != 0 && on.writable == nil {
				on.writable = e.rule
			}
		}
	}
}

// walk hands every entry that covers path to the question. It gives the node of the
// path itself, nil if there is none.
func (p *Policy) walk(q *question, path string, denyOnly bool) *node {
	n, rest := &p.root, strings.TrimLeft(path, "/")
	for {
		n.takeAll(q, rest, denyOnly)
		if n.named != nil {
			n.walkNamed(q, rest, denyOnly)
		}
		if rest == "" {
			return n
		}
		var name string
		name, rest = cutComponent(rest)
		if name == "." {
			continue
		}
		if n = n.kids.find(name); n == nil {
			return nil
		}
	}
}

// takeAll hands the entries of the node that cover rest to the question, in their order.
func (n *node) takeAll(q *question, rest string, denyOnly bool) {
	if len(n.entries) == 0 {
		return
	}
	var space [room]int
	found := space[:0]
	if n.index != nil {
		found = n.index.find(rest, found)
	}
	merge(n.loose, found, func(place int) bool {
		e := n.entries[place]
		if (e.role.denies() || !denyOnly) && (e.shape == shapeTree || e.covers(rest)) {
			q.take(e, rest == "")
		}
		return true
	})
}

func (n *node) walkNamed(q *question, rest string, denyOnly bool) {
	for rest != "" {
		var name string
		name, rest = cutComponent(rest)
		for _, e := range n.named[name] {
			if (e.role.denies() || !denyOnly) && (rest == "" || e.deep != nil) {
				q.take(e, false)
			}
		}
	}
}

// walkSpelling asks the denies about a path as it was spelled. What `..` steps back from
// is asked about too: a hidden directory is not there, even as a way to somewhere else.
func (p *Policy) walkSpelling(q *question, spelling string) {
	if !strings.Contains(spelling, "/..") {
		p.walk(q, spelling, true)
		return
	}
	for i := 0; ; {
		j := strings.Index(spelling[i:], "/..")
		if j < 0 {
			break
		}
		i += j
		if end := i + 3; end == len(spelling) || spelling[end] == '/' {
			if way := path.Clean(spelling[:i+1]); way != "/" {
				need := q.need
				q.need = decode.Look // only hide covers look
				p.walk(q, way, true)
				q.need = need
			}
		}
		i++
	}
	p.walk(q, path.Clean(spelling), true)
}
