// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is a flag's number of bytes: 65536, 64K, 10M, 1GiB. A unit is a power of 1024.
type byteSize int64

// UnmarshalText is called by kong.
func (b *byteSize) UnmarshalText(text []byte) error {
	word := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(string(text)), "B"), "I")
	shift := 0
	if at := strings.IndexAny(word, "KMGT"); at >= 0 && at == len(word)-1 {
		shift = 10 * (1 + strings.IndexByte("KMGT", word[at]))
		word = word[:at]
	}
	n, err := strconv.ParseUint(word, 10, 63)
	if err != nil || n == 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is no size (such as 65536, 64K, 10M or 1G)", text)
	}
	*b = byteSize(n << shift)
	return nil
}
