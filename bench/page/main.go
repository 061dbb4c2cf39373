// SPDX-License-Identifier: Apache-2.0

// Command page writes docs/performance.md from the newest of bench/results; go generate
// runs it.
package main

import (
	"fmt"
	"os"

	"ptguard/bench"
)

func main() {
	if _, err := bench.Page("results", "../docs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
