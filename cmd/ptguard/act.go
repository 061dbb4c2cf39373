// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
	"ptguard/tracer"
)

// An act in words, as `why` and the test table of a policy take it: ACCESS OBJECT…

// namedActs are the acts that no access names alone, with the call whose row in the table
// says what they need.
var namedActs = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"mkdir": "mkdirat", "rename": "renameat2", "link": "linkat", "symlink": "symlinkat",
	}
})

// accessWords are the words that ACCESS may be.
func accessWords() []string {
	words := (decode.AllFile | decode.Connect | decode.Bind).Names()
	return append(words, "mkdir", "rename", "link", "symlink")
}

// act is one question in words and as the tracer takes it.
type act struct {
	words []string
	tracer.Act
	socket int // of an address act, to be closed; else 0
}

// ask is Inquiry.Ask; the act cannot be asked again.
func (a act) ask(q *inquiry) ([]tracer.Answer, unix.Errno, error) {
	if a.socket > 0 {
		defer unix.Close(a.socket)
	}
	return q.Ask(a.Act)
}

// parseAct reads ACCESS OBJECT…; several objects of a file access are several acts.
// Relative paths are taken from dir, and a leading ~/ is home. The error says what is wrong.
func parseAct(words []string, dir, home string) ([]act, error) {
	if len(words) == 0 {
		return nil, errors.New("which act? ACCESS OBJECT…, such as: read ~/.ssh/id_rsa")
	}
	word, objects := words[0], words[1:]
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s what? ACCESS OBJECT…, such as: read ~/.ssh/id_rsa", record.Escape(word))
	}
	var homeless error
	acts, err := actsOf(word, objects, func(path string) string {
		switch {
		case path == "~" || strings.HasPrefix(path, "~/"):
			if home == "" {
				homeless = fmt.Errorf("%s: no home folder is known (HOME is not set, and the password file has none): write the whole path", record.Escape(path))
			}
			return home + path[1:]
		case !strings.HasPrefix(path, "/") && dir != "":
			return dir + "/" + path
		}
		return path
	})
	if err == nil && homeless != nil { // no such act has a socket that would have to be closed
		return nil, homeless
	}
	return acts, err
}

// actsOf is parseAct for an access and its objects; place makes paths of words.
func actsOf(word string, objects []string, place func(string) string) ([]act, error) {
	if call := namedActs()[word]; call != "" {
		return namedAct(word, call, objects, place)
	}
	var access decode.Access
	for name := range strings.SplitSeq(word, ",") {
		a, err := decode.ParseAccess(name)
		if err != nil || a == decode.Reach {
			msg := "unknown access " + record.Escape(name)
			if likely := nearest(name, accessWords()); likely != "" {
				return nil, fmt.Errorf("%s (did you mean %s?)", msg, likely)
			}
			return nil, fmt.Errorf("%s (one of %s)", msg, strings.Join(accessWords(), ", "))
		}
		access |= a
	}
	const alone = decode.Exec | decode.Connect | decode.Bind
	if access&alone != 0 && access&(access-1) != 0 {
		return nil, fmt.Errorf("%s: exec, connect and bind are asked alone", word)
	}
	switch access {
	case decode.Exec:
		return execAct(objects, place)
	case decode.Connect, decode.Bind:
		return addressAct(access, objects, place)
	}
	var out []act
	for _, path := range objects {
		if path == "" {
			return nil, errors.New("an empty path names no object")
		}
		out = append(out, act{words: []string{word, path}, Act: fileAct(access, place(path))})
	}
	return out, nil
}

// fileAct is the call that a program would make for an access: open(2) for reading and
// writing, with O_CREAT for the latter; the entry's own call for making and removing it.
func fileAct(access decode.Access, path string) tracer.Act {
	o := decode.Object{Kind: decode.Path, Access: access, Dirfd: unix.AT_FDCWD, Path: path}
	opens := access&(decode.Read|decode.Write) != 0 && access&^(decode.Read|decode.Write|decode.Create) == 0
	switch {
	case opens:
		o.Opens, o.MayCreate, o.Access = true, access&(decode.Write|decode.Create) != 0, access&^decode.Create
	case access == decode.Create:
		o.Kind = decode.Entry
	case access == decode.Remove:
		o.Kind = decode.Entry
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			o.Act = decode.ActRmdir
		}
	}
	return tracer.Act{Objects: []decode.Object{o}, Opens: opens}
}

// namedAct takes the objects from the row of the call.
func namedAct(word, call string, objects []string, place func(string) string) ([]act, error) {
	i := slices.IndexFunc(decode.Rows, func(r decode.Row) bool { return r.Name == call })
	if i < 0 {
		return nil, fmt.Errorf("bug: the table has no row %s", call)
	}
	if word == "symlink" && len(objects) == 2 {
		objects = objects[1:] // where it leads is judged when it is used
	}
	var a tracer.Act
	for _, arg := range decode.Rows[i].Args {
		if arg.Kind != decode.Path && arg.Kind != decode.Entry {
			continue
		}
		if n := len(a.Objects); n < len(objects) {
			a.Objects = append(a.Objects, decode.Object{Kind: arg.Kind, Access: arg.Access, Act: arg.Act, NoFollow: arg.NoLink, Dirfd: unix.AT_FDCWD, Path: place(objects[n])})
			continue
		}
		return nil, fmt.Errorf("%s takes two names: from and to", word)
	}
	if len(a.Objects) != len(objects) {
		return nil, fmt.Errorf("%s takes %d name(s), not %d", word, len(a.Objects), len(objects))
	}
	return []act{{words: append([]string{word}, objects...), Act: a}}, nil
}

// execAct is the exec of a program with its arguments. A name without a slash is searched
// in PATH, as a shell does.
func execAct(argv []string, place func(string) string) ([]act, error) {
	path, err := findProgram(argv[0], os.Environ())
	if strings.Contains(argv[0], "/") {
		path, err = place(argv[0]), nil
	}
	if err != nil {
		return nil, err
	}
	o := decode.Object{Kind: decode.Path, Access: decode.Exec, Dirfd: unix.AT_FDCWD, Path: path}
	return []act{{words: append([]string{"exec"}, argv...), Act: tracer.Act{Objects: []decode.Object{o}, Argv: argv}}}, nil
}

// addressAct is a connect or bind: [tcp|udp] HOST:PORT, unix PATH or unix @NAME, in one
// word or two.
func addressAct(access decode.Access, objects []string, place func(string) string) ([]act, error) {
	text := strings.Join(objects, " ")
	kind, rest, found := strings.Cut(text, " ")
	if !found || kind != "tcp" && kind != "udp" && kind != "unix" {
		kind, rest = "tcp", text
	}
	o := decode.Object{Kind: decode.Sockaddr, Access: access, Dirfd: -1}
	switch kind {
	case "unix":
		o.Addr.Family = unix.AF_UNIX
		if name, ok := strings.CutPrefix(rest, "@"); ok {
			o.Addr.Abstract, o.Addr.NoPath = name, true
		} else {
			o.Path = place(rest)
			o.Addr.Path = o.Path
		}
	default:
		at, err := netip.ParseAddrPort(rest)
		if err != nil {
			return nil, fmt.Errorf("%s: no address: want [tcp|udp] IP:PORT ([IPv6]:PORT), unix PATH or unix @NAME; rules are by address, not by name", record.Escape(text))
		}
		o.Addr.IP, o.Addr.Port, o.Addr.Family = at.Addr().Unmap().WithZone(""), at.Port(), unix.AF_INET6
		socket := unix.SOCK_STREAM
		if kind == "udp" {
			socket = unix.SOCK_DGRAM
		}
		if at.Addr().Is4() {
			o.Addr.Family = unix.AF_INET
		}
		// The socket tells its protocol, as that of a tracee does.
		fd, err := unix.Socket(int(o.Addr.Family), socket|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: make a socket to ask about: %w", record.Escape(text), err)
		}
		o.Dirfd = int32(fd)
	}
	words := append([]string{access.String()}, objects...)
	return []act{{words: words, Act: tracer.Act{Objects: []decode.Object{o}}, socket: max(0, int(o.Dirfd))}}, nil
}

// inquiry is a policy bound to this machine, to be asked.
type inquiry struct {
	*tracer.Inquiry
	policy  *rules.Policy // of the scope that is asked about
	digest  string        // of what holds in no scope
	scopes  *rules.Scopes // nil without any
	machine *machine
}

// runFacts are what of a run is not in its policy flags.
type runFacts struct {
	program string   // CMD, "" where there is none: what it brings with it is then not granted
	scope   string   // that CMD is started in, "" for none
	tmp     string   // the temp folder that the run made for itself, "" for none
	own     []string // files of ptguard's besides the policies
}

// inquire binds the policy of the flags, to be asked in the scope in of its scopes ("" for
// none).
func (f *policyFlags) inquire(run runFacts, in string) (*inquiry, error) {
	layers, files, err := f.sources()
	if err != nil {
		return nil, err
	}
	m, err := newMachine(layers, f.workFolder(layers), os.Environ())
	if err != nil {
		return nil, err
	}
	if run.tmp != "" {
		if rules.PrivateTmp(layers) {
			m.facts.Tmp = nil
		}
		m.facts.Tmp, m.facts.PrivateTmp = append(m.facts.Tmp, run.tmp), run.tmp
	}
	sealed, places, err := loadSeals(f.Seals)
	if err != nil {
		return nil, err
	}
	m.facts.Seals = bindSeals(sealed, m.facts)
	if err := m.protect(slices.Concat(files, places, run.own, approvalsFile())); err != nil {
		return nil, err
	}
	start := run.scope
	if start == "" {
		start = in
	}
	p, scopes, err := m.bind(layers, run.program, start)
	if err != nil {
		return nil, err
	}
	if err := boundBlindly(); err != nil {
		return nil, err
	}
	base := p.Digest()
	if sc := scopes.Named(in); sc != nil {
		p = sc.Policy
	}
	q, err := tracer.NewInquiry(p, in)
	if err != nil {
		return nil, err
	}
	return &inquiry{q, p, base, scopes, m}, nil
}

// protect adds files that the tree must not change, with the links that lead to them.
func (m *machine) protect(files []string) error {
	f := m.facts
	for _, name := range files {
		o, err := resolve.Canonical(absolute(f.Cwd, name))
		if err != nil {
			return err
		}
		f.Protected = append(f.Protected, o.Path)
		f.Links = append(f.Links, o.Hops...)
	}
	return nil
}
