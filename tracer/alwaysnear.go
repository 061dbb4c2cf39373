// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_near

package tracer

// alwaysNear: this binary keeps a serial tree on its CPU even where that gains nothing, so
// that what a busy machine would hide is seen. For tests; never a switch of the product.
const alwaysNear = true
