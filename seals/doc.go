// SPDX-License-Identifier: Apache-2.0

// Package seals will hold the organisation's seals (POLICY.md section 7), which are
// asked ahead of every mode, scope and grant. It is empty until that issue; the place
// for it in the decision order is marked in rules.Policy.Decide.
package seals
