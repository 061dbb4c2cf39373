// SPDX-License-Identifier: Apache-2.0

// Package intern keeps the last strings that were made from bytes, so that the same path
// again and again costs no allocation.
package intern

import "hash/maphash"

// Up to ways strings of each of sets hashes are kept: with the longest path each, a megabyte. With
// one of each, two of the dozen names that a program uses all the time met in every tenth run.
const (
	sets = 64
	ways = 4
)

// Strings keeps the strings that were asked for last. The zero value is ready. It is for one
// goroutine.
type Strings struct {
	kept [sets][ways]string
	seed maphash.Seed
	used bool
}

// Of gives b as a string.
func (s *Strings) Of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if !s.used {
		s.seed, s.used = maphash.MakeSeed(), true
	}
	set := &s.kept[maphash.Bytes(s.seed, b)%sets]
	for i, kept := range set {
		if kept == string(b) {
			copy(set[1:i+1], set[:i])
			set[0] = kept
			return kept
		}
	}
	copy(set[1:], set[:])
	set[0] = string(b)
	return set[0]
}
