// SPDX-License-Identifier: Apache-2.0

package record

import "slices"

// Firsts completes the folded records of a trace that is read from its start: the Sink leaves
// out of them what may differ from one repetition to the next, and what a rule may have gone
// by. The first refusal of the kind has it. The zero value is ready.
type Firsts struct {
	byKey map[string]first
	key   []byte
}

type first struct{ argv, flags, names []string }

// Meet takes the next record. One that stands for repetitions gets the arguments, flags and
// names of the refusal that they repeat; it stays as it is where that is not in the trace, as
// in one that was rotated away: then it has no Argv.
func (f *Firsts) Meet(r *Record) {
	if !r.Kind.Refusal() {
		return
	}
	f.key = appendFoldKey(append(append(f.key[:0], r.Run...), 0), r)
	if r.Count > 0 {
		if of, ok := f.byKey[string(f.key)]; ok {
			r.Argv, r.Flags, r.Names = slices.Clone(of.argv), slices.Clone(of.flags), slices.Clone(of.names)
		}
		return
	}
	if f.byKey == nil {
		f.byKey = map[string]first{}
	}
	f.byKey[string(f.key)] = first{slices.Clone(r.Argv), slices.Clone(r.Flags), slices.Clone(r.Names)}
}
