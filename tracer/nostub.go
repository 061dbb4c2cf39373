// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_nostub

package tracer

// withoutStub: this binary ends each reissued call at its exit stop, as on an architecture
// where code after a call cannot put all registers back. For tests; never a switch of the
// product.
const withoutStub = true
