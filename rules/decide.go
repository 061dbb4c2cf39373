// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"net/netip"
	"strings"
	"syscall"

	"ptguard/decode"
)

// st_mode types of inode(7).
const (
	typeMask    = 0o170000
	typeSocket  = 0o140000
	typeLink    = 0o120000
	typeRegular = 0o100000
	typeBlock   = 0o060000
	typeDir     = 0o040000
	typeChar    = 0o020000
	typeFIFO    = 0o010000
)

// Decide answers one request. It is the one place where anything is allowed or refused:
// enforcement, `why`, `replay`, `check` and tests call it. The steps are those of
// docs/manual.md, How a decision is made. Allowing costs no allocation.
func (p *Policy) Decide(r *Request) Decision {
	d := p.decide(r, nil)
	if p.outer == nil {
		return d
	}
	d.by = p
	if d.Verdict < Hide {
		if o := p.outer.Decide(r); o.Verdict > d.Verdict {
			if o.by == nil {
				o.by = p.outer
			}
			return o
		}
	}
	return d
}

// decide is Decide for one policy; c, if it is not nil, is told of every rule that was
// looked at.
func (p *Policy) decide(r *Request, c *chain) Decision {
	// 1. Guards.
	if rule := p.guard(r); rule != nil {
		c.note(stepGuards, rule, Refuses, r.Access)
		return refuse(rule, r.Access)
	}
	if r.Access == decode.Reach { // the guard has looked at the process
		c.note(stepGuards, ownProcess, Grants, r.Access)
		return Decision{Verdict: Allow, Rule: ownProcess, Access: r.Access}
	}
	// 2. Seals.
	if rule := p.sealed(r); rule != nil {
		c.note(stepSeals, rule, Refuses, r.Access)
		return refuse(rule, r.Access)
	}
	if r.Access == decode.Copy { // nothing but a seal is about that
		c.note(stepSeals, ruleCopy, Grants, r.Access)
		return Decision{Verdict: Allow, Rule: ruleCopy, Access: r.Access}
	}

	if p.outOfReach(r) {
		c.note(stepGuards, ruleUnreachable, Refuses, r.Access)
		return refuse(ruleUnreachable, r.Access)
	}

	// 3. Mode open.
	if p.mode == ModeOpen {
		c.note(stepOpen, p.modeRule, Grants, r.Access)
		return Decision{Verdict: Allow, Rule: p.modeRule, Access: r.Access}
	}
	// 4. Scopes: that of user is a policy of its own, in which nothing else allows.

	if r.Access&(decode.Connect|decode.Bind) != 0 && !r.pathSocket() {
		return p.decideAddr(r, c)
	}
	return p.decideFile(r, c)
}

// pathSocket tells whether a Connect or Bind is about a socket in the file system.
func (r *Request) pathSocket() bool {
	return r.Addr.Family == syscall.AF_UNIX && r.File.Path != "" && r.Addr.Abstract == "" && !r.Addr.Autobind
}

func refuse(rule *Rule, access decode.Access) Decision {
	return Decision{Verdict: Deny, Errno: syscall.EPERM, Rule: rule, Access: access}
}

// hide is the answer as if the object were not there; what would make its name is
// refused with EPERM, for ENOENT would make no sense there. An exchange makes no name: it
// wants both to be there.
func hide(rule *Rule, access decode.Access, act Act) Decision {
	d := Decision{Verdict: Hide, Errno: syscall.ENOENT, Rule: rule, Access: access}
	if access&(decode.Create|decode.Bind) != 0 && act != ActExchange {
		d.Errno = syscall.EPERM
	}
	return d
}

// question is one file request on its way through the steps.
type question struct {
	r    *Request
	need decode.Access // what must be granted
	want decode.Access // need, and Read where it decides about Exec

	hide, deny         *entry // step 5
	presetHide, preset *entry // step 7
	// presetBits are what preset denies.
	presetBits         decode.Access
	userBits, baseBits decode.Access // steps 6 and 8
	seen               bool          // some allow lets the object be looked at
	fresh              bool          // no mask, for the object is not there
	user, base         *entry
	// at is the node of the path, nil if no rule is attached there or beneath.
	at *node
	// chain is told of what was looked at, nil if nobody asks.
	chain *chain
}

// take notes an entry that covers the object; atRoot tells that it is the entry's root.
func (q *question) take(e *entry, atRoot bool) {
	bits := e.access & q.need
	if e.apiOnly && q.r.Scope != ScopeAPI {
		return
	}
	if e.access&decode.Connect != 0 && q.renames() {
		// Under another name no rule would find the socket.
		bits = q.need
	}
	if q.takesOut(e) {
		bits = q.need
	}
	switch e.role {
	case roleUserAllow, roleBaseAllow:
		q.seen = q.seen || e.access&decode.Look != 0 && (!e.own || atRoot || !q.r.File.Exists || q.r.File.Made)
		bits = q.granted(e, atRoot)
		q.chain.entry(e, Grants, bits)
		if bits == 0 {
			return
		}
		if e.role == roleUserAllow {
			q.userBits |= bits
			q.user = e
		} else {
			q.baseBits |= bits
			q.base = e
		}
		return
	}
	if bits == decode.Map && e.program && !e.namesProgram(&q.r.File) {
		bits = 0
	}
	if bits == 0 {
		q.chain.entry(e, effectOf(e), 0)
		return
	}
	switch e.role {
	case roleUserDeny:
		q.deny = e
	case roleUserHide:
		q.hide = e
	case rolePresetDeny, rolePresetHide:
		if q.r.File.Made {
			q.chain.entry(e, Exempts, bits)
			return
		}
		for _, a := range e.lifters {
			if a.matches(q.r.File.Path) {
				q.chain.lifted(e, a, bits&a.access)
				bits &^= a.access
			}
		}
		if bits == 0 {
			return
		}
		q.presetBits |= bits
		if e.role.hides() {
			q.presetHide = e
		} else {
			q.preset = e
		}
	}
	q.chain.entry(e, effectOf(e), bits)
}

// takesOut tells whether the act takes an object away from a deny of what is in it: under
// another name it could be read.
func (q *question) takesOut(e *entry) bool {
	return (q.r.Act == ActRenameSource || q.r.Act == ActExchange) && e.access&(decode.Read|decode.List) != 0 && !e.program &&
		(e.role == roleUserDeny || e.role == rolePresetDeny)
}

// renames tells whether the act may give a socket another name, by itself or with its
// directory.
func (q *question) renames() bool {
	switch q.r.File.Mode & typeMask {
	case typeSocket, typeDir, 0:
		return q.r.Act == ActRenameSource || q.r.Act == ActExchange || q.r.Act == ActLinkSource
	}
	return false
}

// namesProgram tells whether an exec.deny takes Map from a file: always if it names the
// very file, else if that looks like a program. The loader and libraries stay mappable.
func (e *entry) namesProgram(f *File) bool {
	return e.shape != shapeGlob && e.root == f.Path || looksLikeProgram(f)
}

func looksLikeProgram(f *File) bool {
	if f.Mode&typeMask != typeRegular || f.Mode&0o111 == 0 {
		return false
	}
	name := baseName(f.Path)
	return !strings.HasSuffix(name, ".so") && !strings.Contains(name, ".so.") && !strings.HasPrefix(name, "ld-")
}

// granted is what an allow gives for the object.
func (q *question) granted(e *entry, atRoot bool) decode.Access {
	bits := e.access & q.want
	f := &q.r.File
	if e.follows && q.r.Program {
		bits &^= decode.Exec
	}
	if f.isDevice() && !e.namesDevice() {
		// Devices only by a rule that names them.
		bits &= decode.Look
	}
	if e.own && !atRoot && f.Exists && !f.Made {
		return 0
	}
	if atRoot && bits&(decode.Create|decode.Bind) != 0 && !q.mayTakeName(e) {
		bits &^= decode.Create | decode.Bind
	}
	return bits
}

// mayTakeName tells whether the act may make the name of a write rule's root: mkdir, or,
// where the root is a file, making that file. A directory that exists is asked about for
// O_TMPFILE, which makes a name in it.
func (q *question) mayTakeName(e *entry) bool {
	switch q.r.Act {
	case ActMkdir:
		return true
	case ActOther:
		f := &q.r.File
		return !e.folder || f.Exists && f.Mode&typeMask == typeDir
	case ActRenameTarget:
		// How editors and git replace a file. Not by a link: whoever else reads the name
		// would be led away.
		return !e.folder && q.r.NodeType&typeMask == typeRegular && (!q.r.File.Exists || q.r.File.Mode&typeMask == typeRegular)
	}
	return false
}

func (f *File) isDevice() bool {
	t := f.Mode & typeMask
	return f.Exists && (t == typeBlock || t == typeChar)
}

// namesDevice tells whether a rule is about devices: one beneath /dev, or of that one
// object.
func (e *entry) namesDevice() bool {
	if e.role != roleUserAllow {
		return false
	}
	return e.shape == shapeExact || strings.HasPrefix(e.root, "/dev/") || e.root == "/dev" && e.shape == shapeGlob
}

// decideFile is steps 5 to 10 for objects of the file system.
func (p *Policy) decideFile(r *Request, c *chain) Decision {
	f := &r.File
	q := question{r: r, need: r.Access, want: r.Access, chain: c}
	readable := r.Access&decode.Exec != 0 && p.mode == ModePermissive && p.closed == nil
	if readable {
		q.want |= decode.Read
	}
	if f.Path != "" {
		q.at = p.walk(&q, f.Path, false)
	}
	for _, s := range f.Spellings {
		if s != f.Path {
			p.walkSpelling(&q, s)
		}
	}
	if f.Exists && len(p.inodes) > 0 {
		for _, e := range p.inodes[f.Inode] {
			q.take(e, true)
		}
	}

	// 5. deny and hide of a policy file or flag. Hide first: a refusal would tell that
	// the object is there.
	if q.hide != nil {
		return hide(q.hide.rule, q.need, r.Act)
	}
	if q.deny != nil {
		return refuse(q.deny.rule, q.need&(q.deny.access|decode.Look))
	}
	if q.need&(decode.Exec|decode.Map) != 0 {
		if rule := p.denyProgram(r); rule != nil {
			c.note(stepDeny, rule, Refuses, q.need&(decode.Exec|decode.Map))
			return refuse(rule, q.need&(decode.Exec|decode.Map))
		}
	}
	if rule := p.carriesAlong(&q); rule != nil {
		c.note(stepDeny, rule, Refuses, q.need)
		return refuse(rule, q.need)
	}

	// 6. allow of a file or flag; which preset denies it lifts, take has found.
	missing := q.need &^ q.presetBits
	decided := (*Rule)(nil)
	if got := q.userBits & missing; got != 0 {
		missing &^= got
		decided = q.user.rule
	}

	// 7. deny and hide of a preset, masks.
	if q.presetHide != nil {
		return hide(q.presetHide.rule, q.need, r.Act)
	}
	if q.preset != nil {
		if p.unlisted == Hide && !p.shows(&q) {
			return hide(q.preset.rule, q.presetBits, r.Act) // it would not be visible anyway
		}
		return refuse(q.preset.rule, q.presetBits)
	}
	if taken, absent := p.mask(&q); absent {
		c.note(stepPreset, p.maskRule, Hides, q.need)
		return hide(p.maskRule, q.need, r.Act)
	} else if taken != 0 {
		c.note(stepPreset, p.maskRule, Refuses, taken)
		return refuse(p.maskRule, taken)
	}

	// 8. allow of a preset, built-in roots.
	if got := q.baseBits & missing; got != 0 {
		missing &^= got
		if decided == nil {
			decided = q.base.rule
		}
	}
	if missing != 0 {
		if got, rule := p.intrinsic(&q, missing); got != 0 {
			c.note(stepBase, rule, Grants, got)
			missing &^= got
			if decided == nil || missing == 0 {
				decided = rule
			}
		}
	}
	if missing&decode.Exec != 0 {
		if rule := p.allowProgram(&q, readable); rule != nil {
			c.note(stepBase, rule, Grants, decode.Exec)
			missing &^= decode.Exec
			decided = rule
		}
	}

	// 9. Grants given while running.
	for _, g := range p.answersFor(r) {
		if got, rule := g.give(r, missing); got != 0 {
			c.note(stepGrants, rule, Grants, got)
			missing &^= got
			if decided == nil || missing == 0 {
				decided = rule
			}
		}
	}

	// 10. The mode.
	if got := p.byMode(f) & missing; got != 0 {
		c.note(stepMode, p.modeRule, Grants, got)
		missing &^= got
		if decided == nil {
			decided = p.modeRule
		}
	}
	if missing == 0 {
		if decided == nil {
			decided = p.modeRule
		}
		return Decision{Verdict: Allow, Rule: decided, Access: r.Access, Fresh: q.fresh}
	}
	return p.unlistedFile(&q, missing)
}

// unlistedFile is the answer for what nothing granted.
func (p *Policy) unlistedFile(q *question, missing decode.Access) Decision {
	rule := p.unlistedRule()
	if missing&decode.Exec != 0 && p.closed != nil && p.scope != ScopeUser {
		rule = p.closed
	}
	if p.unlisted == Hide && !p.shows(q) {
		q.chain.note(stepMode, rule, Hides, missing)
		return p.asked(q.r, hide(rule, missing, q.r.Act))
	}
	q.chain.note(stepMode, rule, Refuses, missing)
	return p.asked(q.r, refuse(rule, missing))
}

// shows tells whether the object may be looked at: what may not is hidden, where unlisted
// says so, and what may is refused.
func (p *Policy) shows(q *question) bool {
	return q.seen || p.byMode(&q.r.File) != 0 || q.at != nil && q.at.visible != nil
}

// byMode is what the mode grants by itself.
func (p *Policy) byMode(f *File) decode.Access {
	if p.mode != ModePermissive {
		return 0
	}
	if f.Exists {
		switch f.Mode & typeMask {
		case typeRegular, typeDir, typeLink, typeFIFO:
		default:
			return decode.Look
		}
	}
	return readBundle
}

// carriesAlong refuses to rename or exchange a directory with a denied path beneath it:
// under its new name the rule would not find it.
func (p *Policy) carriesAlong(q *question) *Rule {
	if q.r.Act != ActRenameSource && q.r.Act != ActExchange {
		return nil
	}
	t := q.r.File.Mode & typeMask
	if folder := t == typeDir || t == 0; folder {
		for _, e := range p.globs {
			if e.leadsTo(q.r.File.Path) && !(e.role.preset() && (q.r.File.Made || e.lifted)) {
				return e.rule
			}
		}
	}
	if q.at == nil {
		return nil
	}
	e := q.at.below
	if q.at.denied != nil && (t == typeDir || t == 0) {
		e = q.at.denied
	}
	if e == nil || e.role.preset() && q.r.File.Made {
		return nil
	}
	return e.rule
}

// outOfReach tells whether what is asked about has a name that nobody can know, so that denies
// and seals cannot be asked for it: a directory can be moved so deep that what lies in it has
// none. What a descriptor holds was decided on when it was opened, and looking is free where no
// rule hides anything.
func (p *Policy) outOfReach(r *Request) bool {
	f := &r.File
	if !f.Unreachable || p.mode == ModeOpen && p.machine.Seals == nil {
		return false
	}
	missing := r.Access &^ f.Held
	return missing&^decode.Look != 0 || missing != 0 && p.need.Looks
}

// intrinsic are the built-in roots that go by what an object is, not by its name.
func (p *Policy) intrinsic(q *question, missing decode.Access) (decode.Access, *Rule) {
	f := &q.r.File
	switch {
	case f.Nameless:
		// The tree holds it. Executing is another matter: allowProgram.
		return missing &^ decode.Exec, ruleOwnDescriptor
	case f.Held&missing == missing:
		return missing, ruleOwnDescriptor
	case f.isDevice():
		if rule := deviceRule(f); rule != nil {
			return rule.Access & missing, rule
		}
	case f.Owner == OwnerTree:
		return ownProc(f.Path) & missing, ruleOwnProc
	case missing == decode.Look && ownLink(f.Path):
		return missing, ruleOwnProc
	}
	if q.r.Act == ActMkdir && !f.Exists && q.at != nil && q.at.writable != nil {
		return decode.Create & missing, q.at.writable
	}
	if missing&(decode.Look|decode.List) != 0 && q.at != nil && q.at.visible != nil {
		// The way to something visible. Its listing leaves out every other name.
		return missing & (decode.Look | decode.List), q.at.visible
	}
	if got := f.Held & missing; got != 0 {
		return got, ruleOwnDescriptor
	}
	return 0, nil
}

var (
	ruleOwnDescriptor = &Rule{Pos: "builtin own-descriptor", Layer: LayerBuiltin, Verb: "allow", Text: "own descriptors", Reason: "the tree holds it open", Access: decode.AllFile &^ decode.Exec}
	ruleUnreachable   = &Rule{
		Pos: "builtin unreachable", Layer: LayerBuiltin, Verb: "deny", Text: "what no path leads to", Access: decode.AllFile | decode.Connect | decode.Bind, fix: "-",
		Reason: "its name cannot be found (it is far too long, or of another mount), so no rule can be asked about it", Hint: "use shorter names, or fewer folders in folders",
	}
	ruleOwnProc  = &Rule{Pos: "builtin own-proc", Layer: LayerBuiltin, Verb: "allow", Text: "/proc/<own>", Reason: "a process of the tree looks at its own", Access: readBundle | decode.Write}
	ruleDevice   = &Rule{Pos: "builtin device", Layer: LayerBuiltin, Verb: "allow", Text: "null zero full random urandom tty ptmx", Reason: "a device that everybody may use", Access: decode.Look | decode.Read | decode.Write | decode.Map}
	ruleOwnPTY   = &Rule{Pos: "builtin own-pty", Layer: LayerBuiltin, Verb: "allow", Text: "/dev/pts/<own>", Reason: "the tree's own terminal", Access: decode.Look | decode.Read | decode.Write | decode.Attr}
	ruleAddress  = &Rule{Pos: "builtin abstract", Layer: LayerBuiltin, Verb: "allow", Text: "unix @<own>", Reason: "abstract socket names are free within the tree", Access: decode.Connect | decode.Bind}
	ruleUnspec   = &Rule{Pos: "builtin unspec", Layer: LayerBuiltin, Verb: "allow", Text: "AF_UNSPEC", Reason: "it dissolves an association", Access: decode.Connect | decode.Bind}
	ruleNetlink  = &Rule{Pos: "builtin netlink", Layer: LayerBuiltin, Verb: "allow", Text: "netlink-route", Reason: "programs ask the kernel for interfaces and routes", Access: decode.Connect | decode.Bind}
	ruleFamilies = &Rule{Pos: "builtin families", Layer: LayerBuiltin, Verb: "guard", Text: "unix inet inet6 netlink-route", Access: decode.Connect | decode.Bind, fix: "-"}
)

// deviceRule grants the devices that are granted without a rule, by number, wherever they lie.
func deviceRule(f *File) *Rule {
	if f.Mode&typeMask != typeChar {
		return nil
	}
	// makedev(3).
	major := f.Rdev>>8&0xfff | f.Rdev>>32&^0xfff
	minor := f.Rdev&0xff | f.Rdev>>12&^0xff
	switch major {
	case 1:
		switch minor {
		case 3, 5, 7, 8, 9: // null, zero, full, random, urandom
			return ruleDevice
		}
	case 5:
		if minor == 0 || minor == 2 { // tty, ptmx
			return ruleDevice
		}
	}
	if f.OwnPTY {
		return ruleOwnPTY
	}
	return nil
}

// ownLink: the links that lead every process to what is its own. realpath(3) reads them.
func ownLink(path string) bool {
	switch path {
	case "/proc/self", "/proc/thread-self", "/proc/mounts", "/proc/net", "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return false
}

// ownProc is what a process of the tree may do with a file of /proc/PID of the tree.
func ownProc(path string) decode.Access {
	got := readBundle
	name, task := procName(path)
	switch name {
	case "comm":
		return got | decode.Write
	case "coredump_filter", "oom_score_adj", "timerslack_ns":
		if !task {
			return got | decode.Write
		}
	}
	return got
}

// procName gives what follows /proc/PID/ or /proc/PID/task/TID/ in a path; ok is false
// for a proc file system that is mounted elsewhere.
func procName(path string) (name string, task bool) {
	rest, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return "?", false
	}
	_, rest = cutComponent(rest)
	if tail, ok := strings.CutPrefix(rest, "task/"); ok {
		_, tail = cutComponent(tail)
		if tail != "" {
			return tail, true
		}
		return "task", false
	}
	return rest, false
}

// decideAddr is steps 5 to 10 for socket addresses without a file.
func (p *Policy) decideAddr(r *Request, c *chain) Decision {
	s := &r.Addr
	need := r.Access
	switch s.Family {
	case syscall.AF_UNSPEC:
		c.note(stepBase, ruleUnspec, Grants, need)
		return Decision{Verdict: Allow, Rule: ruleUnspec, Access: need}
	case syscall.AF_NETLINK:
		c.note(stepBase, ruleNetlink, Grants, need)
		return Decision{Verdict: Allow, Rule: ruleNetlink, Access: need}
	case syscall.AF_UNIX, syscall.AF_INET, syscall.AF_INET6:
	default:
		c.note(stepBase, ruleFamilies, Refuses, need)
		return refuse(ruleFamilies, need)
	}
	ip := plainIP(s.IP)
	target := ip
	if need&decode.Connect != 0 {
		target = connectIP(ip)
	}
	var user, preset, base *Rule
	var denied *Rule
	var space [room]int
	merge(p.netAt.loose, p.netAt.about(ip, target, space[:0]), func(i int) bool {
		n := &p.net[i]
		if n.access&need == 0 || !n.matches(s, ip, target) && !(need&decode.Connect != 0 && n.reached(s, ip)) {
			return true
		}
		c.net(n, need)
		switch n.role {
		case roleUserDeny, roleUserHide:
			denied = n.rule // 5
			return false
		case roleUserAllow:
			user = n.rule
		case rolePresetDeny, rolePresetHide:
			preset = n.rule
		case roleBaseAllow:
			base = n.rule
		}
		return true
	})
	if denied != nil {
		return refuse(denied, need)
	}
	allow := func(rule *Rule) Decision { return Decision{Verdict: Allow, Rule: rule, Access: need} }
	switch {
	case preset != nil && !(user != nil && user.namesAddress(preset)):
		return refuse(preset, need) // 7
	case user != nil:
		return allow(user) // 6
	case base != nil:
		return allow(base) // 8
	case s.Family == syscall.AF_UNIX && (s.Autobind || (s.Abstract != "" || s.Nameless) && (s.Tree || need == decode.Bind)):
		c.note(stepBase, ruleAddress, Grants, need)
		return allow(ruleAddress)
	}
	// 9. Answers.
	for _, g := range p.answersFor(r) {
		if got, rule := g.give(r, need); got == need {
			c.note(stepGrants, rule, Grants, need)
			return allow(rule)
		}
	}
	// 10. No mode grants an address by itself.
	c.note(stepMode, p.unlistedRule(), Refuses, need)
	return p.askedAddr(r, refuse(p.unlistedRule(), need))
}

// namesAddress tells whether an allow names an address that a preset denies. Presets
// deny abstract sockets only, no IP addresses.
func (r *Rule) namesAddress(preset *Rule) bool {
	deny, ok := strings.CutPrefix(preset.Text, "unix @")
	name, named := strings.CutPrefix(r.Text, "unix @")
	return ok && named && matchComponent(deny, name)
}

// reached tells whether a deny covers an address that ip may lead to by a detour: the v4
// address in a transition form, and any address of this machine for the unspecified one,
// which means the address that the socket is bound to.
func (n *netRule) reached(s *Addr, ip netip.Addr) bool {
	switch n.role {
	case roleUserDeny, roleUserHide, rolePresetDeny, rolePresetHide:
	default:
		return false
	}
	if s.Family == syscall.AF_UNIX || !ip.IsValid() {
		return false
	}
	if ip.IsUnspecified() {
		return n.addr.matchIP(s, loopback4) || n.addr.matchIP(s, netip.IPv6Loopback()) ||
			n.addr.kind == addressIP && n.addr.prefix.Overlaps(loopbackNet) && n.addr.matchIP(s, n.addr.prefix.Addr())
	}
	for _, v4 := range embedded(ip) {
		if v4.IsValid() && n.addr.matchIP(s, v4) {
			return true
		}
	}
	return false
}

// matches tells whether a net rule covers a socket address: ip as given, target where
// the kernel would connect to.
func (n *netRule) matches(s *Addr, ip, target netip.Addr) bool {
	switch n.addr.kind {
	case addressUnixAbstract:
		return s.Family == syscall.AF_UNIX && s.Abstract != "" && matchComponent(n.addr.abstract, s.Abstract)
	case addressWord: // @tree
		return s.Tree
	case addressUnixPath:
		return false // in the trie
	}
	if s.Family == syscall.AF_UNIX || !ip.IsValid() {
		return false
	}
	return n.addr.matchIP(s, target) || n.addr.matchIP(s, ip)
}
