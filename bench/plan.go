// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"slices"
	"strings"
)

// fits tells whether a plan measures a load in a variant: everything where it is cheap, and
// of what takes long the variants that say something of it.
func fits(l *load, v *variant, full bool) bool {
	if !full {
		return true
	}
	name := v.name
	switch {
	case slices.Contains([]string{bareName, floorName, defaultName, straceName}, name):
		return true
	case l.kind == KindMicro && strings.HasSuffix(l.name, "-"+shapeThreads), l.kind == KindMicro && strings.HasSuffix(l.name, "-"+shapeProcesses):
		// Under strict each of these asks whose socket it is, at all descriptors of the tree.
		return name == filterName || name == "strict" && l.name != "connect-"+shapeProcesses
	case strings.Contains(name, "@"):
		return l.kind == KindWhole || l.name == "open-read"
	case l.kind == KindWhole && isTool(name):
		return toolOf[l.name] == name
	case name == "far":
		return l.kind == KindWhole || l.name == "open-read"
	case l.kind == KindWhole && isTier(name):
		return l.name == "tar" || l.name == "sh"
	case l.kind == KindMicro && isTool(name):
		return l.name == "open-read"
	}
	return true
}

// core tells whether a variant says something of a load that takes so long that others are
// left out.
func core(l *load, v *variant) bool {
	return slices.Contains([]string{bareName, filterName, floorName, defaultName, "open", "strict", "far", straceName, toolOf[l.name]}, v.name)
}

// toolOf is the preset that is made for a load's tool.
var toolOf = map[string]string{"go-build": "go", "npm": "npm", "python": "pip", "make": "ci", "git": "cargo"}

func isTool(name string) bool {
	return slices.Contains([]string{"go", "npm", "pip", "cargo", "ci"}, name)
}

func isTier(name string) bool {
	return slices.ContainsFunc(tiers(), func(v *variant) bool { return v.name == name })
}
