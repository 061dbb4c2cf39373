// SPDX-License-Identifier: Apache-2.0

package policytext

import (
	"path"
	"strings"
)

// Climbs tells whether a name goes up from a folder that it names: where that is a link, only
// the kernel knows where to.
func Climbs(name string) bool {
	named := false
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "", ".":
		case "..":
			if named {
				return true
			}
		default:
			named = true
		}
	}
	return false
}

// Beneath puts names beneath a folder, which stays as it is spelled.
func Beneath(dir string, names ...string) string {
	for _, name := range names {
		dir = strings.TrimSuffix(dir, "/") + "/" + name
	}
	return dir
}

// Spellings gives the names by which an absolute path is known as it is written: shorter, if
// that is the same, and in the folder that it names, which real leads to where it is. A link
// that is its last component has no other.
func Spellings(spelled string, real func(dir string) string) []string {
	var out []string
	if !Climbs(spelled) {
		out = append(out, path.Clean(spelled))
	}
	dir, name := path.Split(strings.TrimRight(spelled, "/"))
	if name == "" || name == "." || name == ".." {
		return out
	}
	if dir != "/" {
		dir = strings.TrimRight(dir, "/")
	}
	return append(out, path.Join(real(dir), name))
}
