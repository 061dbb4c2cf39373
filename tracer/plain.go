// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_plain

package tracer

// plain: this binary checks and then lets calls continue with whatever their arguments have
// become. It exists to show that a racer wins against that, and so proves something when it
// loses against the real one. Never a switch of the product.
const plain = true

// plainWarning is in a binary of this kind and in no other; a test looks for it.
const plainWarning = "ptguard check-then-continue build: not for use"
