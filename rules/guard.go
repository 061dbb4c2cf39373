// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"ptguard/decode"
)

// The guards of docs/manual.md that a Request can express; the others are constant
// refusals of the tracer's call table.
var (
	guardOutsider = &Rule{
		Pos: "guard proc-outsider", Layer: LayerGuard, Verb: "guard", Text: "/proc/<outsider>",
		Reason: "of processes outside the tree only the world-readable /proc files are open",
	}
	guardSelf = &Rule{
		Pos: "guard proc-guard", Layer: LayerGuard, Verb: "guard", Text: "/proc/<ptguard>",
		Reason: "of ptguard itself only stat, status, cmdline and comm are open",
	}
	guardScoped = &Rule{
		Pos: "scope reach", Layer: LayerScope, Verb: "scope", Text: "/proc/<scoped>", fix: "-",
		Reason: "a process in a scope of its own is out of its caller's reach", Hint: "ask the program itself, or signal it from the terminal",
	}
	guardKnob = &Rule{
		Pos: "guard kernel-knob", Layer: LayerGuard, Verb: "guard", Text: "/proc/sys /sys",
		Reason: "kernel settings cannot be changed from inside",
	}
	guardMemory = &Rule{
		Pos: "guard kernel-memory", Layer: LayerGuard, Verb: "guard", Text: "/proc/kcore",
		Reason: "it shows the memory of every process",
	}
	guardLog = &Rule{
		Pos: "guard kernel-log", Layer: LayerGuard, Verb: "guard", Text: "/proc/kmsg",
		Reason: "whoever reads it takes the messages away from others",
	}
	guardDevice = &Rule{
		Pos: "guard make-device", Layer: LayerGuard, Verb: "guard", Text: "mknod",
		Reason: "block and character devices cannot be made from inside",
	}
	guardReach = &Rule{
		Pos: "guard reach", Layer: LayerGuard, Verb: "guard", Text: "reach",
		Reason: "acts on processes outside the tree or on the machine are refused",
	}
	ownProcess = &Rule{
		Pos: "builtin tree", Layer: LayerBuiltin, Verb: "reach", Text: "own processes",
		Reason: "processes of the tree may reach each other",
	}
	guardEmpty = &Rule{
		Pos: "guard undecoded", Layer: LayerGuard, Verb: "guard", Text: "undecoded",
		Reason: "what cannot be decoded is refused",
	}
)

// guard is step 1. It gives the guard that refuses, nil if none does.
func (p *Policy) guard(r *Request) *Rule {
	f := &r.File
	switch {
	case r.Access == 0:
		return guardEmpty
	case r.Access&decode.Reach != 0:
		if r.Access == decode.Reach && f.Owner == OwnerTree {
			return nil
		}
		if r.Access == decode.Reach && f.Owner == OwnerScoped {
			return guardScoped
		}
		return guardReach
	case r.Access == decode.Copy: // of a descriptor that the tree holds
		return nil
	case r.Access&decode.Connect == 0 && r.Access&decode.Bind == 0 && f.Path == "" && !f.Nameless:
		return guardEmpty
	}
	if t := r.NodeType & typeMask; t == typeBlock || t == typeChar {
		return guardDevice
	}
	if rule := guardProc(r); rule != nil {
		return rule
	}
	if r.Access&(decode.Change|decode.Connect|decode.Bind) != 0 {
		return p.guardOwn(r)
	}
	return nil
}

// worldReadable are the files of /proc/PID that the kernel shows to everybody without a
// ptrace access check (proc(5)), and the directories that lead to them. It is a list of
// what is open, so that a file of a later kernel is closed.
var worldReadable = map[string]bool{
	"": true, "task": true, "arch_status": true, "autogroup": true, "cgroup": true, "cmdline": true,
	"comm": true, "coredump_filter": true, "cpuset": true, "cpu_resctrl_groups": true, "gid_map": true,
	"latency": true, "limits": true, "loginuid": true, "mountinfo": true, "mounts": true, "oom_adj": true,
	"oom_score": true, "oom_score_adj": true, "projid_map": true, "sched": true, "schedstat": true,
	"sessionid": true, "setgroups": true, "stat": true, "statm": true, "status": true, "uid_map": true,
	"wchan": true,
}

func guardProc(r *Request) *Rule {
	f := &r.File
	// Through a magic link one is in the middle of another process's things.
	switch f.Via {
	case OwnerOutsider:
		return guardOutsider
	case OwnerGuard:
		return guardSelf
	case OwnerScoped:
		return guardScoped
	}
	name, _ := "", false
	switch f.Owner {
	case OwnerTree:
		return nil
	case OwnerOutsider, OwnerScoped:
		if name, _ = procName(f.Path); r.Access&^readBundle == 0 && (worldReadable[name] || r.Access == decode.Look && name != "?") {
			return nil
		}
		if f.Owner == OwnerScoped {
			return guardScoped
		}
		return guardOutsider
	case OwnerGuard:
		name, _ = procName(f.Path)
		switch name {
		case "stat", "status", "cmdline", "comm", "", "task":
			if r.Access&^readBundle == 0 {
				return nil
			}
		}
		return guardSelf
	}
	if r.Access&(decode.Change|decode.Bind) != 0 && (f.KernelFS || beneath("/proc", f.Path) || beneath("/sys", f.Path)) {
		return guardKnob
	}
	if r.Access&(decode.Read|decode.Map) != 0 && (f.KernelFS || beneath("/proc", f.Path)) {
		switch f.Path[strings.LastIndexByte(f.Path, '/')+1:] {
		case "kcore", "vmcore":
			return guardMemory
		case "kmsg":
			return guardLog
		}
	}
	return nil
}

// beneath is contains without the directory itself.
func beneath(dir, path string) bool {
	return len(path) > len(dir) && strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// guardOwn keeps the files that ptguard lives by: the object, by name and inode, and the
// directories above it from being renamed away. One that is not there yet is made empty, or a
// folder that has such a file already would come there by a rename, or be led to by a link.
func (p *Policy) guardOwn(r *Request) *Rule {
	f := &r.File
	for _, e := range p.protected {
		if f.Path == "" { // no name can be one of them; the inode is looked at below
			break
		}
		if contains(e.root, f.Path) {
			return e.rule
		}
		switch r.Act {
		case ActRenameSource, ActRenameTarget, ActExchange, ActSymlink, ActLinkTarget: // a link(2) of a symbolic link is one
			if contains(f.Path, e.root) {
				return e.rule
			}
		}
	}
	if f.Exists && len(p.protectedInode) > 0 {
		if e := p.protectedInode[f.Inode]; e != nil {
			return e.rule
		}
	}
	return nil
}
