// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"ptguard/internal/image"
	"ptguard/internal/policytext"
	"ptguard/internal/readfile"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
)

// machine gathers what a policy must know of this machine and run.
type machine struct {
	facts    *rules.Machine
	lookups  *lookups
	warnings []string
}

// What the files of /etc say, read once. A run has the second read on another CPU (foresee).
var (
	ownHome = sync.OnceValue(func() string { return passwdHome(os.Geteuid()) })
	ground  = sync.OnceValue(func() (g struct {
		nameservers []netip.Addr
		pythons     []string
	},
	) {
		g.nameservers, g.pythons = nameservers("/etc/resolv.conf"), beginning("/etc", "python3")
		return g
	})
)

// systemBin are the system's directories of programs.
var systemBin = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"}

// newMachine finds out the facts that do not depend on the program.
func newMachine(layers []*rules.Source, workFlag string, env []string) (*machine, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current directory: %w", errnoOf(err))
	}
	m := &machine{lookups: newLookups()}
	m.facts = &rules.Machine{
		UID: os.Geteuid(), PasswdHome: ownHome(), EnvHome: os.Getenv("HOME"),
		SystemBin: slices.Clone(systemBin),
		Env:       map[string]string{"SSH_AUTH_SOCK": lookupEnv(env, "SSH_AUTH_SOCK", "")},
		Lookup:    m.lookups.lookup,
	}
	f := m.facts
	if f.Cwd, err = canonicalDir(cwd); err != nil {
		return nil, err
	}
	if rules.PrivateTmp(layers) {
		f.Tmp = []string{filepath.Join(m.lookups.lookup(os.TempDir()).Path, "ptguard-private")} // a run makes its own
	} else {
		m.setTmp(os.Getenv("TMPDIR"))
	}
	if err := m.setWork(layers, workFlag); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(f.Work, ".git")); err == nil {
		f.RepoAtStart = true
	}
	return m, nil
}

// bound are the facts to bind a policy to: all that have been found by now, and what a run
// finds out meanwhile.
func (m *machine) bound() rules.Machine {
	f := *m.facts
	binding.Store(true)
	f.Nameservers = ground().nameservers
	// Debian's interpreter looks there for its sitecustomize at each start.
	f.Runtime = slices.Concat(ground().pythons, f.Runtime)
	return f
}

// bind binds a policy to the machine and to CMD, "" for none. That is searched in the
// environment it will get, which the policy says: where PATH is another there, the policy is
// bound again, to the program that is found so.
func (m *machine) bind(layers []*rules.Source, program, scope string) (*rules.Policy, *rules.Scopes, error) {
	found := ""
	if program != "" {
		path, err := findProgram(program, os.Environ())
		if err == nil {
			err = m.setProgram(path)
		}
		if _, missing := errors.AsType[*statusError](err); err != nil && !missing {
			return nil, nil, err
		}
		found = path
	}
	p, scopes, err := rules.CompileScopes(layers, m.bound(), scope)
	if err != nil || program == "" {
		return p, scopes, err
	}
	path, err := findProgram(program, p.Env(os.Environ()))
	if err != nil || path == found {
		return p, scopes, err
	}
	if err := m.setProgram(path); err != nil {
		return nil, nil, err
	}
	return rules.CompileScopes(layers, m.bound(), scope)
}

// beginning lists what is in a directory by names that begin so, in order; nothing if it
// cannot be read. It is filepath.Glob for a directory of some hundred names at each start.
func beginning(dir, prefix string) []string {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var out, names []string
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			slices.Sort(out)
			return out
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names[:0])
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				out = append(out, dir+"/"+name)
			}
		}
	}
}

// setWork takes the work folder from --work, else from the policies, else the current
// directory, which then must not be one that programs should never own.
func (m *machine) setWork(layers []*rules.Source, flag string) error {
	f := m.facts
	f.Work, f.WorkExplicit = f.Cwd, flag != ""
	if flag != "" {
		f.Work = absolute(f.Cwd, flag)
	}
	dir, explicit := f.WorkFolder(layers)
	work, err := canonicalDir(dir)
	if err != nil {
		for _, s := range layers {
			if at := s.WorkPos(); at != "" && flag == "" {
				return fmt.Errorf("%s: work folder: %w", at, err)
			}
		}
		return fmt.Errorf("work folder: %w", err)
	}
	f.Work, f.WorkExplicit = work, explicit
	if reason := f.Unfit(work); reason != "" && !explicit { // if explicit, a warning of the policy
		return &statusError{
			code: exitFailed, err: fmt.Errorf("the work folder would be %s, %s: the program could write all of it", record.Escape(work), reason),
			hint: "say --work DIR, or start ptguard in the project's folder",
		}
	}
	return nil
}

// absolute makes a name absolute, and no shorter: to the kernel link/.. is not what it looks
// like where link is a symbolic link.
func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return dir + "/" + name
}

// setTmp makes @tmp: /tmp, /var/tmp and $TMPDIR. Anyone can set TMPDIR, so it counts only
// if it is the user's own folder or sticky.
func (m *machine) setTmp(tmpdir string) {
	f := m.facts
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if t := m.lookups.lookup(dir); t.Exists && t.IsDir && !slices.Contains(f.Tmp, t.Path) {
			f.Tmp = append(f.Tmp, t.Path)
		}
	}
	if tmpdir == "" {
		return
	}
	t := rules.Target{}
	if filepath.IsAbs(tmpdir) {
		t = m.lookups.lookup(tmpdir)
	}
	var st unix.Stat_t
	switch err := unix.Stat(t.Path, &st); {
	case t.Path == "" || err != nil || !t.IsDir:
		return // nothing to grant; the program will see for itself
	case f.Unfit(t.Path) != "" || firstLevel(t.Path) && t.Path != "/tmp":
		m.warnings = append(m.warnings, fmt.Sprintf("TMPDIR is %s, too broad to be a temp folder: it is not granted", record.Escape(t.Path)))
	case int(st.Uid) != f.UID && st.Mode&unix.S_ISVTX == 0:
		m.warnings = append(m.warnings, fmt.Sprintf("TMPDIR is %s, which belongs to another user: it is not granted", record.Escape(t.Path)))
	case !slices.Contains(f.Tmp, t.Path):
		f.Tmp = append(f.Tmp, t.Path)
	}
}

func firstLevel(dir string) bool { return strings.Count(dir, "/") == 1 }

// setProgram adds what the program itself brings: its file, the links and interpreters on
// the way to it, and its own prefix.
func (m *machine) setProgram(path string) error {
	f := m.facts
	f.Program, f.ProgramChain, f.Runtime = "", nil, nil // of an earlier call
	path = absolute(f.Cwd, path)
	for depth := 0; path != "" && depth <= image.MaxScripts+1; depth++ {
		o, err := resolve.Canonical(path)
		if err != nil {
			return err
		}
		if o.Errno != 0 {
			return nil // execve will say so
		}
		f.ProgramChain = append(f.ProgramChain, o.Hops...)
		if depth == 0 {
			f.Program = o.Path
			if !strings.Contains(path, "/../") { // else what bin lies in is not what it looks like
				m.setPrefix(path)
			}
			m.setPrefix(o.Path)
		} else {
			f.ProgramChain = append(f.ProgramChain, o.Path)
		}
		path = follower(o.Path, f.Cwd)
	}
	return nil
}

// follower is the absolute path of the interpreter or loader of a program, "" if none.
func follower(program, cwd string) string {
	fd, err := unix.Open(program, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	next, err := image.Next(fd)
	if err != nil || next.Path == "" {
		return ""
	}
	return absolute(cwd, next.Path)
}

// setPrefix grants reading of the program's own installation: DIR for DIR/bin/PROG, if DIR
// is narrow enough.
func (m *machine) setPrefix(program string) {
	bin := filepath.Dir(program)
	if filepath.Base(bin) != "bin" {
		return
	}
	prefix := filepath.Dir(bin)
	// What is granted is where it leads to: through a link that may be the home folder.
	if t := m.lookups.lookup(prefix); !t.Exists || m.facts.Unfit(t.Path) != "" || firstLevel(t.Path) {
		return
	}
	if m.facts.Unfit(prefix) == "" && !firstLevel(prefix) && !slices.Contains(m.facts.Runtime, prefix) {
		m.facts.Runtime = append(m.facts.Runtime, prefix)
	}
}

// lookup resolves a literal path for the policy. What cannot be resolved is named as it
// is written and does not exist.
func lookup(path string) rules.Target { return resolved(path).Target }

// canonicalDir resolves a folder that must be there.
func canonicalDir(dir string) (string, error) {
	o, err := resolve.Canonical(dir)
	switch {
	case err != nil:
		return "", err
	case o.Errno != 0:
		return "", fmt.Errorf("%s: %w", record.Escape(dir), o.Errno)
	case o.Stat.Mode&unix.S_IFMT != unix.S_IFDIR:
		return "", fmt.Errorf("%s: %w", record.Escape(dir), errors.New("not a directory"))
	case o.Path == "":
		return "", fmt.Errorf("%s: %w", record.Escape(dir), errors.New("a folder that has no name any more"))
	}
	return o.Path, nil
}

// passwdHome is the home folder of the password file. os/user would bring the C library
// into the binary, and NSS with its sockets into every start.
func passwdHome(uid int) string {
	text, err := readfile.All("/etc/passwd")
	if err != nil {
		if !errors.Is(err, unix.ENOENT) { // or no rule for ~ would hold
			unseen.CompareAndSwap(nil, &err)
		}
		return ""
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) >= 6 && fields[2] == strconv.Itoa(uid) && filepath.IsAbs(fields[5]) {
			if policytext.Climbs(fields[5]) {
				return fields[5]
			}
			return filepath.Clean(fields[5])
		}
	}
	return ""
}

// nameservers reads resolv.conf(5).
func nameservers(file string) []netip.Addr {
	text, err := readfile.All(file)
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "nameserver" {
			if addr, err := netip.ParseAddr(fields[1]); err == nil {
				out = append(out, addr)
			}
		}
	}
	return out
}
