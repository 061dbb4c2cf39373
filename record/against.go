// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"strings"
)

// Known are the kinds of refusal of another trace, to tell what is new.
type Known struct {
	kinds map[string]uint64 // what was refused -> how often
	met   map[string]bool   // of these, what was met again
}

// NewKnown returns an empty set. It grows with the kinds of refusal, not with the records.
func NewKnown() *Known { return &Known{kinds: make(map[string]uint64), met: make(map[string]bool)} }

// Add takes a record of the other trace.
func (k *Known) Add(r *Record) {
	if r.Kind.Refusal() {
		k.kinds[kindOfRefusal(r)] += max(r.Count, 1)
	}
}

// New tells whether r is a refusal of a kind that the other trace does not have.
func (k *Known) New(r *Record) bool {
	if !r.Kind.Refusal() {
		return false
	}
	kind := kindOfRefusal(r)
	_, known := k.kinds[kind]
	if known {
		k.met[kind] = true
	}
	return !known
}

// kindOfRefusal words what people take for the same refusal in two runs: process numbers
// and the reason do not count, nor does the rule, whose line may have moved.
func kindOfRefusal(r *Record) string {
	return strings.Join([]string{
		cmp.Or(strings.Join(r.Access, ","), "call"), cmp.Or(anyProcess(Object(r)), r.Syscall), "by", cmp.Or(r.Exe, r.Comm, "?"),
	}, " ")
}
