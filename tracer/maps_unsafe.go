// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// procmapQuery is struct procmap_query of linux/fs.h (Linux 6.11).
type procmapQuery struct {
	size, flags, addr     uint64
	start, end, vmaFlags  uint64
	pageSize, offset, ino uint64
	major, minor          uint32
	nameSize, buildIDSize uint32
	nameAt, buildIDAt     uint64
}

// mappingAt finds the mapping that an address lies in: start, end, dev and ino of it. The error
// is ENOENT if there is none.
func mappingAt(tid int, addr uint64) (mapping, error) {
	fd, err := unix.Open(procPath(tid, "maps"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return mapping{}, err
	}
	defer unix.Close(fd)
	const procmapQueryNumber = 0xc0686611 // PROCMAP_QUERY
	q := procmapQuery{size: uint64(unsafe.Sizeof(procmapQuery{})), addr: addr}
	_, _, errno := syscall.Syscall(unix.SYS_IOCTL, uintptr(fd), procmapQueryNumber, uintptr(unsafe.Pointer(&q)))
	if errno == unix.ENOTTY { // before Linux 6.11
		return mappingByText(tid, addr)
	}
	if errno != 0 {
		return mapping{}, errno
	}
	return mapping{start: q.start, end: q.end, dev: unix.Mkdev(q.major, q.minor), ino: q.ino}, nil
}

func mappingByText(tid int, addr uint64) (mapping, error) {
	maps, err := readMaps(tid)
	if err != nil {
		return mapping{}, err
	}
	for _, m := range maps {
		if addr >= m.start && addr < m.end {
			return m, nil
		}
	}
	return mapping{}, unix.ENOENT
}
