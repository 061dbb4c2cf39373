// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_nomseal

package tracer

// withoutMseal: this binary behaves as on a kernel without mseal(2), for the tests of the
// range guard, and without PTRACE_SET_SYSCALL_INFO, which is younger.
const withoutMseal = true
