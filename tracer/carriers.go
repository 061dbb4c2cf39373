// SPDX-License-Identifier: Apache-2.0

package tracer

import "ptguard/decode"

// carry says how each allowed call is carried out so that nothing the tree does meanwhile
// can change what was decided. Calls that are not here run on as they are: their arguments
// are numbers in registers (signals, limits), or the exec event looks at what came of them.
var carry = map[string]func(*loop, stopped){
	"open": (*loop).carryOpen, "openat": (*loop).carryOpen, "openat2": (*loop).carryOpen, "creat": (*loop).carryOpen,

	"unlink": by(performUnlink), "unlinkat": by(performUnlinkat), "rmdir": by(performRmdir),
	"mkdir": by(performMkdir), "mkdirat": by(performMkdir), "mknod": by(performMknod), "mknodat": by(performMknod),
	"symlink": by(performSymlink), "symlinkat": by(performSymlink),
	"rename": by(performRename), "renameat": by(performRename), "renameat2": by(performRename),
	"link": by(performLink), "linkat": by(performLink),
	"truncate": by(performTruncate),
	"chmod":    attribute(performChmod), "fchmod": attribute(performChmod), "fchmodat": attribute(performChmod), "fchmodat2": attribute(performChmod),
	"chown": attribute(performChown), "lchown": attribute(performChown), "fchown": attribute(performChown), "fchownat": attribute(performChown),
	"utime": attribute(performUtime), "utimes": attribute(performUtime), "futimesat": attribute(performUtime), "utimensat": attribute(performUtime),
	"setxattr": attribute(performSetxattr), "lsetxattr": attribute(performSetxattr), "fsetxattr": attribute(performSetxattr),
	"removexattr": attribute(performRemovexattr), "lremovexattr": attribute(performRemovexattr), "fremovexattr": attribute(performRemovexattr),

	"stat": (*loop).carryLook, "lstat": (*loop).carryLook, "newfstatat": (*loop).carryLook, "fstatat": (*loop).carryLook,
	"statx": (*loop).carryLook, "access": (*loop).carryLook, "faccessat": (*loop).carryLook, "faccessat2": (*loop).carryLook,
	"readlink": (*loop).carryLook, "readlinkat": (*loop).carryLook, "chdir": (*loop).carryLook, "statfs": (*loop).carryLook,
	"listxattr": (*loop).carryLook, "llistxattr": (*loop).carryLook, "listxattrat": (*loop).carryLook,
	"getxattr": (*loop).carryLook, "lgetxattr": (*loop).carryLook, "getxattrat": (*loop).carryLook,
	"name_to_handle_at": (*loop).carryLook, "inotify_add_watch": (*loop).carryLook, "file_getattr": (*loop).carryLook,

	"ioctl":    attribute(performIoctl),
	"mmap":     (*loop).carryMap,
	"adjtimex": (*loop).carryTimex, "clock_adjtime": (*loop).carryTimex,

	"setxattrat": attribute(performSetxattrat), "removexattrat": attribute(performRemovexattrat), "file_setattr": attribute(performSetattr),

	"fcntl": (*loop).carryOwner, "pidfd_getfd": (*loop).carryGetFD,

	"shmget": (*loop).carryIPC, "semget": (*loop).carryIPC, "msgget": (*loop).carryIPC,
	"shmctl": (*loop).carryIPC, "semctl": (*loop).carryIPC, "msgctl": (*loop).carryIPC,
	"getrlimit": (*loop).carryCore, "setrlimit": (*loop).carryCore, "prlimit64": (*loop).carryCore,
	"setpriority": (*loop).carryPriority, "ioprio_set": (*loop).carryPriority,
	"copy_file_range": (*loop).carryCopy, "sendfile": (*loop).carryCopy, "splice": (*loop).carryCopy,

	"listen": (*loop).carryListen, "connect": (*loop).carryAddress, "bind": (*loop).carryAddress, "sendto": (*loop).carryAddress,
	"sendmsg": (*loop).carryMessage, "sendmmsg": (*loop).carryMessage,
}

func by(act performer) func(*loop, stopped) {
	return func(l *loop, s stopped) { l.perform(s, act, true) }
}

// attribute is by for what Landlock has no right for: a task's own sandbox says nothing.
func attribute(act performer) func(*loop, stopped) {
	return func(l *loop, s stopped) { l.perform(s, act, false) }
}

// newCarriers binds the table to rows, so that a stop needs no look-up by name.
func newCarriers() map[*decode.Row]func(*loop, stopped) {
	out := map[*decode.Row]func(*loop, stopped){}
	if plain {
		return out
	}
	for i := range decode.Rows {
		row := &decode.Rows[i]
		if row.Name == "ioctl" && (len(row.Args) == 0 || row.Args[0].Kind != decode.FD) {
			if row.Need == decode.NeedCopies && row.Const == nil { // FICLONE
				out[row] = (*loop).carryCopy
			} else if row.Const == nil { // FIOSETOWN, SIOCSPGRP: about a process, not about an inode
				out[row] = (*loop).carryOwner
			}
			continue
		}
		if f := carry[row.Name]; f != nil && row.Const == nil && row.Special == decode.NotSpecial {
			out[row] = f
		}
	}
	return out
}

func (l *loop) carryOpen(s stopped) { l.reissueOpen(s, &l.judged[0]) }
