// SPDX-License-Identifier: Apache-2.0

// Package atstart keeps what this process was started with and package syscall changes
// before main: it raises the soft limit on open files, and would tell its own execs only.
//
// It imports nothing, so it is initialised before syscall is: of the packages whose imports
// are all initialised the one with the smallest path comes first (Go specification, "Program
// initialization"), and "ptguard/internal/atstart" sorts before "syscall".
package atstart

var openFiles [2]uint64 // struct rlimit64

func init() { readOpenFiles(&openFiles) }

// readOpenFiles is prlimit64(2) of RLIMIT_NOFILE. It cannot fail.
//
//go:noescape
func readOpenFiles(limit *[2]uint64)

// OpenFiles gives RLIMIT_NOFILE, soft and hard, as it was when the process started.
func OpenFiles() (soft, hard uint64) { return openFiles[0], openFiles[1] }
