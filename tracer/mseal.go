// SPDX-License-Identifier: Apache-2.0

//go:build !ptguard_nomseal

package tracer

// withoutMseal is false in the product: see nomseal.go.
const withoutMseal = false
