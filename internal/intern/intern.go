// SPDX-License-Identifier: Apache-2.0

// Package intern keeps the last strings that were made from bytes, so that the same path
// again and again costs no allocation.
package intern

import "hash/maphash"

// slots is how many strings are kept: with the longest path each, a megabyte.
const slots = 256

// Strings keeps up to one string per hash. The zero value is ready. It is for one goroutine.
type Strings struct {
	kept [slots]string
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
	at := &s.kept[maphash.Bytes(s.seed, b)%slots]
	if *at != string(b) {
		*at = string(b)
	}
	return *at
}
