// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/rules"
)

// System V IPC: objects of the whole machine, under keys and numbers that everybody may try.
// In mode strict the tree uses only those that it made: what a get call made is noted when
// it returns, and every use is by a number that can be looked up. Numbers are in registers.

// ipcObject is one segment, set or queue.
type ipcObject struct {
	kind decode.IPC
	id   int32
}

// madeIPC is what is known of an object of the tree's own.
type madeIPC struct {
	creator int32 // pid
	removed bool  // a segment that is still attached somewhere keeps its number
}

// examineIPC finds out whose object a key or number means.
func (l *loop) examineIPC(j *judgement) syscall.Errno {
	o, f := j.object, &j.request.File
	kind := l.call.Row.IPC
	f.Exists = true
	if o.Kind == decode.IPCID {
		f.Path = kind.String() + " " + strconv.Itoa(int(o.PID))
		return l.ownIPC(f, ipcObject{kind, o.PID})
	}
	f.Path = kind.String() + " with key " + strconv.Itoa(int(o.PID))
	const private, create, exclusive = 0, unix.IPC_CREAT, unix.IPC_EXCL
	flags := l.getFlags()
	if o.PID == private || flags&(create|exclusive) == create|exclusive {
		f.Owner = rules.OwnerTree // it is made, or the call fails
		return 0
	}
	id, errno := getIPC(kind, o.PID)
	switch {
	case errno == unix.ENOENT && flags&create == 0:
		return errno
	case errno == unix.ENOENT:
		f.Owner = rules.OwnerTree
		return 0
	case errno != 0:
		f.Owner = rules.OwnerOutsider
		return 0
	}
	return l.ownIPC(f, ipcObject{kind, id})
}

// getFlags is the last argument of shmget(2), semget(2) and msgget(2).
func (l *loop) getFlags() uint32 { return uint32(l.call.Args[l.flagsAt()]) }

func (l *loop) flagsAt() int {
	if l.call.Row.IPC == decode.MessageQueue {
		return 1
	}
	return 2
}

// ownIPC says whether an object is the tree's; errno if there is none.
func (l *loop) ownIPC(f *rules.File, o ipcObject) syscall.Errno {
	mode, creator, errno := statIPC(o)
	if errno == unix.EINVAL || errno == unix.EIDRM {
		return errno
	}
	made, own := l.ipc[o]
	if own && made.removed {
		// The number may have been given anew; a segment that only waits for its last
		// user has this bit.
		const dest = 0o1000 // SHM_DEST of linux/shm.h
		own = errno == 0 && mode&dest != 0 && creator == made.creator
	}
	if f.Owner = rules.OwnerOutsider; own {
		f.Owner = rules.OwnerTree
	}
	return 0
}

// carryIPC lets a call on an own object run, and notes what it makes or removes.
func (l *loop) carryIPC(s stopped) {
	row, number, args := l.call.Row, l.number, l.call.Args
	kind := row.IPC
	switch row.Name {
	case "shmget", "semget", "msgget":
	case "shmctl", "semctl", "msgctl":
		if command := row.IPCCommand; uint32(args[command]) != unix.IPC_RMID {
			s.resume(0)
			return
		}
		o := ipcObject{kind, int32(args[0])}
		l.atResult(s, func(s stopped, result int64) bool {
			if result == 0 && kind == decode.SharedMemory {
				l.ipc[o] = madeIPC{l.ipc[o].creator, true}
			} else if result == 0 {
				delete(l.ipc, o)
			}
			return true
		})
		return
	default:
		s.resume(0)
		return
	}
	flags, at := l.getFlags(), l.flagsAt()
	private := int32(args[0]) == 0
	if !private && flags&unix.IPC_CREAT == 0 {
		s.resume(0)
		return
	}
	var r registers
	asked := call{number, args}
	added := !private && flags&unix.IPC_EXCL == 0
	if added {
		// It was not there, or is ours. Only with IPC_EXCL the kernel says that it made one.
		if _, errno := getIPC(kind, int32(args[0])); errno == 0 {
			s.resume(0)
			return
		}
		if err := getRegisters(s.tid, &r); err != nil {
			s.lost(err, "read registers of")
			return
		}
		exclusive := asked
		exclusive.args[at] |= unix.IPC_EXCL
		setPending(&r, &exclusive)
		if err := setRegisters(s.tid, &r); err != nil {
			s.lost(err, "set registers of")
			return
		}
	}
	creator := int32(s.proc.pid)
	l.atResult(s, func(s stopped, result int64) bool {
		if result >= 0 {
			l.ipc[ipcObject{kind, int32(result)}] = madeIPC{creator: creator}
		}
		if !added {
			return true
		}
		if err := getRegisters(s.tid, &r); err != nil {
			s.lost(err, "read registers of")
			return false
		}
		if result == -int64(unix.EEXIST) {
			setAgain(&r, &asked) // somebody was faster: decided anew
		} else {
			restoreCall(&r, &asked, result)
		}
		if err := setRegisters(s.tid, &r); err != nil {
			s.lost(err, "restore registers of")
			return false
		}
		return true
	})
}

// atResult lets a call run and hands its result on; false: the task is not to be resumed.
func (l *loop) atResult(s stopped, then func(s stopped, result int64) bool) {
	s.task.atExit = func(s stopped) {
		result, err := callResult(s.tid)
		if err != nil {
			s.lost(err, "read the result of a call of")
			return
		}
		if then(s, result) {
			s.resume(0)
		}
	}
	s.request(unix.PTRACE_SYSCALL, 0)
}
