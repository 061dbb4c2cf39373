// SPDX-License-Identifier: Apache-2.0

// Package seals is the organisation's policy: places that no mode, scope, rule or grant
// opens. Read turns a seal file into Seals, Bind ties them to one machine, Set.Find is what
// rules.Decide asks ahead of everything but the guards.
//
// The package is pure but for Load, which reads through fs.FS: no system calls, no clock.
package seals

import (
	"fmt"
	"strings"

	"ptguard/internal/policytext"
)

// Letters is a set of the four acts that a seal can forbid.
type Letters uint8

// The letters. None of them covers stat(2) and its kin: that something is there, and what
// it is called, is not sealed.
const (
	R Letters = 1 << iota // read, list, execute, map
	W                     // change: write, create, remove, attributes; connect to a socket
	M                     // take away from here: the source of a rename
	C                     // copy out of here in the kernel: hard link, reflink, copy_file_range, sendfile, splice
)

const letterNames = "RWMC"

// String gives the letters in the order R W M C.
func (l Letters) String() string {
	var b strings.Builder
	for i := range len(letterNames) {
		if l&(1<<i) != 0 {
			b.WriteByte(letterNames[i])
		}
	}
	return b.String()
}

// ParseLetters is the inverse of String; the order is free.
func ParseLetters(text string) (Letters, error) {
	var out Letters
	for _, c := range text {
		i := strings.IndexRune(letterNames, c)
		switch {
		case i < 0 && strings.ContainsRune("rwmc", c):
			return 0, &policytext.WordError{Msg: fmt.Sprintf("letters %q are not capital", text), Suggestion: fmt.Sprintf("did you mean %q?", strings.ToUpper(text))}
		case i < 0:
			return 0, &policytext.WordError{Msg: fmt.Sprintf("%q is no letter of a seal", c), Suggestion: "expected R (read), W (change), M (take away), C (copy out), as in \"WM\""}
		case out&(1<<i) != 0:
			return 0, &policytext.WordError{Msg: fmt.Sprintf("the letter %c is there twice", c)}
		}
		out |= 1 << i
	}
	if out == 0 {
		return 0, &policytext.WordError{Msg: "a seal without letters seals nothing", Suggestion: "expected some of R (read), W (change), M (take away), C (copy out)"}
	}
	return out, nil
}

// Seal is one entry of a seal file. It does not change after Bind.
type Seal struct {
	Pos     string // file:line:column
	Owner   string // who sealed it
	Path    string // as written
	Letters Letters
	Reason  string
	Hint    string
	// Places are the canonical literal prefixes it is bound to.
	Places []string

	patterns []policytext.Pattern
}

// File is one seal file.
type File struct {
	Name   string
	Owner  string
	Seals  []*Seal
	Digest string // SHA-256 of its text, in hexadecimal
}
