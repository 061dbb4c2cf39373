// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version is what this source calls itself; `ptguard version` adds the commit it was built
// from, where the build knows it.
const version = "0.1.0-dev"

// meaningOf says what a tier, as the first record of a run names it, means for judged calls.
func meaningOf(tier string) string {
	name, _, _ := strings.Cut(tier, ",")
	switch name {
	case "race-free":
		return "what decided a call is what the kernel uses: opens, addresses and looks run from a sealed window in the program's memory, changes to names are made by ptguard on pinned directories, an exec is decided again before its first instruction"
	case "check-then-continue":
		return "arguments in memory are judged and then used as they are by then: a hostile thread can change them in between"
	}
	return ""
}

// versionCmd is "ptguard version".
type versionCmd struct{}

// Run is called by kong.
func (c *versionCmd) Run() error {
	info, _ := debug.ReadBuildInfo()
	fmt.Println(versionLine(info))
	return nil
}

// versionLine gives "ptguard VERSION (BUILD) GO OS/ARCH"; without a build that knows its
// commit or module version the parentheses are left out. info may be nil.
func versionLine(info *debug.BuildInfo) string {
	words := []string{"ptguard", version}
	if b := build(info); b != "" {
		words = append(words, "("+b+")")
	}
	return strings.Join(append(words, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH), " ")
}

// build gives the commit a binary was built from, or the module version that `go install
// MODULE@VERSION` fetched.
func build(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	var commit, when, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = "commit " + s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			when = ", " + s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = ", modified"
			}
		}
	}
	if commit != "" {
		return commit + when + modified
	}
	if v := info.Main.Version; v != "(devel)" {
		return v
	}
	return ""
}
