// SPDX-License-Identifier: Apache-2.0

//go:build !ptguard_near

package tracer

// alwaysNear is false in the product: see alwaysnear.go.
const alwaysNear = false
