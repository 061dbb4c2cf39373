// SPDX-License-Identifier: Apache-2.0

//go:build race

package record

// million is smaller under the race detector, which makes everything ten times slower.
const million = 100_000
