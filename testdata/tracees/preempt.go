// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// A Go program that its runtime preempts all the time (SIGURG, also within calls that open), while
// the collector runs: goroutines in tight loops open, read and make files.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

func main() {
	runtime.GOMAXPROCS(4)
	debug.SetGCPercent(5)
	var wg sync.WaitGroup
	var over atomic.Bool
	var good, bad atomic.Int64
	if err := os.WriteFile("file", []byte("content"), 0o644); err != nil {
		fmt.Println(err)
	}
	go func() {
		for !over.Load() {
			runtime.GC() // stops the world by signals
		}
	}()
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("g%d", i)
			for n := range 60 {
				x := 0
				for k := range 200_000 { // no call in it, so only a signal can preempt
					x += k * n
				}
				data, err := os.ReadFile("file")
				if err == nil {
					err = os.WriteFile(name, append(data, byte(x)), 0o600)
				}
				if st, e := os.Stat(name); err != nil || e != nil || st.Size() != 8 || string(data) != "content" {
					fmt.Println(err, e)
					bad.Add(1)
					continue
				}
				good.Add(1)
			}
		})
	}
	wg.Wait()
	over.Store(true)
	fmt.Println(good.Load(), bad.Load())
}
