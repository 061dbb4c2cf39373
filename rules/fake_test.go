// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"net/netip"
	"path"
	"strings"
	"syscall"
	"testing"

	"ptguard/decode"
)

// tree is a file system in memory: what a path is. Links are "->target".
type tree map[string]string

// lookup resolves a path in the tree, as a kernel would.
func (t tree) lookup(p string) Target {
	canonical, hops := "/", 0
	todo := strings.Split(p, "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			canonical = path.Dir(canonical)
			continue
		}
		next := path.Join(canonical, name)
		if target, ok := strings.CutPrefix(t[next], "->"); ok {
			if hops++; hops > 40 {
				return Target{Path: next}
			}
			if path.IsAbs(target) {
				canonical = "/"
			}
			todo = append(strings.Split(target, "/"), todo...)
			continue
		}
		canonical = next
	}
	kind, ok := t[canonical]
	return Target{Path: canonical, Exists: ok, IsDir: kind == "dir", Inode: t.inode(canonical)}
}

// inode numbers objects by name; a hard link is "=other".
func (t tree) inode(p string) Inode {
	if other, ok := strings.CutPrefix(t[p], "="); ok {
		p = other
	}
	n := uint64(14695981039346656037)
	for i := 0; i < len(p); i++ {
		n = (n ^ uint64(p[i])) * 1099511628211
	}
	return Inode{Dev: 1, Ino: n}
}

// file describes an object of the tree for a Request, with the path as given.
func (t tree) file(given string) File {
	target := t.lookup(given)
	f := File{Path: target.Path, Exists: target.Exists}
	if given != target.Path {
		f.Spellings = []string{given}
	}
	if !f.Exists {
		return f
	}
	f.Inode = target.Inode
	f.Mode = map[string]uint32{"dir": typeDir | 0o755, "prog": typeRegular | 0o755, "sock": typeSocket | 0o777, "fifo": typeFIFO | 0o644, "chr": typeChar | 0o666, "blk": typeBlock | 0o660}[t[target.Path]]
	if f.Mode == 0 {
		f.Mode = typeRegular | 0o644
	}
	return f
}

var world = tree{
	"/": "dir", "/bin": "->usr/bin", "/usr": "dir", "/usr/bin": "dir", "/usr/bin/sh": "->dash", "/usr/bin/dash": "prog",
	"/usr/bin/git": "prog", "/usr/bin/ls": "prog", "/usr/bin/vi": "->/etc/alternatives/vi", "/etc/alternatives/vi": "->/usr/bin/vim.basic",
	"/usr/bin/vim.basic": "prog", "/lib64": "->usr/lib64", "/usr/lib64": "dir", "/usr/lib64/ld-linux-x86-64.so.2": "prog", "/usr/lib64/libc.so.6": "prog",
	"/etc": "dir", "/etc/hosts": "reg", "/tmp": "dir", "/dev/shm": "dir",
	"/home": "dir", "/home/me": "dir", "/home/me/p": "dir", "/home/me/p/a": "dir", "/home/me/p/a/secret": "reg", "/home/me/p/src": "dir", "/home/me/p/src/x.go": "reg",
	"/home/me/p/out": "->/srv/out", "/srv/out": "dir", "/home/me/p/script": "prog", "/home/me/p/.git": "dir", "/home/me/p/.git/hooks": "dir",
	"/home/me/.ssh": "dir", "/home/me/.ssh/id_rsa": "reg", "/home/me/.aws": "dir", "/home/me/.aws/credentials": "reg", "/home/me/.bashrc": "reg",
	"/home/me/.cargo": "dir", "/home/me/.cargo/credentials.toml": "reg", "/home/me/.npm": "dir",
	"/home/me/p/hard": "=/home/me/.ssh/id_rsa", "/home/me/p/link": "->/home/me/.ssh/id_rsa",
	"/var": "dir", "/var/run": "->/run", "/run": "dir", "/run/docker.sock": "sock", "/run/nscd": "dir", "/run/nscd/socket": "sock", "/run/user/1000/bus": "sock", "/run/app.sock": "sock",
	"/opt/data": "dir", "/opt/data/x": "reg",
}

// machine is the machine of the tests: work = ~/p.
func machine() Machine {
	return Machine{
		Cwd: "/home/me/p", Work: "/home/me/p", PasswdHome: "/home/me", EnvHome: "/home/me", Tmp: []string{"/tmp"}, UID: 1000,
		Program: "/usr/bin/dash", ProgramChain: []string{"/usr/bin/sh", "/usr/lib64/ld-linux-x86-64.so.2"}, SystemBin: []string{"/usr/bin"},
		Nameservers: []netip.Addr{netip.MustParseAddr("10.0.0.53")}, Env: map[string]string{"SSH_AUTH_SOCK": "/tmp/ssh-x/agent.1"},
		RepoAtStart: true, Lookup: world.lookup,
	}
}

// compile binds presets, a policy text ("" for none) and flags.
func compile(t testing.TB, presets []string, policy string, flags FlagValues) *Policy {
	t.Helper()
	p, err := tryCompile(presets, policy, flags, machine())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryCompile(presets []string, policy string, flags FlagValues, m Machine) (*Policy, error) {
	var files []*Source
	if policy != "" {
		s, err := Read("policy.yaml", []byte("ptguard: 1\n"+policy))
		if err != nil {
			return nil, err
		}
		files = append(files, s)
	}
	f, err := FromFlags(flags)
	if err != nil {
		return nil, err
	}
	if len(presets) == 0 {
		presets = []string{"permissive"}
	}
	sources := []*Source{preset(presets[0])}
	return Compile(append(append(sources, files...), f), m)
}

// preset reads each preset once: the property tests bind them thousands of times.
var presetCache = map[string]*Source{}

func preset(name string) *Source {
	if presetCache[name] == nil {
		s, err := Preset(name)
		if err != nil {
			panic(err)
		}
		presetCache[name] = s
	}
	return presetCache[name]
}

// act is a Request in a few words: "read ~/.ssh/id_rsa", "connect 127.0.0.1:80",
// "connect unix /run/x", "exec /bin/ls -l", "rename-source DIR", "mkdir DIR".
func act(t testing.TB, text string) *Request {
	t.Helper()
	words := strings.Fields(text)
	verb, object := words[0], words[1]
	abs := func(p string) string {
		if strings.HasPrefix(p, "~/") {
			return "/home/me" + p[1:]
		}
		if !path.IsAbs(p) {
			return "/home/me/p/" + p
		}
		return p
	}
	if verb == "connect" || verb == "bind" {
		a, err := decode.ParseAccess(verb)
		if err != nil {
			t.Fatal(err)
		}
		r := &Request{Access: a}
		switch object {
		case "unix":
			r.Addr.Family = syscall.AF_UNIX
			if name, ok := strings.CutPrefix(words[2], "@"); ok {
				r.Addr.Abstract = name
			} else {
				r.File = world.file(abs(words[2]))
			}
			return r
		case "tcp", "udp":
			r.Addr.Proto = map[string]Proto{"tcp": ProtoTCP, "udp": ProtoUDP}[object]
			object = words[2]
		}
		ap := netip.MustParseAddrPort(object)
		r.Addr.IP, r.Addr.Port, r.Addr.Family = ap.Addr(), ap.Port(), syscall.AF_INET
		if ap.Addr().Is6() {
			r.Addr.Family = syscall.AF_INET6
		}
		return r
	}
	r := &Request{File: world.file(abs(object))}
	switch verb {
	case "rename-source":
		r.Access, r.Act = decode.Remove, ActRenameSource
	case "rename-target":
		r.Access, r.Act = decode.Create, ActRenameTarget
	case "exchange":
		r.Access, r.Act = decode.Create|decode.Remove, ActExchange
	case "link-source":
		r.Access, r.Act = decode.Read|decode.Write|decode.Attr, ActLinkSource
	case "link-target":
		r.Access, r.Act = decode.Create, ActLinkTarget
	case "symlink":
		r.Access, r.Act = decode.Create, ActSymlink
	case "mkdir":
		r.Access, r.Act = decode.Create, ActMkdir
	case "mknod":
		r.Access, r.Act = decode.Create, ActMknod
	case "exec":
		r.Access, r.Program, r.Argv = decode.Exec, true, words[1:]
	case "interpret":
		r.Access = decode.Exec
	default:
		for w := range strings.SplitSeq(verb, ",") {
			a, err := decode.ParseAccess(w)
			if err != nil {
				t.Fatal(err)
			}
			r.Access |= a
		}
	}
	return r
}
