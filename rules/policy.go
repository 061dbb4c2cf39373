// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"ptguard/decode"
	"ptguard/seals"
)

// Mode gives strict, permissive or open.
func (p *Policy) Mode() string { return p.mode }

// WritableRoots gives the literal prefixes of the write rules, then the built-in roots,
// in the order they are tried.
func (p *Policy) WritableRoots() []string { return append([]string(nil), p.writable...) }

// Lifted lists the preset denies that a file or flag lifted, one line each.
func (p *Policy) Lifted() []string { return append([]string(nil), p.lifted...) }

// Warnings are remarks for `check` and the start of a run.
func (p *Policy) Warnings() []Warning { return append([]Warning(nil), p.warnings...) }

// Needs says which acts a policy can refuse, for the compiler of the seccomp filter:
// what no rule can refuse need not stop.
type Needs struct {
	// Reads: an open that only reads (or lists) can be refused by a rule. In mode
	// permissive that is so if any deny or hide covers reading.
	Reads bool
	// DeviceReads: only the kind of the object can refuse a reading open: permissive
	// reads regular files, directories, links and FIFOs, not every device.
	DeviceReads bool
	// GuardReads: a guard can refuse a reading open (/proc of outsiders). Always true;
	// whoever has closed /proc by other means may leave these opens alone.
	GuardReads bool
	// Looks: a call that only looks (stat, readlink, chdir) can be refused. Lists: a name
	// may have to be left out of a listing.
	Looks, Lists bool
	// Writes: acts that change can be refused by a rule; false only in mode open.
	Writes bool
	// Strict: the mode is strict.
	Strict bool
	// Exec: an exec can be refused. ExecMap: a PROT_EXEC mapping of a file can be.
	// Argv: some exec rule reads arguments.
	Exec, ExecMap, Argv bool
	// Connect, Bind: an address can be refused; false only in mode open.
	Connect, Bind bool
	// Copies: copying by descriptor can be refused. Seals: there are seals, in whatever mode.
	Copies, Seals bool
	// Families are the address families that a socket may have: some of unix, inet, inet6
	// and netlink-route.
	Families []string
	// Moves: something whose contents are denied may be given another name, so no name may
	// change while a file is opened.
	Moves bool
	// Made: a decision can depend on which files, not only directories and sockets, the tree
	// made itself.
	Made bool
	// Hardened: the hardened profile is on. Forks: there is a limit of processes.
	Hardened, Forks bool
}

// Needs gives what the policy can refuse.
func (p *Policy) Needs() Needs {
	if p.outer != nil {
		return p.need.or(p.outer.Needs())
	}
	return p.need
}

func (p *Policy) needs() Needs {
	n := Needs{GuardReads: true, Families: p.families, Hardened: p.hardened, Forks: p.limits.Processes > 0}
	letters := p.machine.Seals.Letters()
	n.Copies, n.Seals = letters&seals.C != 0, letters != 0
	n.Reads, n.Exec = letters&seals.R != 0, letters&seals.R != 0
	if p.mode == ModeOpen {
		return n
	}
	n.Writes, n.Connect, n.Bind, n.DeviceReads, n.Argv = true, true, true, true, p.argv
	strict := p.mode == ModeStrict
	n.Reads, n.Looks, n.Strict = n.Reads || strict, strict, strict
	n.Exec = n.Exec || strict || p.closed != nil || p.noExec != nil || len(p.progs) > 0
	n.ExecMap = p.closed != nil
	for _, e := range p.entries {
		if !e.role.denies() {
			continue
		}
		n.Reads = n.Reads || e.access&readBundle != 0
		n.Looks = n.Looks || e.access&decode.Look != 0
		n.Moves = n.Moves || !e.program && e.access&decode.Read != 0 && e.access&decode.Remove == 0
		// Permissive executes what may be read, so a deny of reading is one of exec.
		n.Exec = n.Exec || e.access&decode.Exec != 0
		// A deny that covers reading too has refused the open before the mapping.
		n.ExecMap = n.ExecMap || e.access&decode.Map != 0 && e.access&decode.Read == 0
	}
	if p.maskRule != nil {
		n.Reads, n.Looks, n.Exec = true, true, true
	}
	n.Made = p.maskRule != nil || p.roots.ownShm
	n.Lists = n.Looks // what may not be looked at is no name to be told
	for i := range p.progs {
		n.ExecMap = n.ExecMap || p.progs[i].deny && !p.progs[i].hasArgs
	}
	return n
}

// NeedsArgv tells whether Request.Argv is looked at.
func (p *Policy) NeedsArgv() bool {
	if p.mode != ModeOpen && p.argv {
		return true
	}
	return p.outer != nil && p.outer.NeedsArgv()
}

// Line is one rule for `policy show`.
type Line struct {
	Origin string   // as Rule.Pos
	Layer  Layer    // where it was said
	Verb   string   // as Rule.Verb
	Text   string   // as written
	Paths  []string // what it is bound to here
	Access decode.Access
	Reason string
}

// Lines gives every rule with its origin, in layer order, built-in roots last.
func (p *Policy) Lines() []Line {
	out := make([]Line, 0, len(p.rules))
	for _, r := range p.rules {
		out = append(out, Line{r.Pos, r.Layer, r.Verb, r.Text, append([]string(nil), r.Paths...), r.Access, r.Reason})
	}
	return out
}

// Digest is the SHA-256 of the resolved rule list, in hexadecimal: two runs with the
// same digest decide alike. Where a run keeps its trace and its own temp folder is not part
// of it.
func (p *Policy) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "mode %s unlisted %s ask %v fenced %v %q\n", p.mode, p.unlisted, p.ask.On, p.ask.Fenced, p.ask.Fence)
	fmt.Fprintf(h, "masks %t %q hardened %t families %q roots %v\n", p.maskRule != nil, p.except, p.hardened, p.families, p.roots)
	own := map[*Rule]bool{}
	for _, e := range p.protected {
		own[e.rule] = true
	}
	name := func(path string) string {
		if tmp := p.machine.PrivateTmp; tmp != "" && contains(tmp, path) {
			return "@tmp" + strings.TrimPrefix(path, tmp)
		}
		return path
	}
	for _, r := range p.rules {
		if !own[r] {
			fmt.Fprintf(h, "%s\t%s\t%q\t%s\n", r.Layer, r.Verb, name(r.Text), r.Access)
		}
	}
	for _, e := range p.entries {
		if !own[e.rule] {
			fmt.Fprintf(h, "at %d %d %q %q %s\n", e.role, e.shape, name(e.root), e.segs, e.access)
		}
	}
	for i := range p.progs {
		fmt.Fprintf(h, "args %q %v %q\n", p.progs[i].rule.Text, p.progs[i].hasArgs, p.progs[i].args)
	}
	for _, v := range [][]stated{p.env.pass, p.env.set, p.env.drop} {
		for _, s := range v {
			_, _ = io.WriteString(h, "env "+s.word+"\n")
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// finish collects the warnings that need the whole policy.
func (c *compiler) finish() {
	p := c.p
	type said struct{ verb, text string }
	first := map[said]*Rule{}
	for _, r := range p.rules {
		if r.Layer != LayerFile && r.Layer != LayerFlag {
			continue
		}
		key := said{r.Verb, r.Text}
		if old := first[key]; old != nil && !strings.HasPrefix(r.Verb, "exec.") {
			c.warn(r.Pos, "no act can reach this rule: %s says the same at %s", r.Verb, old.Pos)
			continue
		}
		first[key] = r
	}
	c.shadowed()
	c.shadowedNet()
	if p.mode != ModeStrict {
		for _, s := range p.env.pass {
			if p.env.passPos[s.word] != "" {
				c.warn(p.env.passPos[s.word], "env.pass %s has no effect: mode %s passes the environment unchanged", s.word, p.mode)
			}
		}
	}
}

// shadowed warns of allows that lie wholly under a deny of a file or flag for all that
// they grant.
func (c *compiler) shadowed() {
	p := c.p
	for _, e := range p.entries {
		if e.role != roleUserAllow {
			continue
		}
		for _, d := range p.under(e.root) {
			if d.role != roleUserDeny && d.role != roleUserHide || e.access&^decode.Look&^d.access != 0 {
				continue
			}
			if d.shape == shapeTree || d.shape == shapeContents && (d.root != e.root || e.shape == shapeContents) {
				c.warn(e.rule.Pos, "no act can reach this rule: %s %s at %s beats it", d.rule.Verb, d.rule.Text, d.rule.Pos)
				break
			}
		}
	}
	// By name: exec.deny of a program that exec.allow names.
	for _, e := range p.entries {
		if e.role != roleUserAllow || e.rule.Verb != "exec.allow" || e.shape == shapeGlob || e.shape == shapeContents {
			continue
		}
		for i := range p.progs {
			if g := &p.progs[i]; g.deny && !g.hasArgs && g.matchesPath(e.root) {
				c.warn(e.rule.Pos, "no act can reach this rule: exec.deny %s at %s beats it", g.rule.Text, g.rule.Pos)
				break
			}
		}
	}
}

// under gives the entries attached on the way to a path, its own node included.
func (p *Policy) under(path string) []*entry {
	n, rest := &p.root, strings.TrimLeft(path, "/")
	var out []*entry
	for n != nil {
		out = append(out, n.entries...)
		if rest == "" {
			break
		}
		var name string
		name, rest = cutComponent(rest)
		n = n.kids.find(name)
	}
	return out
}

func (c *compiler) shadowedNet() {
	p := c.p
	for i := range p.net {
		a := &p.net[i]
		if a.role != roleUserAllow || a.addr.kind != addressIP && a.addr.kind != addressAny {
			continue
		}
		for j := range p.net {
			d := &p.net[j]
			if d.role == roleUserDeny && d.addr.coversAll(&a.addr) {
				c.warn(a.rule.Pos, "no act can reach this rule: %s %s at %s beats it", d.rule.Verb, d.rule.Text, d.rule.Pos)
				break
			}
		}
	}
}

// coversAll tells whether every socket address of b is one of a.
func (a *address) coversAll(b *address) bool {
	if a.kind != addressIP && a.kind != addressAny || a.proto != ProtoOther && a.proto != b.proto || b.lo < a.lo || b.hi > a.hi {
		return false
	}
	return a.kind == addressAny || b.kind == addressIP && a.prefix.Bits() <= b.prefix.Bits() && a.prefix.Contains(b.prefix.Addr())
}
