// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"path"
	"slices"
)

// broadFolders are the folders whose grant says next to nothing about what is needed.
var broadFolders = []string{
	"/", "/home", "/root", "/var", "/etc", "/tmp", "/usr", "/opt", "/srv", "/mnt", "/media", "/lib", "/boot", "/dev", "/proc", "/sys", "/run",
}

// credentialNames are names under which credentials lie by custom.
var credentialNames = []string{
	".aws", ".ssh", ".gnupg", ".gpg", ".kube", ".docker", ".npmrc", ".pypirc", ".netrc", ".env", ".env.local", ".env.production",
	".pgpass", ".azure", ".gcloud", ".config", ".databrickscfg", ".git-credentials",
}

// warnGrant remarks on a grant of a file or flag that is wider than it looks, or that names
// what usually holds credentials. It is granted all the same: whoever wrote it may know.
func (c *compiler) warnGrant(rule *Rule, root string, b bound) {
	whole := len(b.glob) == 0 || b.glob[len(b.glob)-1] == "**"
	does, reads := "read", rule.Verb == "files.read"
	if !reads {
		does = "written"
	}
	switch {
	case b.rooted || !whole:
	case root == c.m.Work:
	case slices.Contains(broadFolders, root) || c.aboveHome(root):
		if reads && c.p.mode == ModePermissive {
			break // it reads everything anyway
		}
		c.warn(rule.Pos, "%s is a broad grant: everything beneath %s may be %s", rule.Text, root, does)
		return
	case !reads && c.p.tooBroad(root):
		c.warn(rule.Pos, "%s is a broad grant: everything beneath %s may be %s", rule.Text, root, does)
		return
	}
	name := path.Base(root)
	if n := len(b.glob); n > 0 && !whole {
		name = b.glob[n-1]
	}
	if slices.Contains(credentialNames, name) {
		c.warn(rule.Pos, "%s usually holds credentials, and may now be %s by every guarded program", rule.Text, does)
	}
}

// aboveHome tells whether a folder is a home or lies above one.
func (c *compiler) aboveHome(dir string) bool {
	return slices.ContainsFunc(c.p.homes, func(home string) bool { return contains(dir, home) })
}
