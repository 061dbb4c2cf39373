// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// The conditions of the rows in the words of the man pages. A row with a condition that
// has no words here fails a test.

// value is one constant that a condition compares with.
type value struct {
	bits uint32
	name string
}

// words names an argument and its constants.
type words struct {
	arg    string
	values []value
}

// argWords gives the words of an argument that a condition looks at, by call and index.
func argWords(call string, arg int) (words, bool) {
	w, ok := conditionWords()[fmt.Sprintf("%s/%d", call, arg)]
	return w, ok
}

var coreWords = []value{{unix.RLIMIT_CORE, "RLIMIT_CORE"}}

var conditionWords = sync.OnceValue(func() map[string]words {
	return map[string]words{
		"open/1":          {"flags", openWords},
		"openat/2":        {"flags", openWords},
		"mmap/2":          {"prot", protWords},
		"mmap/3":          {"flags", []value{{unix.MAP_ANONYMOUS, "MAP_ANONYMOUS"}}},
		"mprotect/2":      {"prot", protWords},
		"pkey_mprotect/2": {"prot", protWords},
		"access/1":        {"mode", modeWords},
		"faccessat/2":     {"mode", modeWords},
		"faccessat2/2":    {"mode", modeWords},
		"seccomp/0":       {"operation", []value{{unix.SECCOMP_SET_MODE_STRICT, "SECCOMP_SET_MODE_STRICT"}, {unix.SECCOMP_SET_MODE_FILTER, "SECCOMP_SET_MODE_FILTER"}}},
		"getrlimit/0":     {"resource", coreWords},
		"setrlimit/0":     {"resource", coreWords},
		"prlimit64/1":     {"resource", coreWords},
		"madvise/2":       {"advice", []value{{unix.MADV_DONTFORK, "MADV_DONTFORK"}, {unix.MADV_HWPOISON, "MADV_HWPOISON"}, {101, "MADV_SOFT_OFFLINE"}}},
		"shmctl/1":        {"op", []value{{unix.IPC_RMID, "IPC_RMID"}, {unix.IPC_SET, "IPC_SET"}, {11, "SHM_LOCK"}, {12, "SHM_UNLOCK"}}},
		"msgctl/1":        {"op", []value{{unix.IPC_RMID, "IPC_RMID"}, {unix.IPC_SET, "IPC_SET"}}},
		"semctl/2": {"op", []value{
			{unix.IPC_RMID, "IPC_RMID"}, {unix.IPC_SET, "IPC_SET"}, {11, "GETPID"}, {12, "GETVAL"}, {13, "GETALL"}, {14, "GETNCNT"}, {15, "GETZCNT"}, {16, "SETVAL"}, {17, "SETALL"},
		}},
		"ioctl/1": {"op", []value{
			{0x40086602, "FS_IOC_SETFLAGS"},
			{0x401c5820, "FS_IOC_FSSETXATTR"},
			{unix.TIOCSTI, "TIOCSTI"},
			{0x541c, "TIOCLINUX"},
			{unix.TIOCSETD, "TIOCSETD"},
			{unix.FIDEDUPERANGE, "FIDEDUPERANGE"},
			{unix.FICLONE, "FICLONE"},
			{unix.FICLONERANGE, "FICLONERANGE"},
			{0x8901, "FIOSETOWN"},
			{0x8902, "SIOCSPGRP"},
			{0xaa00, "USERFAULTFD_IOC_NEW"},
			{0x40087602, "FS_IOC_SETVERSION"},
			{0x40086604, "EXT4_IOC_SETVERSION"},
			{unix.FS_IOC_ENABLE_VERITY, "FS_IOC_ENABLE_VERITY"},
			{unix.FS_IOC_SET_ENCRYPTION_POLICY, "FS_IOC_SET_ENCRYPTION_POLICY"},
			{0x40047211, "FAT_IOCTL_SET_ATTRIBUTES"},
			{0xc0045877, "FIFREEZE"},
			{0xc0045878, "FITHAW"},
			{0xc0185879, "FITRIM"},
			{0x8004587d, "FS_IOC_SHUTDOWN"},
			{0x41009432, "FS_IOC_SETFSLABEL"},
			{0xc038586b, "XFS_IOC_OPEN_BY_HANDLE"},
			{0x4048587b, "XFS_IOC_ATTRMULTI_BY_HANDLE"},
			{0x4010586e, "XFS_IOC_FSGROWFSDATA"},
			{0x4008586f, "XFS_IOC_FSGROWFSLOG"},
			{0x40105870, "XFS_IOC_FSGROWFSRT"},
			{0x6611, "EXT4_IOC_SWAP_BOOT"},
			{0x40086610, "EXT4_IOC_RESIZE_FS"},
			{0x40086607, "EXT4_IOC_GROUP_EXTEND"},
			{0x40286608, "EXT4_IOC_GROUP_ADD"},
			{0x4008662c, "EXT4_IOC_SETFSUUID"},
			{0x5437, "TIOCVHANGUP"},
			{0x541d, "TIOCCONS"},
			{0x541f, "TIOCSSERIAL"},
			{0x4b47, "KDSKBENT"},
			{0x4b49, "KDSKBSENT"},
			{0x4b4b, "KDSKBDIACR"},
			{0x4bfb, "KDSKBDIACRUC"},
			{0x4b4d, "KDSETKEYCODE"},
			{0x50009401, "BTRFS_IOC_SNAP_CREATE"},
			{0x50009403, "BTRFS_IOC_RESIZE"},
			{0x5000940a, "BTRFS_IOC_ADD_DEV"},
			{0x5000940b, "BTRFS_IOC_RM_DEV"},
			{0x5000940e, "BTRFS_IOC_SUBVOL_CREATE"},
			{0x5000940f, "BTRFS_IOC_SNAP_DESTROY"},
			{0x40089413, "BTRFS_IOC_DEFAULT_SUBVOL"},
			{0x50009417, "BTRFS_IOC_SNAP_CREATE_V2"},
			{0x50009418, "BTRFS_IOC_SUBVOL_CREATE_V2"},
			{0x4008941a, "BTRFS_IOC_SUBVOL_SETFLAGS"},
			{0xc0c89425, "BTRFS_IOC_SET_RECEIVED_SUBVOL"},
			{0x5000943f, "BTRFS_IOC_SNAP_DESTROY_V2"},
			{0x890b, "SIOCADDRT"},
			{0x890c, "SIOCDELRT"},
			{0x8914, "SIOCSIFFLAGS"},
			{0x8916, "SIOCSIFADDR"},
			{0x8918, "SIOCSIFDSTADDR"},
			{0x891a, "SIOCSIFBRDADDR"},
			{0x891c, "SIOCSIFNETMASK"},
			{0x891e, "SIOCSIFMETRIC"},
			{0x8922, "SIOCSIFMTU"},
			{0x8923, "SIOCSIFNAME"},
			{0x8924, "SIOCSIFHWADDR"},
			{0x8936, "SIOCDIFADDR"},
			{0x8943, "SIOCSIFTXQLEN"},
			{0x8953, "SIOCDARP"},
			{0x8955, "SIOCSARP"},
			{0x5452, "FIOASYNC"},
		}},
		"fcntl/1": {"op", []value{{unix.F_SETOWN, "F_SETOWN"}, {unix.F_SETOWN_EX, "F_SETOWN_EX"}, {unix.F_SETSIG, "F_SETSIG"}, {unix.F_SETFL, "F_SETFL"}, {unix.F_SETLEASE, "F_SETLEASE"}, {unix.F_NOTIFY, "F_NOTIFY"}}},
		"fcntl/2": {"flags", []value{{unix.O_ASYNC, "O_ASYNC"}}},
		"socket/0": {"domain", []value{
			{unix.AF_UNIX, "AF_UNIX"}, {unix.AF_INET, "AF_INET"}, {unix.AF_INET6, "AF_INET6"}, {unix.AF_NETLINK, "AF_NETLINK"}, {unix.AF_PACKET, "AF_PACKET"},
		}},
		"socket/1":     {"type", []value{{unix.SOCK_RAW, "SOCK_RAW"}, {unix.SOCK_PACKET, "SOCK_PACKET"}}},
		"socket/2":     {"protocol", []value{{unix.NETLINK_ROUTE, "NETLINK_ROUTE"}}},
		"socketpair/0": {"domain", []value{{unix.AF_UNIX, "AF_UNIX"}}},
		"setsockopt/1": {"level", []value{
			{unix.SOL_SOCKET, "SOL_SOCKET"},
			{unix.IPPROTO_IP, "IPPROTO_IP"},
			{unix.IPPROTO_IPV6, "IPPROTO_IPV6"},
			{unix.IPPROTO_TCP, "IPPROTO_TCP"},
			{unix.IPPROTO_SCTP, "IPPROTO_SCTP"},
		}},
		"sendto/4":  {"dest_addr", nil},
		"clone/0":   {"flags", cloneWords},
		"unshare/0": {"flags", cloneWords},
		"prctl/0": {"op", []value{
			{unix.PR_SET_MM, "PR_SET_MM"},
			{unix.PR_SET_SECCOMP, "PR_SET_SECCOMP"},
			{unix.PR_CAPBSET_DROP, "PR_CAPBSET_DROP"},
			{unix.PR_SET_SECUREBITS, "PR_SET_SECUREBITS"},
			{unix.PR_SET_KEEPCAPS, "PR_SET_KEEPCAPS"},
			{unix.PR_CAP_AMBIENT, "PR_CAP_AMBIENT"},
			{unix.PR_SET_DUMPABLE, "PR_SET_DUMPABLE"},
			{unix.PR_GET_DUMPABLE, "PR_GET_DUMPABLE"},
			{unix.PR_SCHED_CORE, "PR_SCHED_CORE"},
		}},
		"prctl/2":         {"pid", callerWords},
		"prctl/1":         {"arg2", []value{{0, "0"}}},
		"seccomp/1":       {"flags", []value{{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, "SECCOMP_FILTER_FLAG_NEW_LISTENER"}}},
		"syslog/0":        {"type", []value{{3, "SYSLOG_ACTION_READ_ALL"}, {9, "SYSLOG_ACTION_SIZE_UNREAD"}, {10, "SYSLOG_ACTION_SIZE_BUFFER"}}},
		"modify_ldt/0":    {"func", []value{{0, "0 (read)"}}},
		"personality/0":   {"persona", []value{{0x400000, "READ_IMPLIES_EXEC"}}},
		"setpriority/0":   {"which", []value{{unix.PRIO_PROCESS, "PRIO_PROCESS"}}},
		"setpriority/1":   {"who", callerWords},
		"ioprio_set/0":    {"which", []value{{1, "IOPRIO_WHO_PROCESS"}}},
		"ioprio_set/1":    {"who", callerWords},
		"prlimit64/0":     {"pid", callerWords},
		"migrate_pages/0": {"pid", callerWords},
		"move_pages/0":    {"pid", callerWords},

		"sched_setaffinity/0":  {"pid", callerWords},
		"sched_setattr/0":      {"pid", callerWords},
		"sched_setparam/0":     {"pid", callerWords},
		"sched_setscheduler/0": {"pid", callerWords},
	}
})

var (
	callerWords = []value{{0, "0 (the caller)"}}
	protWords   = []value{{unix.PROT_EXEC, "PROT_EXEC"}}
	modeWords   = []value{{unix.R_OK, "R_OK"}, {unix.W_OK, "W_OK"}, {unix.X_OK, "X_OK"}}
	openWords   = []value{
		{unix.O_WRONLY, "O_WRONLY"},
		{unix.O_RDWR, "O_RDWR"},
		{unix.O_CREAT, "O_CREAT"},
		{unix.O_TRUNC, "O_TRUNC"},
		{0x400000, "O_TMPFILE"}, // the bit of it that is not O_DIRECTORY
	}
	cloneWords = []value{
		{unix.CLONE_THREAD, "CLONE_THREAD"},
		{unix.CLONE_NEWNS, "CLONE_NEWNS"},
		{unix.CLONE_NEWCGROUP, "CLONE_NEWCGROUP"},
		{unix.CLONE_NEWUTS, "CLONE_NEWUTS"},
		{unix.CLONE_NEWIPC, "CLONE_NEWIPC"},
		{unix.CLONE_NEWUSER, "CLONE_NEWUSER"},
		{unix.CLONE_NEWPID, "CLONE_NEWPID"},
		{unix.CLONE_NEWNET, "CLONE_NEWNET"},
		{unix.CLONE_UNTRACED, "CLONE_UNTRACED"},
		{unix.CLONE_NEWTIME, "CLONE_NEWTIME"},
	}
)

// optionNames are the option names of setsockopt(2), which mean something only together
// with their level.
var optionNames = sync.OnceValue(func() map[uint32][]value {
	return map[uint32][]value{
		unix.SOL_SOCKET:   {{unix.SO_BINDTODEVICE, "SO_BINDTODEVICE"}, {unix.SO_BINDTOIFINDEX, "SO_BINDTOIFINDEX"}},
		unix.IPPROTO_IP:   {{unix.IP_OPTIONS, "IP_OPTIONS"}, {unix.IP_TRANSPARENT, "IP_TRANSPARENT"}},
		unix.IPPROTO_IPV6: {{unix.IPV6_RTHDR, "IPV6_RTHDR"}, {5, "IPV6_2292RTHDR"}, {6, "IPV6_2292PKTOPTIONS"}, {unix.IPV6_TRANSPARENT, "IPV6_TRANSPARENT"}},
		unix.IPPROTO_TCP:  {{unix.TCP_REPAIR, "TCP_REPAIR"}},
		unix.IPPROTO_SCTP: {
			{100, "SCTP_SOCKOPT_BINDX_ADD"},
			{101, "SCTP_SOCKOPT_BINDX_REM"},
			{107, "SCTP_SOCKOPT_CONNECTX_OLD"},
			{110, "SCTP_SOCKOPT_CONNECTX"},
		},
	}
})

// conditions puts the tests of a row into words, one string an alternative.
func conditions(row *decode.Row, tests []decode.Test) []string {
	out := make([]string, 0, len(tests))
	for i := range tests {
		out = append(out, condition(row.Name, &tests[i]))
	}
	return out
}

func condition(call string, t *decode.Test) string {
	var parts []string
	level := uint32(0)
	for ; t != nil; t = t.And {
		w, ok := argWords(call, t.Arg)
		if !ok {
			w.arg = fmt.Sprintf("argument %d", t.Arg+1)
		}
		switch {
		case call == "setsockopt" && t.Arg == 1:
			level = t.Bits
		case call == "setsockopt" && t.Arg == 2:
			w = words{"optname", optionNames()[level]}
		}
		parts = append(parts, comparison(w, t))
	}
	return joinDifferences(parts)
}

func comparison(w words, t *decode.Test) string {
	switch t.Op {
	case decode.AnyBit:
		return w.arg + " has " + spell(w.values, t.Bits, " or ")
	case decode.NoBit:
		return w.arg + " has no " + spell(w.values, t.Bits, " or ")
	case decode.Equal, decode.Masked:
		return w.arg + " is " + spell(w.values, t.Bits, "|")
	case decode.NotEqual:
		return w.arg + " is not " + spell(w.values, t.Bits, "|")
	case decode.NonNull:
		return w.arg + " is not NULL"
	}
	return "?"
}

// joinDifferences joins conditions that must all hold, and says "is not A, B or C" once.
func joinDifferences(parts []string) string {
	var out []string
	for i := 0; i < len(parts); i++ {
		subject, first, ok := strings.Cut(parts[i], " is not ")
		if !ok {
			out = append(out, parts[i])
			continue
		}
		all := []string{first}
		for i+1 < len(parts) {
			next, ok := strings.CutPrefix(parts[i+1], subject+" is not ")
			if !ok {
				break
			}
			all = append(all, next)
			i++
		}
		out = append(out, subject+" is not "+list(all, " or "))
	}
	return strings.Join(out, " and ")
}

// alternatives joins conditions of which one must hold, and says "is A, B or C" once.
func alternatives(when []string) string {
	var out []string
	for i := 0; i < len(when); i++ {
		subject, first, ok := strings.Cut(when[i], " is ")
		if !ok || strings.Contains(when[i], " and ") || strings.HasPrefix(first, "not ") {
			out = append(out, when[i])
			continue
		}
		all := []string{first}
		for i+1 < len(when) {
			next, ok := strings.CutPrefix(when[i+1], subject+" is ")
			if !ok || strings.Contains(next, " and ") || strings.HasPrefix(next, "not ") {
				break
			}
			all = append(all, next)
			i++
		}
		out = append(out, subject+" is "+list(all, " or "))
	}
	return strings.Join(out, ", or ")
}

// spell writes a constant by its name, or a mask by the names of its bits.
func spell(names []value, v uint32, or string) string {
	for _, n := range names {
		if n.bits == v {
			return n.name
		}
	}
	var out []string
	for _, n := range names {
		if bits.OnesCount32(n.bits) == 1 && v&n.bits != 0 {
			out = append(out, n.name)
			v &^= n.bits
		}
	}
	if v != 0 || len(out) == 0 {
		out = append(out, fmt.Sprintf("%#x", v))
	}
	return list(out, or)
}

// list is "A, B or C" for " or ", and A|B|C for "|".
func list(all []string, or string) string {
	if len(all) < 2 || or == "|" {
		return strings.Join(all, or)
	}
	return strings.Join(all[:len(all)-1], ", ") + or + all[len(all)-1]
}
