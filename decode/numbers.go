// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Arch is one architecture's names and numbers.
type Arch struct {
	Name string
	// Audit is the AUDIT_ARCH_* value of seccomp_data.arch (linux/audit.h).
	Audit uint32
	// X32 is the first number of a foreign ABI that shares Audit, 0 if there is none
	// (amd64: __X32_SYSCALL_BIT).
	X32   uint32
	names []string // by number, "" for a hole

	once    sync.Once
	classes []Class
}

// AMD64 and ARM64 are the architectures that ptguard runs on. Their names are those of the
// arch tables of go-seccomp-bpf, written down (numbers_table.go): that package builds the
// tables of every architecture at each start.
//
//go:generate env PTGUARD_UPDATE=1 go test -count=1 -run ^TestNumbersAreTheLibrarys$ .
var (
	AMD64 = &Arch{Name: "amd64", Audit: unix.AUDIT_ARCH_X86_64, X32: 0x40000000, names: namesAMD64[:]}
	ARM64 = &Arch{Name: "arm64", Audit: unix.AUDIT_ARCH_AARCH64, names: namesARM64[:]}
)

// CallName gives the name of a number, "" for one that the tables lack.
func (a *Arch) CallName(nr uint32) string {
	if nr >= uint32(len(a.names)) {
		return ""
	}
	return a.names[nr]
}

// Names gives the names of all numbers.
func (a *Arch) Names() map[uint32]string {
	out := make(map[uint32]string, len(a.names))
	for nr, name := range a.names {
		if name != "" {
			out[uint32(nr)] = name
		}
	}
	return out
}

// SyscallName gives the name of a number, or "syscall_N" for one that the tables lack.
func (a *Arch) SyscallName(nr uint32) string {
	if name := a.CallName(nr); name != "" {
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

// Classes gives the Class of each number up to the newest known one. Rows and passthrough are
// disjoint (a test proves it); where they were not, the row would win. It is made once, and
// shared: nobody changes it.
func (a *Arch) Classes() []Class {
	a.once.Do(func() { a.classes = a.makeClasses() })
	return a.classes
}

func (a *Arch) makeClasses() []Class {
	out := make([]Class, len(a.names))
	number := make(map[string]int, len(a.names))
	for nr, name := range a.names {
		if name != "" {
			number[name] = nr
		}
	}
	for _, group := range Passthrough {
		for name := range strings.FieldsSeq(group.Names) {
			if nr, ok := number[name]; ok {
				out[nr].Pass = true
			}
		}
	}
	rows := make([]*Row, len(Rows))
	for i := 0; i < len(Rows); {
		from, name := i, Rows[i].Name
		for ; i < len(Rows) && Rows[i].Name == name; i++ {
			rows[i] = &Rows[i]
		}
		nr, ok := number[name]
		switch {
		case !ok:
		case out[nr].Rows == nil:
			out[nr] = Class{Rows: rows[from:i:i]}
		default:
			out[nr].Rows = append(out[nr].Rows, rows[from:i]...)
		}
	}
	return out
}
