// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"

	"ptguard/decode"
	"ptguard/seals"
)

// Seals are the seals of the run, nil if there are none. They are not of the policy: every
// policy of a run has the same.
func (p *Policy) Seals() *seals.Set { return p.machine.Seals }

// The letters an act raises, in the order they are asked (docs/manual.md, Seals).
var (
	letterR         = []seals.Letters{seals.R}
	letterW         = []seals.Letters{seals.W}
	letterM         = []seals.Letters{seals.M}
	letterC         = []seals.Letters{seals.C}
	lettersRW       = []seals.Letters{seals.R, seals.W}
	lettersExchange = []seals.Letters{seals.M, seals.W}
	// A second name gives all that the first one does, so a link is more than a copy.
	lettersLink = []seals.Letters{seals.C, seals.R, seals.W}
)

// readLetter and writeLetter are the accesses behind R and W.
const (
	readLetter  = decode.List | decode.Read | decode.Exec | decode.Map
	writeLetter = decode.Change | decode.Connect | decode.Bind
)

// letters gives the letters that a request raises on its object. What only looks raises
// none.
func letters(r *Request) []seals.Letters {
	switch r.Act {
	case ActRenameSource:
		return letterM
	case ActExchange:
		return lettersExchange
	case ActLinkSource:
		return lettersLink
	}
	read, write := r.Access&readLetter != 0, r.Access&writeLetter != 0
	switch {
	case r.Access&decode.Copy != 0:
		return letterC
	case read && write:
		return lettersRW
	case read:
		return letterR
	case write:
		return letterW
	}
	return nil
}

// sealed is step 2: the seal that refuses, as a rule, nil if none does. No mode, scope,
// rule or grant is asked before, so none can open what is sealed.
func (p *Policy) sealed(r *Request) *Rule {
	set := p.machine.Seals
	if set == nil {
		return nil
	}
	o := SealObject(&r.File)
	if seal, letter := set.Find(&o, letters(r)); seal != nil {
		return sealRule(seal, letter, "")
	}
	if t := r.File.Mode & typeMask; (r.Act == ActRenameSource || r.Act == ActExchange) && t == typeDir {
		if seal := set.Carried(r.File.Path, r.To); seal != nil {
			return sealRule(seal, seal.Letters, "it lies beneath this directory and would be dodged by renaming it; ")
		}
	}
	switch r.Act {
	case ActSymlink, ActRenameTarget, ActExchange:
		if seal := set.OnTheWay(r.File.Path); seal != nil {
			return sealRule(seal, seal.Letters, "it lies beneath this name, which another object cannot take; ")
		}
	}
	return nil
}

// SealObject is what seals look at of a file.
func SealObject(f *File) seals.Object {
	return seals.Object{
		Path: f.Path, Spellings: f.Spellings, Exists: f.Exists,
		Inode: seals.Inode(f.Inode), Born: f.Born, Above: f.Above, Unseen: f.Unseen,
	}
}

// sealRule words a seal as the rule of a refusal.
func sealRule(s *seals.Seal, letter seals.Letters, why string) *Rule {
	r := &Rule{
		Pos: "seal " + s.Pos, Layer: LayerSeal, Verb: "seal", Text: s.Path, Paths: s.Places, fix: "-",
		Reason: fmt.Sprintf("sealed by %s (%s): %s%s", s.Owner, letter, why, s.Reason),
		Hint:   s.Hint,
	}
	if r.Hint == "" {
		r.Hint = "no mode, rule or grant opens a seal; ask " + s.Owner
	}
	return r
}

// ruleCopy allows what only seals can refuse.
var ruleCopy = &Rule{Pos: "builtin copy", Layer: LayerBuiltin, Verb: "allow", Text: "own descriptors", Reason: "the tree holds it open, and no seal forbids to copy it", Access: decode.Copy}
