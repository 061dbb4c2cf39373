// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"net/netip"
	"path"
	"strings"

	"ptguard/seals"
)

// Machine is what a policy must know of the machine and the run to be bound to them.
// The caller found it out; this package touches nothing.
type Machine struct {
	Cwd, Work    string // canonical
	WorkExplicit bool   // --work or a policy's work: named it
	// PasswdHome is the home of the password file, EnvHome $HOME; "" if there is none.
	PasswdHome, EnvHome string
	// Tmp are /tmp, the system's temp folder, and $TMPDIR if it is a directory of the
	// user or sticky; resolved. Compile drops those that are too broad, with a warning.
	Tmp []string
	// PrivateTmp is the one of Tmp that the run made for itself; its name is another in each
	// run and no part of the policy's digest.
	PrivateTmp string
	// Runtime are the folders of @runtime that depend on this machine: loader and
	// library directories, CMD's own prefix. RuntimePaths are added by Compile.
	Runtime []string
	UID     int
	// Program is the canonical path of CMD; ProgramChain the links to it, its #!
	// interpreters and its loader.
	Program      string
	ProgramChain []string
	// SystemBin are the system's directories of programs.
	SystemBin   []string
	Nameservers []netip.Addr
	Env         map[string]string // SSH_AUTH_SOCK
	// RepoAtStart: @work/.git was there.
	RepoAtStart bool
	// Protected are the policy, record and control files: never changed by the tree.
	Protected []string
	// Links are the symbolic links by which these were named, canonical but for themselves:
	// whoever changes one gives the next run other files.
	Links []string
	// Seals are the seals of the run, nil if there are none.
	Seals *seals.Set
	// Lookup resolves a path as the kernel would; nil means that nothing exists and
	// there are no links.
	Lookup func(path string) Target
}

// Target is what a literal path leads to.
type Target struct {
	// Path is the canonical path: of the object, or, if it does not exist, as far as it
	// could be followed with the rest appended.
	Path   string
	Exists bool
	IsDir  bool
	Inode  Inode
	Born   int64 // time of birth, 0 if unknown
	// Links are the symbolic links on the way, canonical but for themselves.
	Links []string
}

// WorkFolder gives the work folder that the sources state, for the caller to resolve and
// put into Work before Compile: m.Work, which is --work's or the current directory, unless
// a source names another and --work was not given (m.WorkExplicit). explicit tells whether
// somebody named it.
func (m *Machine) WorkFolder(sources []*Source) (dir string, explicit bool) {
	dir, explicit = m.Work, m.WorkExplicit
	if explicit {
		return dir, true
	}
	for _, s := range sources {
		patterns, err := parsePattern(s.work.word, false)
		if err != nil || len(patterns) != 1 || patterns[0].Anchor == "." && patterns[0].Bare() {
			continue
		}
		base := ""
		switch p := patterns[0]; {
		case p.Anchor == "/":
			base = "/"
		case p.Anchor == ".":
			base = m.Work
		case p.Anchor == "@tmp" && len(m.Tmp) > 0:
			base = m.Tmp[0]
		default:
			if homes := m.homes(true); len(homes) > 0 {
				base = homes[0]
			}
		}
		if base != "" {
			dir, explicit = path.Join(append([]string{base}, patterns[0].Literal...)...), true
		}
	}
	return dir, explicit
}

// RuntimePaths are the parts of @runtime that are the same on every machine (docs/manual.md,
// What is granted without a rule), as patterns.
func RuntimePaths() []string {
	return []string{
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/share",
		"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec", "/usr/local/share",
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/host.conf",
		"/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/ld.so.*", "/etc/localtime", "/etc/timezone",
		"/etc/alternatives", "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/mime.types", "/etc/terminfo",
		"/etc/inputrc", "/etc/locale.alias", "/etc/locale.conf", "/etc/default/locale",
		"/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version",
		"/proc/filesystems", "/proc/sys",
		"/sys/fs/cgroup", "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage",
	}
}

// Unfit says why a folder is not one that a program should own, as a work or temp folder or as
// its own prefix, unless somebody names it; "" if there is nothing against it. dir is canonical.
func (m *Machine) Unfit(dir string) string {
	if dir == "/" {
		return "the root of the file system"
	}
	for _, home := range m.homes(false) {
		for _, h := range []string{home, m.lookup(home).Path} {
			switch {
			case dir == h:
				return "your home folder"
			case beneath(dir, h):
				return "a folder above your home"
			}
		}
	}
	switch dir {
	case "/etc", "/usr", "/var", "/bin", "/root":
		return "a folder of the system"
	}
	if firstLevel(dir) && strings.HasPrefix(dir, "/lib") {
		return "a folder of the system"
	}
	return ""
}

func (m *Machine) lookup(path string) Target {
	if m.Lookup == nil {
		return Target{Path: path}
	}
	t := m.Lookup(path)
	if t.Path == "" {
		t.Path = path
	}
	return t
}

// homes are the homes a ~ means: in an allow the password file's (or $HOME if there is
// none), in a deny both.
func (m *Machine) homes(allow bool) []string {
	var out []string
	for _, h := range []string{m.PasswdHome, m.EnvHome} {
		if len(h) > 0 && h[0] == '/' && indexOf(out, h) < 0 && !(allow && len(out) > 0) {
			out = append(out, h)
		}
	}
	return out
}
