// SPDX-License-Identifier: Apache-2.0

package main

import "ptguard/rules"

// scopeDigests names the scopes of a run with the digest of each policy.
func scopeDigests(s *rules.Scopes) []string {
	var out []string
	for _, name := range s.Names() {
		out = append(out, name+" "+s.Named(name).Policy.Digest())
	}
	return out
}
