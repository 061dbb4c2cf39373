// SPDX-License-Identifier: Apache-2.0

// Package stack makes the stack of a goroutine large before it is deep. Go doubles it whenever
// it is too small, copies it each time, and looks up for every frame on it where its pointers
// are: that reads a table of the program in some forty places, each of them a page fault.
package stack

// Large is enough for what a start does.
const Large = 24 << 10

var never bool

// The first goroutine initialises packages and then is the one of main. This package imports
// nothing, so it is one of the first.
func init() { Grow() }

// Grow has the calling goroutine's stack grow by Large, in one step. Where it is called there
// should be few frames.
//
//go:noinline
func Grow() {
	if never {
		var room [Large]byte
		use(&room)
	}
}

//go:noinline
func use(room *[Large]byte) { never = room[0] == room[Large-1] }
