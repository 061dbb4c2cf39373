// SPDX-License-Identifier: Apache-2.0

//go:build !ptguard_nolandlock

package landlock

// absent is false in the product: see absent.go.
const absent = false
