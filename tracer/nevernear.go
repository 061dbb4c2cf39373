// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_far

package tracer

// neverNear: this binary leaves each task on the CPU that it is on, to measure what near.go
// gains or costs. For the benchmark; never a switch of the product.
const neverNear = true
