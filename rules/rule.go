// SPDX-License-Identifier: Apache-2.0

// Package rules turns policy text into decisions. Read, Preset and FromFlags make
// Sources; Compile binds them to the facts of one machine; Policy.Decide answers
// Requests, the only place where anything is allowed or refused.
//
// The package is pure: no system calls, no clock, no environment. What it needs to know
// about the machine is handed in (Machine).
package rules

import "ptguard/decode"

// Layer says where a rule comes from.
type Layer string

// The layers, in the order policies are stacked, then those that no policy states.
const (
	LayerPreset  Layer = "preset"
	LayerFile    Layer = "file"
	LayerFlag    Layer = "flag"
	LayerBuiltin Layer = "builtin"
	LayerGuard   Layer = "guard"
	LayerMode    Layer = "mode"
	LayerSeal    Layer = "seal"
	LayerScope   Layer = "scope"
	LayerGrant   Layer = "grant"
	LayerFence   Layer = "fence"
)

// Rule is one thing that can decide: a line of a policy, a flag, a built-in root, a
// guard, or the mode. It does not change after Compile.
type Rule struct {
	// Pos names the rule: "policy.yaml:12:5", "preset permissive: ~/.ssh", "flag --deny",
	// "builtin @work" or "guard proc-outsider", "mode strict".
	Pos   string
	Layer Layer
	// Verb is the key the rule stands under: "files.read", "files.write", "files.deny",
	// "files.hide", "exec.allow", "exec.deny", "net.connect", "net.bind", "net.deny"; for
	// rules that no policy states "allow", "guard" or "mode".
	Verb string
	// Text is the rule as its author wrote it.
	Text string
	// Source is the line of the policy that holds the rule, "" for those that have none.
	Source string
	Reason string
	Hint   string
	// Access is what the rule grants or takes.
	Access decode.Access
	// Paths are the resolved literal prefixes the rule is attached to.
	Paths []string
	// fix overrides the fix that Explain would make up; "-" for none.
	fix string
}

// denies tells whether the rule takes rather than gives.
func (r *Rule) denies() bool {
	switch r.Verb {
	case "files.deny", "files.hide", "files.masks", "exec.deny", "net.deny", "guard":
		return true
	}
	return false
}
