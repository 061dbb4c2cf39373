// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"runtime"
	"sync"
	"testing"
)

// TestGrow: stacks are larger by what was asked for, those of goroutines that did not ask are
// not.
func TestGrow(t *testing.T) {
	const many = 100
	stacks := func(f func()) uint64 {
		var before, after runtime.MemStats
		var there, end sync.WaitGroup
		hold := make(chan struct{})
		runtime.GC() // no stacks are kept for later
		runtime.ReadMemStats(&before)
		for range many {
			there.Add(1)
			end.Go(func() {
				f()
				there.Done()
				<-hold
			})
		}
		there.Wait()
		runtime.ReadMemStats(&after)
		close(hold)
		end.Wait()
		return after.StackInuse - before.StackInuse
	}
	if n := stacks(func() {}); n >= many*Large {
		t.Fatalf("%d bytes of stacks without growing: this measures nothing", n)
	}
	if n := stacks(Grow); n < many*Large {
		t.Errorf("%d bytes of stacks, want %d at least", n, many*Large)
	}
}
