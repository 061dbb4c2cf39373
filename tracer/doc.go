// SPDX-License-Identifier: Apache-2.0

// Package tracer runs a program tree under ptrace(2) and seccomp(2): it launches the
// program behind the filter, waits for stops, has each stopped call decoded, resolved and
// decided, and resumes every stop exactly once. It is the only user of ptrace.
//
// Read loop.go first: it is the one flow. launch.go and stage.go bring the tree up,
// filter.go compiles the seccomp program from the table and the policy, judge.go turns a
// call into requests and a decision, verdict.go carries the decision out, report.go
// writes it down, signals.go passes on what the user sends to ptguard, jobcontrol.go stops
// ptguard when the program stops.
//
// All ptrace requests come from one OS thread, the one that Run was called on and locked:
// the kernel knows the tracer by thread.
package tracer
