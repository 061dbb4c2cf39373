// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// Arch is one architecture's names and numbers.
type Arch struct {
	Name string
	// Audit is the AUDIT_ARCH_* value of seccomp_data.arch (linux/audit.h).
	Audit uint32
	// X32 is the first number of a foreign ABI that shares Audit, 0 if there is none
	// (amd64: __X32_SYSCALL_BIT).
	X32   uint32
	Names map[uint32]string
}

// newer are the calls that the arch tables of go-seccomp-bpf v1.6.0 (Linux 6.15) lack.
// Numbers from 424 on are the same everywhere.
var newer = map[uint32]string{468: "file_getattr", 469: "file_setattr", 470: "listns", 471: "rseq_slice_yield"}

// AMD64 and ARM64 are the architectures that ptguard runs on.
var (
	AMD64 = table("amd64", arch.X86_64, 0x40000000, map[uint32]string{336: "uprobe"})
	ARM64 = table("arm64", arch.AARCH64, 0, nil)
)

func table(name string, info *arch.Info, x32 uint32, more map[uint32]string) *Arch {
	a := &Arch{Name: name, Audit: uint32(info.ID), X32: x32, Names: map[uint32]string{}}
	for nr, name := range info.SyscallNumbers {
		a.Names[uint32(nr)] = name
	}
	for _, extra := range []map[uint32]string{newer, more} {
		for nr, name := range extra {
			a.Names[nr] = name
		}
	}
	return a
}

// SyscallName gives the name of a number, or "syscall_N" for one that the tables lack.
func (a *Arch) SyscallName(nr uint32) string {
	if name, ok := a.Names[nr]; ok {
		return name
	}
	return fmt.Sprintf("syscall_%d", int32(nr))
}

// Class says what happens to a number.
type Class struct {
	// Pass: runs untraced. Else Rows lists the rows of the name, in table order; with
	// neither, the number is unknown and answered ENOSYS.
	Pass bool
	Rows []*Row
}

// Classes gives the Class of every known number. Rows and passthrough are disjoint (a
// test proves it); where they were not, the row would win.
func (a *Arch) Classes() map[uint32]Class {
	rows := map[string][]*Row{}
	for i := range Rows {
		rows[Rows[i].Name] = append(rows[Rows[i].Name], &Rows[i])
	}
	pass := map[string]bool{}
	for _, name := range PassthroughNames() {
		pass[name] = true
	}
	out := make(map[uint32]Class, len(a.Names))
	for nr, name := range a.Names {
		out[nr] = Class{Pass: pass[name] && rows[name] == nil, Rows: rows[name]}
	}
	return out
}
