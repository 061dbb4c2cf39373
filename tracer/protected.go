// SPDX-License-Identifier: Apache-2.0

//go:build !ptguard_plain

package tracer

// plain is false in the product: see plain.go.
const plain = false

const plainWarning = ""
