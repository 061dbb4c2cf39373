// SPDX-License-Identifier: Apache-2.0

// Package decode knows the system calls of Linux: one declarative row for each call that
// is judged or refused, one list of names that pass untraced, and the function that turns
// the raw words of a stopped call and the tracee's memory into a Call with its Objects.
//
// It owns no policy (package rules decides) and touches no process: memory is read
// through the Memory interface, so tests pass a map. What cannot be read or decoded is an
// error, and the caller refuses the call.
package decode
