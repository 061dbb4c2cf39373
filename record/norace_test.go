// SPDX-License-Identifier: Apache-2.0

//go:build !race

package record

const million = 1_000_000
