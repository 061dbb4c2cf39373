// SPDX-License-Identifier: Apache-2.0

//go:build !ptguard_nostub

package tracer

// withoutStub is false in the product: see nostub.go.
const withoutStub = false
