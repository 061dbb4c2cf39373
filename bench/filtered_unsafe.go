// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filteredName is the hidden first argument that makes a ptguard binary the variant
// "filter".
const filteredName = "__filtered"

// filteredMain is "FILE CMD…": it runs CMD under the seccomp program in FILE with each of its
// TRACE answers turned into ALLOW, so that what a run's filter costs by itself can be seen.
//
// The answer is ALLOW with data 1: the same to the program, but the kernel's cache of calls
// that are always allowed takes plain ALLOW only (seccomp_is_const_allow), and what is TRACE in
// the original is not in that cache either.
func filteredMain(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want FILE CMD…")
	}
	filter, err := readFilter(args[0])
	if err != nil {
		return err
	}
	for i := range filter {
		if filter[i].Code == unix.BPF_RET|unix.BPF_K && filter[i].K == unix.SECCOMP_RET_TRACE {
			filter[i].K = unix.SECCOMP_RET_ALLOW | 1
		}
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter is this thread's, and the exec keeps it
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("load the filter: %w", errno)
	}
	return syscall.Exec(path, args[1:], os.Environ())
}

// readFilter reads a program of struct sock_filter in the machine's own byte order, as
// "ptguard filter" writes it.
func readFilter(name string) ([]unix.SockFilter, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%8 != 0 {
		return nil, fmt.Errorf("%s is no seccomp program", name)
	}
	filter := make([]unix.SockFilter, len(data)/8)
	for i := range filter {
		b := data[i*8:]
		filter[i] = unix.SockFilter{Code: binary.NativeEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.NativeEndian.Uint32(b[4:])}
	}
	return filter, nil
}
