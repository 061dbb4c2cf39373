// SPDX-License-Identifier: Apache-2.0

package record

// Advise fills in the Agent field of a refusal: that it is policy and not a fault, so that
// trying again is of no use, and what to do instead. A program whose own acts are refused (an
// agent, a build tool) reads it as it is; it never says more than hint and fix do.
func (r *Record) Advise() {
	r.Agent = "policy, do not retry"
	switch {
	case r.Hint != "" && r.Fix != "":
		r.Agent += "; do this instead: " + r.Hint + ", or have it allowed with: " + r.Fix
	case r.Hint != "":
		r.Agent += "; do this instead: " + r.Hint
	case r.Fix != "":
		r.Agent += "; have it allowed with: " + r.Fix
	}
}
