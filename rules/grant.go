// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"net/netip"
	"path"
	"strconv"
	"strings"
	"syscall"

	"ptguard/decode"
)

// GrantKind says how long a grant lasts.
type GrantKind string

// The answers that grant something.
const (
	GrantOnce   GrantKind = "once"   // the call at hand
	GrantRun    GrantKind = "run"    // this run
	GrantAlways GrantKind = "always" // every run of the same fence
)

// Grant is what one answer gives: a folder or object with all beneath, or an address. It is
// asked at step 9, after every deny; devices it never covers, nor does one that is kept let
// another object take the name of its folder.
type Grant struct {
	Kind GrantKind
	// Access is Read, Write, Exec, Connect or Bind: the word of the question. Write implies
	// read, and so does Exec, or nothing could be loaded; read implies nothing.
	Access decode.Access
	// Path is canonical; "" for an address.
	Path string
	// Inode is the object that was asked about, for GrantOnce; zero if it was not there.
	Inode Inode
	Addr  Addr // for Connect and Bind without a path

	rule *Rule
	bits decode.Access
}

// String gives the grant in words: "read /srv/data", "connect tcp 10.0.0.1:443".
func (g *Grant) String() string {
	object := g.Path
	if object == "" {
		object = addressText(&g.Addr)
	}
	return accessWord(g.Access) + " " + object
}

func accessWord(a decode.Access) string {
	switch a {
	case decode.Read:
		return "read"
	case decode.Write:
		return "write"
	case decode.Exec:
		return "exec"
	case decode.Connect:
		return "connect"
	}
	return "bind"
}

// GrantAccess is the inverse of the first word of Grant.String; 0 for any other word.
func GrantAccess(word string) decode.Access {
	for _, a := range []decode.Access{decode.Read, decode.Write, decode.Exec, decode.Connect, decode.Bind} {
		if accessWord(a) == word {
			return a
		}
	}
	return 0
}

// addressText writes an address as a net rule would name it.
func addressText(a *Addr) string {
	switch {
	case a.Abstract != "":
		return "unix @" + escapeGlob(a.Abstract)
	case a.Proto == ProtoTCP:
		return "tcp " + netip.AddrPortFrom(a.IP, a.Port).String()
	case a.Proto == ProtoUDP:
		return "udp " + netip.AddrPortFrom(a.IP, a.Port).String()
	case a.IP.IsValid():
		return netip.AddrPortFrom(a.IP, a.Port).String()
	}
	return "family " + strconv.Itoa(int(a.Family))
}

// bundle is what a question's word stands for.
func (g *Grant) bundle() decode.Access {
	switch g.Access {
	case decode.Read:
		return readBundle
	case decode.Write:
		return writeBundle
	case decode.Exec:
		return readBundle | decode.Exec
	case decode.Connect, decode.Bind:
		if g.Path != "" {
			return g.Access | decode.Look
		}
		return g.Access
	}
	return 0
}

// Answers are the grants that hold, in the order they were given. The zero value has none.
type Answers struct{ list []Grant }

// Add adds a grant.
func (g *Answers) Add(x Grant) {
	x.bits = x.bundle()
	x.rule = &Rule{
		Pos: "grant " + string(x.Kind), Layer: LayerGrant, Verb: "grant", Text: x.String(), Access: x.bits,
		Reason: "allowed when asked (" + string(x.Kind) + "): " + x.String(),
	}
	g.list = append(g.list, x)
}

// List gives the grants.
func (g *Answers) List() []Grant {
	if g == nil {
		return nil
	}
	return append([]Grant(nil), g.list...)
}

// Len is the number of grants.
func (g *Answers) Len() int { return len(g.list) }

// give tells what of missing the grants cover for a request.
func (g *Answers) give(r *Request, missing decode.Access) (got decode.Access, rule *Rule) {
	if g == nil {
		return 0, nil
	}
	for i := range g.list {
		x := &g.list[i]
		if bits := x.covers(r) & missing &^ got; bits != 0 {
			got |= bits
			rule = x.rule
		}
	}
	return got, rule
}

// covers gives the accesses of a grant to the object of a request.
func (g *Grant) covers(r *Request) decode.Access {
	f := &r.File
	switch {
	case g.Path == "":
		if r.pathSocket() || !sameAddr(&g.Addr, &r.Addr) {
			return 0
		}
		return g.bits
	case f.Path == "" || f.isDevice():
		return 0
	case g.Path == f.Path:
		if g.Kind == GrantOnce {
			if g.Inode != (Inode{}) && g.Inode != f.Inode {
				return 0 // another object has come there since
			}
		} else if r.Act != ActMkdir && f.Mode&typeMask != typeDir {
			return g.bits &^ (decode.Create | decode.Bind)
		}
		return g.bits
	case contains(g.Path, f.Path):
		return g.bits
	case contains(f.Path, g.Path):
		return decode.Look // the way there
	}
	return 0
}

// sameAddr compares what a person was shown.
func sameAddr(a, b *Addr) bool {
	return a.Family == b.Family && a.Proto == b.Proto && a.Port == b.Port && a.IP == b.IP && a.Abstract == b.Abstract && !b.Nameless && !b.Autobind
}

// Question is a request that is asked about, with what the answers would give.
type Question struct {
	// Verb is "read", "write", "execute", "connect to" or "bind"; Object the canonical path
	// or the address.
	Verb, Object string
	// Once is the grant for the call alone; Kept the one for this run, or always.
	Once, Kept Grant
	// Broad: Kept would be the root, a first-level folder, a home or one above a home, so
	// there is only Once.
	Broad bool
}

// Question puts a decision with verdict Ask into a question.
func (p *Policy) Question(r *Request, d Decision) Question {
	q := Question{Object: r.File.Path}
	access := decode.Read
	switch {
	case r.Access&decode.Connect != 0:
		q.Verb, access = "connect to", decode.Connect
	case r.Access&decode.Bind != 0 && !r.pathSocket():
		q.Verb, access = "bind", decode.Bind
	case d.Access&decode.Exec != 0:
		q.Verb, access = "execute", decode.Exec
	case d.Access&(decode.Change|decode.Bind) != 0:
		q.Verb, access = "write", decode.Write
	default:
		q.Verb = "read"
	}
	q.Once = Grant{Kind: GrantOnce, Access: access, Path: r.File.Path, Inode: r.File.Inode}
	q.Kept = Grant{Kind: GrantRun, Access: access}
	switch {
	case q.Object == "":
		q.Once.Addr = r.Addr
		q.Kept.Addr = r.Addr
		q.Object = addressText(&r.Addr)
	case access == decode.Connect:
		q.Kept.Path = r.File.Path // one socket, not its neighbours
	default:
		q.Kept.Path = p.folderOf(r, access)
		q.Broad = p.tooBroad(q.Kept.Path)
	}
	return q
}

// folderOf is the folder that an answer for the whole run would open: the object itself if
// it is a directory that is only read or executed in, else the one it lies in.
func (p *Policy) folderOf(r *Request, access decode.Access) string {
	f := &r.File
	if access == decode.Read && f.Exists && f.Mode&typeMask == typeDir {
		return f.Path
	}
	return path.Dir(f.Path)
}

// tooBroad tells whether a folder is the root, a first-level one, a home or above a home:
// granting it would grant nearly everything.
func (p *Policy) tooBroad(dir string) bool {
	if dir == "/" || firstLevel(dir) {
		return true
	}
	for _, h := range p.homes {
		if contains(dir, h) {
			return true
		}
	}
	return false
}

// askedAddr is asked for addresses: what has no name a person could judge is refused.
func (p *Policy) askedAddr(r *Request, d Decision) Decision {
	a := &r.Addr
	if a.Autobind || a.Nameless || strings.ContainsRune(a.Abstract, 0) {
		return d
	}
	if a.Family == syscall.AF_UNIX && a.Abstract == "" || a.Family != syscall.AF_UNIX && !a.IP.IsValid() {
		return d
	}
	return p.asked(r, d)
}
