// SPDX-License-Identifier: Apache-2.0

package tracer

import "ptguard/internal/resolve"

// deed is an act that we carry out for a task, ready to be done: a value, so that what
// programs do all the time costs no allocation.
type deed struct {
	kind   deedKind
	at, to *resolve.Object
	flags  uint32
	other  func() error
}

type deedKind uint8

// The kinds of deed.
const (
	deedOther  deedKind = iota
	deedUnlink          // unlinkat(2) of at, with flags
	deedMkdir           // mkdirat(2) of at, flags being the mode
	deedRename          // renameat2(2) of at to to, with flags
	deedChmod           // of what at pins, flags being the mode
)

func deedOf(f func() error) deed { return deed{other: f} }

// do does it, on whatever thread it is called on.
func (d *deed) do() error {
	switch d.kind {
	case deedUnlink:
		unpin(d.at)
		return unlinkat(d.at.Parent, entryName(d.at), d.flags)
	case deedMkdir:
		return mkdirat(d.at.Parent, entryName(d.at), d.flags)
	case deedRename:
		unpin(d.to)
		return renameat2(d.at.Parent, entryName(d.at), d.to.Parent, entryName(d.to), d.flags)
	case deedChmod:
		return chmodPinned(d.at.FD, d.flags)
	case deedOther:
	}
	return d.other()
}
