// SPDX-License-Identifier: Apache-2.0

package inherit

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// zeroStart and zeroEnd bound the program's zero-initialised data without pointers: what
// the linker calls noptrbss, where the runtime's table of signal handlers lies.
func zeroStart() unsafe.Pointer
func zeroEnd() unsafe.Pointer

// zeroData is that data, in words.
func zeroData() []uint64 {
	start, end := zeroStart(), zeroEnd()
	skip := -uintptr(start) & 7
	return unsafe.Slice((*uint64)(unsafe.Add(start, skip)), (uintptr(end)-uintptr(start)-skip)/8)
}

// load reads a word that other threads may write.
func load(data []uint64, i int) uint64 { return atomic.LoadUint64(&data[i]) }

// pages tells which pages of memory are there, by number from the first one of data.
type pages struct {
	words int // in a page
	skip  int // words of the first page before data
	there []byte
}

// residentPages asks mincore(2).
func residentPages(data []uint64) (pages, error) {
	size := uintptr(os.Getpagesize())
	start := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	skip := start & (size - 1)
	p := pages{words: int(size / 8), skip: int(skip / 8)}
	p.there = make([]byte, (skip+uintptr(len(data))*8+size-1)/size)
	_, _, errno := syscall.RawSyscall(unix.SYS_MINCORE, start-skip, uintptr(len(p.there))*size, uintptr(unsafe.Pointer(unsafe.SliceData(p.there))))
	if errno != 0 {
		return p, os.NewSyscallError("mincore", errno)
	}
	return p, nil
}

// each calls do with the bounds of each part of data that lies in one page, if the page is
// there, or all.
func (p *pages) each(data []uint64, all bool, do func(from, to int)) {
	for n, there := range p.there {
		if all || there&1 != 0 {
			do(max(0, n*p.words-p.skip), min(len(data), (n+1)*p.words-p.skip))
		}
	}
}
