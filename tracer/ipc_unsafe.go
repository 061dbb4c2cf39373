// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// getIPC looks up a key without making anything; no right is asked for with no mode.
func getIPC(kind decode.IPC, key int32) (id int32, errno syscall.Errno) {
	var r uintptr
	switch kind {
	case decode.SharedMemory:
		r, _, errno = syscall.Syscall(unix.SYS_SHMGET, uintptr(key), 0, 0)
	case decode.Semaphores:
		r, _, errno = syscall.Syscall(unix.SYS_SEMGET, uintptr(key), 0, 0)
	case decode.MessageQueue:
		r, _, errno = syscall.Syscall(unix.SYS_MSGGET, uintptr(key), 0, 0)
	case decode.NoIPC:
		errno = unix.EINVAL
	}
	return int32(r), errno
}

// statIPC reads what the kernel tells of an object; creator is that of a segment.
func statIPC(o ipcObject) (mode uint32, creator int32, errno syscall.Errno) {
	// struct shmid64_ds, semid64_ds and msqid64_ds begin with struct ipc64_perm, which is
	// 48 bytes with the mode at 20; 64-bit shmid64_ds has shm_cpid at 80.
	const sizeOfAny, modeAt, creatorAt = 256, 20, 80
	var raw [sizeOfAny / 8]uint64
	at := unsafe.Pointer(&raw[0])
	switch o.kind {
	case decode.SharedMemory:
		_, _, errno = syscall.Syscall(unix.SYS_SHMCTL, uintptr(o.id), unix.IPC_STAT, uintptr(at))
	case decode.Semaphores:
		_, _, errno = syscall.Syscall6(unix.SYS_SEMCTL, uintptr(o.id), 0, unix.IPC_STAT, uintptr(at), 0, 0)
	case decode.MessageQueue:
		_, _, errno = syscall.Syscall(unix.SYS_MSGCTL, uintptr(o.id), unix.IPC_STAT, uintptr(at))
	case decode.NoIPC:
		errno = unix.EINVAL
	}
	return *(*uint32)(unsafe.Add(at, modeAt)), *(*int32)(unsafe.Add(at, creatorAt)), errno
}
