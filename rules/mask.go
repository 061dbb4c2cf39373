// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"ptguard/decode"
)

// maskBits are the accesses that a mask takes within the work folder: contents, and what
// changes them. Looking and listing stay, or git would take the file for deleted.
const maskBits = decode.Read | decode.Map | decode.Exec | decode.Change | decode.Connect | decode.Bind

func (c *compiler) builtinMask() *Rule {
	r := &Rule{
		Pos: "mask dotfiles", Layer: LayerPreset, Verb: "files.masks", Text: "dotfiles", Access: maskBits,
		Reason: "names that begin with a dot are masked: they often hold secrets",
		Hint:   "a rule that names the file lifts the mask; files.masks.except lists names that are never masked",
	}
	c.p.rules = append(c.p.rules, r)
	return r
}

// mask gives the accesses that the dotfile mask takes from a request, and whether the object
// is to seem absent. It goes by the names on the way to the object as it is asked for, so it
// holds at any depth and for files made later, and nothing is searched for beforehand.
//
// Not masked: what a rule of a file or flag names up to the masked name or beyond, the folders
// that programs run from (@runtime), the temp folders, what the tree itself made in this run,
// and a new name beneath folders that are not masked. In the work folder masked names can be
// looked at, anywhere else they seem absent.
func (p *Policy) mask(q *question) (taken decode.Access, absent bool) {
	f := &q.r.File
	if p.maskRule == nil || f.Path == "" || f.Made || f.Nameless || f.Owner != OwnerNone {
		return 0, false
	}
	if !strings.Contains(f.Path, "/.") {
		return 0, false
	}
	switch {
	case !p.shows(q):
		return 0, false // it is not there in any case
	case q.need&^(decode.Look|decode.List) == 0 && q.at != nil && q.at.visible != nil:
		return 0, false // the way to something that a rule names
	}
	for _, root := range p.unmasked {
		if contains(root, f.Path) {
			return 0, false
		}
	}
	base, inWork := 0, false
	if contains(p.machine.Work, f.Path) {
		base, inWork = len(p.machine.Work), true
	}
	for _, e := range p.maskLifters {
		switch {
		case !e.matches(f.Path):
		case e.shape == shapeGlob && e.namesDot():
			return 0, false
		case len(e.root) > base:
			base = len(e.root)
		}
	}
	rest := strings.TrimLeft(f.Path[min(base, len(f.Path)):], "/")
	for rest != "" {
		var name string
		name, rest = cutComponent(rest)
		if name == "" || name[0] != '.' || matchesAny(p.except, name) {
			continue
		}
		if rest == "" && !f.Exists {
			q.fresh = q.need&decode.Read != 0
			return 0, false // a new name: it holds nothing that the tree has not put there
		}
		if inWork {
			return q.need & maskBits, false
		}
		return q.need, true
	}
	return 0, false
}

// namesDot tells whether the glob has a component that names dotfiles.
func (e *entry) namesDot() bool {
	for _, s := range e.segs {
		if strings.HasPrefix(s, ".") {
			return true
		}
	}
	return false
}
