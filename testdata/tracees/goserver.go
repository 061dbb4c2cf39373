// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// A static Go program: goroutines on many threads, files, a loopback server, children.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

func main() {
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			runtime.LockOSThread()
			name := fmt.Sprintf("g%02d", i)
			if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
				fmt.Println(err)
			}
			if err := os.Rename(name, name+".done"); err != nil {
				fmt.Println(err)
			}
		})
	}
	wg.Wait()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			fmt.Fprint(c, "over loopback")
			c.Close()
		}
	}()
	c, err := l.Accept()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	text, _ := io.ReadAll(c)
	out, err := exec.Command("/bin/echo", "child").CombinedOutput()
	entries, _ := os.ReadDir(".")
	fmt.Printf("%s; %s%v; %d files\n", text, out, err, len(entries))
	os.Exit(3)
}
