// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"math/bits"
	"strings"
)

// Access is a set of rights an act needs on one object. The words are those of
// policy files, of the trace and of `ptguard why`.
type Access uint16

// The accesses. File accesses come first, in the order people read them.
const (
	Look    Access = 1 << iota // stat, access(F_OK), readlink, chdir, O_PATH, statfs, inotify
	List                       // getdents, O_RDONLY on a directory
	Read                       // open for reading, getxattr
	Write                      // open for writing, O_TRUNC, truncate
	Create                     // a new name: O_CREAT of an absent name, mkdir, target of link and rename
	Remove                     // a name goes: unlink, rmdir, source of rename, a replaced target
	Attr                       // chmod, chown, utime, set/remove xattr
	Exec                       // execve family with its #! chain
	Map                        // PROT_EXEC mapping of a file
	Connect                    // connect, sendto, sendmsg with an address
	Bind                       // bind
	Reach                      // acts on another process or on the machine (guards)
	Copy                       // copied out in the kernel, by descriptor (seals)
)

// AllFile is every access that a file rule can grant or take.
const AllFile = Look | List | Read | Write | Create | Remove | Attr | Exec | Map

// Change is the accesses that change an object or a name: what a write rule grants
// beyond reading, and what letter W of a seal covers.
const Change = Write | Create | Remove | Attr

var accessNames = [...]string{"look", "list", "read", "write", "create", "remove", "attr", "exec", "map", "connect", "bind", "reach", "copy"}

// String lists the words of the set, separated by commas; the empty set is "none".
func (a Access) String() string {
	if a == 0 {
		return "none"
	}
	if bits.OnesCount16(uint16(a)) == 1 {
		return accessNames[bits.TrailingZeros16(uint16(a))]
	}
	return strings.Join(a.Names(), ",")
}

// Names gives the words of the set in declaration order.
func (a Access) Names() []string {
	var out []string
	for i, name := range accessNames {
		if a&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// ParseAccess is the inverse of String for one word.
func ParseAccess(word string) (Access, error) {
	for i, name := range accessNames {
		if name == word {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("unknown access %q (one of %s)", word, strings.Join(accessNames[:9], ", "))
}
