// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_credulous

package tracer

// credulous: this binary takes every refusal by a rule for an allow, as if the resolver or the
// decision had a hole. It exists to show that what ptguard does for the tree is held by the
// backstop even then. Never a switch of the product.
const credulous = true
