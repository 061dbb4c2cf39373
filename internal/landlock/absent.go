// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_nolandlock

package landlock

// absent: this binary behaves as on a kernel without Landlock, for the tests of what has to
// hold without it. Never a switch of the product.
const absent = true
