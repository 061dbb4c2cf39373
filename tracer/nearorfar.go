// SPDX-License-Identifier: Apache-2.0

//go:build !ptguard_far

package tracer

// neverNear is false in the product: see nevernear.go.
const neverNear = false
