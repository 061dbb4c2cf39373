// SPDX-License-Identifier: Apache-2.0

//go:build !ptguard_credulous

package tracer

// credulous is false in the product: see credulous.go.
const credulous = false
