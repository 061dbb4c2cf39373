// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"path"
	"slices"
	"strings"
)

// What `learn` asks of a policy: how far a grant may reach.

// ToolFolder widens a path in a tool's own folder beneath home to that folder (~/.npm,
// ~/.cache/pip); any other path comes back as it is. comm names the program.
func (p *Policy) ToolFolder(path, comm string) string { return p.toolFolder(path, comm) }

// Broad tells whether granting all beneath a folder would be more than a proposal should
// say: the root, a first-level directory, a home or what lies above one, a folder that
// many tools share, system folders and the root of devices.
func (p *Policy) Broad(dir string) bool {
	if dir == "/" || strings.Count(dir, "/") == 1 {
		return true
	}
	if slices.Contains([]string{"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/share", "/usr/local", "/usr/local/bin", "/usr/libexec", "/var/lib", "/var/log", "/var/run", "/var/cache", "/var/spool", "/dev/pts"}, dir) {
		return true
	}
	for _, home := range p.homes {
		if contains(dir, home) || path.Dir(dir) == path.Dir(home) {
			return true
		}
		if rest, ok := strings.CutPrefix(dir, home+"/"); ok && shared[rest] {
			return true
		}
	}
	return false
}

// Word writes a canonical path as a policy does: with ~, and with what is a glob escaped.
func (p *Policy) Word(path string) string { return p.tilde(path) }

// InHome tells whether a path lies beneath a home.
func (p *Policy) InHome(path string) bool { return p.home(path) != "" }

// EscapeGlob makes a name the pattern for it.
func EscapeGlob(name string) string { return escapeGlob(name) }
