// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"ptguard/decode"
	"ptguard/internal/policytext"
)

// The modes.
const (
	ModeStrict     = "strict"
	ModePermissive = "permissive"
	ModeOpen       = "open"
)

// readBundle and writeBundle are what a read and a write rule grant.
const (
	readBundle  = decode.Look | decode.List | decode.Read | decode.Map
	writeBundle = readBundle | decode.Change | decode.Connect | decode.Bind
	// denyAll is a deny without access: all but look.
	denyAll = decode.AllFile&^decode.Look | decode.Connect | decode.Bind
	hideAll = decode.AllFile | decode.Connect | decode.Bind
)

// Policy is rules bound to one machine and run. It does not change after Compile and may
// be asked from several goroutines.
type Policy struct {
	mode     string
	unlisted Verdict
	machine  Machine
	// homes and systemBin are canonical; the homes as spelled are there too.
	homes, systemBin []string

	root   node
	globs  []*entry // denies and hides with a wildcard that lead to what they match, see leadsTo
	progAt progIndex
	need   Needs // of the finished policy
	netAt  netIndex
	inodes map[Inode][]*entry // denies and hides by the inode of their literal path
	net    []netRule
	progs  []progRule
	// protected are the policy and record files, with their inodes.
	protected      []*entry
	protectedInode map[Inode]*entry

	noExec *Rule // --no-exec
	// closed is the first exec.allow of a file or flag: it closes the list of programs.
	closed *Rule
	memfd  *Rule
	// argv: some exec rule reads arguments.
	argv bool
	// scope is the scope that it is of, "" for none; outer is what else has to allow, for a
	// task that narrowed itself; enter are the entries of programs that enter scopes.
	scope string
	outer *Policy
	enter map[place][]*entry
	// modeRule answers what nothing else did; fence does in its place where there is one.
	modeRule *Rule
	fence    *Rule
	ask      Asking

	// The settings (settings.go). unmasked and maskLifters are where the mask ends (mask.go).
	roots       roots
	hardened    bool
	families    []string
	limits      Limits
	masked      bool
	except      []string
	maskRule    *Rule
	unmasked    []string
	maskLifters []*entry

	rules    []*Rule // in the order they were stated, built-in ones last
	entries  []*entry
	writable []string
	lifted   []string
	warnings []Warning
	env      envRules
}

// netRule is one address of a net rule, bound.
type netRule struct {
	rule   *Rule
	role   role
	access decode.Access // Connect, Bind or both
	addr   address
}

// progRule is an exec rule that looks at more than the path.
type progRule struct {
	rule  *Rule
	deny  bool
	name  string   // base name, of a deny by name
	paths []*entry // of a rule by path with arguments
	args  []string
	// hasArgs: args must match the whole of argv[1:].
	hasArgs bool
}

// Warning is a remark on a policy that does not keep it from being used.
type Warning struct {
	Pos string // as Rule.Pos
	Msg string // one sentence, no full stop
}

// Compile binds sources, in layer order (see Layers), to a machine. Errors about a rule
// are *PosError.
func Compile(sources []*Source, m Machine) (*Policy, error) {
	return compileFor(sources, m, scopeOf{})
}

func compileFor(sources []*Source, m Machine, scope scopeOf) (*Policy, error) {
	c := compiler{p: &Policy{
		mode:           ModePermissive,
		machine:        m,
		inodes:         map[Inode][]*entry{},
		protectedInode: map[Inode]*entry{},
	}, m: &m, roots: map[string]bool{}, scope: scope}
	c.p.scope = scope.name
	c.p.machine = m
	for _, h := range m.homes(false) {
		c.p.homes = append(c.p.homes, h)
		if real := m.lookup(h).Path; real != h {
			c.p.homes = append(c.p.homes, real)
		}
	}
	for _, dir := range m.SystemBin {
		c.p.systemBin = append(c.p.systemBin, m.lookup(dir).Path)
	}
	if err := c.settle(sources); err != nil {
		return nil, err
	}
	if err := c.settings(sources); err != nil {
		return nil, err
	}
	if err := c.checkWork(); err != nil {
		return nil, err
	}
	c.checkTmp()
	replaced := func(s *Source, kind specKind) bool {
		return s.layer == LayerPreset && (kind == specConnect && c.dropConnect || kind == specBind && c.dropBind)
	}
	for _, s := range sources {
		for _, specs := range append([][]spec{s.specs}, s.lists...) {
			for i := range specs {
				sp := &specs[i]
				if replaced(s, sp.kind) || c.skips(s, sp) {
					continue
				}
				if err := c.spec(s, sp); err != nil {
					return nil, err
				}
			}
		}
		if s.noExec {
			c.p.noExec = &Rule{Pos: "flag --no-exec", Layer: LayerFlag, Verb: "exec.deny", Text: "--no-exec", Reason: "nothing may be executed after the command itself", Access: decode.Exec, fix: "-"}
			c.p.rules = append(c.p.rules, c.p.noExec)
		}
		c.env(s)
	}
	if c.homeless {
		c.warn("builtin @home", "no home folder is known (HOME is not set, and the password file has none): what presets deny and allow beneath ~ holds nowhere")
	}
	c.builtins()
	c.enterBuiltins()
	c.protect()
	c.lift()
	for _, e := range c.p.entries {
		c.p.root.insert(e)
		if e.role.denies() && e.shape == shapeGlob && len(e.segs) > 1 && e.segs[0] != "**" {
			c.p.globs = append(c.p.globs, e)
		}
		if e.role == roleUserAllow && c.p.maskRule != nil && !e.program {
			c.p.maskLifters = append(c.p.maskLifters, e)
		}
	}
	c.p.progAt.build(c.p.progs)
	c.p.netAt.build(c.p.net)
	c.finish()
	c.p.need = c.p.needs()
	return c.p, nil
}

type compiler struct {
	p                     *Policy
	m                     *Machine
	scope                 scopeOf
	tmp                   []string
	runtime               []string
	roots                 map[string]bool // of p.writable
	dropConnect, dropBind bool
	homeless              bool // a rule of a preset is for ~, and there is no home
}

// settle finds what holds for all sources: the mode, and whose network lists count.
func (c *compiler) settle(sources []*Source) error {
	var modeFrom *Source
	var mode stated
	c.p.unlisted = Deny
	for _, s := range sources {
		if s.mode.word != "" {
			c.p.mode, modeFrom, mode = s.mode.word, s, s.mode
		}
		switch s.unlisted.word {
		case "hide":
			c.p.unlisted = Hide
		case "deny":
			c.p.unlisted = Deny
		}
	}
	// Where one of several sources keeps the preset's list, it is kept.
	replaceC, keepC, replaceB, keepB := false, false, false, false
	for _, s := range sources {
		if s.layer == LayerPreset {
			continue
		}
		replaceC, keepC = replaceC || s.replacesConnect, keepC || s.keepsConnect
		replaceB, keepB = replaceB || s.replacesBind, keepB || s.keepsBind
	}
	c.dropConnect, c.dropBind = replaceC && !keepC, replaceB && !keepB
	if err := c.settleAsk(sources); err != nil {
		return err
	}
	if err := c.settleScope(); err != nil {
		return err
	}
	c.p.modeRule = &Rule{Pos: "mode " + c.p.mode, Layer: LayerMode, Verb: "mode", Text: "mode: " + c.p.mode}
	if c.scope.name == ScopeUser && c.p.mode != ModeOpen {
		c.p.modeRule = c.scopeRule()
	}
	if c.p.mode != ModeOpen {
		return nil
	}
	for _, s := range sources {
		if s.layer == LayerPreset {
			continue
		}
		at, verb := place{Flag: "--no-exec"}, "exec.deny"
		if len(s.specs) > 0 {
			at, verb = s.specs[0].pos, specVerbs[s.specs[0].kind]
		} else if !s.noExec {
			continue
		}
		return s.fail(at, &wordError{
			Msg:        fmt.Sprintf("this %s rule contradicts mode open (%s): open obeys seals only", verb, modeFrom.posOf(mode.pos, "mode: open")),
			Suggestion: "drop the rule or the mode",
		})
	}
	return nil
}

// checkWork refuses a work folder that nobody named and that would grant too much.
func (c *compiler) checkWork() error {
	work := c.m.Work
	if !path.IsAbs(work) {
		return fmt.Errorf("work folder %q: not an absolute path", work)
	}
	reason := c.m.Unfit(work)
	switch {
	case reason == "":
	case c.m.WorkExplicit:
		c.warn("builtin @work", "the work folder %s is broad: everything in it may be written", work)
	default:
		return fmt.Errorf("the work folder would be %s, %s: say --work DIR", work, reason)
	}
	return nil
}

func (c *compiler) checkTmp() {
	for _, dir := range c.m.Tmp {
		switch {
		case !path.IsAbs(dir) || indexOf(c.tmp, dir) >= 0:
		case dir != "/tmp" && c.p.tooBroad(dir):
			c.warn("builtin @tmp", "the temp folder %s is too broad and is not granted", dir)
		default:
			c.tmp = append(c.tmp, dir)
		}
	}
}

func firstLevel(dir string) bool {
	name, rest := cutComponent(dir[1:])
	return name != "" && rest == ""
}

func (c *compiler) warn(pos, format string, args ...any) {
	c.p.warnings = append(c.p.warnings, Warning{pos, fmt.Sprintf(format, args...)})
}

// bound is a pattern bound to the machine: where its literal prefix was spelled, and
// what follows.
type bound struct {
	spelled string
	anchor  string
	bare    bool
	rooted  bool
	glob    []string
}

// bind gives the places a pattern means: several for two homes or temp folders.
func (c *compiler) bind(p pattern, allow bool) []bound {
	var bases []string
	switch p.Anchor {
	case "/":
		bases = []string{"/"}
	case ".", "@work":
		bases = []string{c.m.Work}
	case "cwd":
		bases = []string{c.m.Cwd}
	case "~", "@home":
		bases = c.m.homes(allow)
	case "@tmp":
		bases = c.tmp
	case "@runtime":
		bases = c.runtimeRoots()
	}
	var out []bound
	for _, base := range bases {
		out = append(out, bound{policytext.Beneath(base, p.Literal...), p.Anchor, p.Bare(), p.Rooted, p.Glob})
	}
	return out
}

// attach makes the entries of a bound pattern: for an allow one at the target, for a
// deny one at the spelling, at the spelling below its real parent, at the target, and
// the inode.
func (c *compiler) attach(e entry, b bound) []*entry {
	allow := !e.role.denies()
	t := c.m.lookup(b.spelled)
	roots := []string{t.Path}
	if !allow {
		for _, r := range c.spellings(b) {
			if indexOf(roots, r) < 0 {
				roots = append(roots, r)
			}
		}
	}
	e.folder = t.IsDir
	e.names = !b.rooted && !(b.bare && (b.anchor == "@work" || b.anchor == "@tmp" || b.anchor == "."))
	if allow && e.names && e.role == roleUserAllow {
		for _, dir := range append(slices.Clip(c.tmp), c.m.Work) {
			// A link there names what whoever laid it wants.
			e.names = e.names && (contains(dir, t.Path) || !c.leads(dir, b.spelled))
		}
	}
	switch {
	case len(b.glob) == 1 && b.glob[0] == "**":
		e.shape = shapeContents
	case len(b.glob) > 0:
		e.shape, e.segs = shapeGlob, b.glob
		if !allow && b.glob[len(b.glob)-1] != "**" {
			e.deep = append(append([]string{}, b.glob...), "**")
		}
	}
	var out []*entry
	for _, root := range roots {
		ne := e
		ne.root = root
		out = append(out, &ne)
		if indexOf(e.rule.Paths, root) < 0 {
			e.rule.Paths = append(e.rule.Paths, root)
		}
	}
	c.p.entries = append(c.p.entries, out...)
	if allow {
		c.attachLinks(e, b, t.Path)
	}
	if !allow && t.Exists && (e.shape == shapeTree || e.shape == shapeExact) {
		c.p.inodes[t.Inode] = append(c.p.inodes[t.Inode], out[0])
	}
	return out
}

func (c *compiler) spellings(b bound) []string {
	return policytext.Spellings(b.spelled, func(dir string) string { return c.m.lookup(dir).Path })
}

// attachLinks lets the link that an allow was spelled through be looked at: a program that
// reads /lib -> usr/lib has to find both. Nothing else of the link is granted.
func (c *compiler) attachLinks(e entry, b bound, target string) {
	if e.access&decode.Look == 0 {
		return
	}
	names := c.spellings(b)
	for i, name := range names {
		if name == target || i == 1 && name == names[0] {
			continue
		}
		c.p.entries = append(c.p.entries, &entry{rule: e.rule, role: e.role, access: decode.Look, shape: shapeExact, root: name})
	}
}

// ruleOf makes the Rule of a spec.
func (c *compiler) ruleOf(s *Source, sp *spec, access decode.Access) *Rule {
	r := &Rule{
		Pos: s.posOf(sp.pos, sp.text), Layer: s.layer, Verb: specVerbs[sp.kind],
		Text: sp.text, Source: sp.source, Reason: sp.reason, Hint: sp.hint, Access: access,
	}
	c.p.rules = append(c.p.rules, r)
	return r
}

func roleOf(s *Source, kind specKind) role {
	preset := s.layer == LayerPreset
	switch {
	case kind.allows() && preset:
		return roleBaseAllow
	case kind.allows():
		return roleUserAllow
	case kind == specHide && preset:
		return rolePresetHide
	case kind == specHide:
		return roleUserHide
	case preset:
		return rolePresetDeny
	}
	return roleUserDeny
}

func (c *compiler) spec(s *Source, sp *spec) error {
	switch sp.kind {
	case specExecAllow, specExecDeny:
		return c.exec(s, sp)
	case specConnect, specBind, specNetDeny:
		return c.addr(s, sp)
	}
	return c.file(s, sp)
}

func (c *compiler) file(s *Source, sp *spec) error {
	var access decode.Access
	switch sp.kind {
	case specRead:
		access = readBundle
	case specWrite:
		access = writeBundle
	case specHide:
		access = hideAll
	case specDeny:
		access = sp.access
		if access == 0 {
			access = denyAll
		}
		// Connecting to a socket needs write on its inode, binding one makes a name.
		if access&decode.Write != 0 {
			access |= decode.Connect
		}
		if access&decode.Create != 0 {
			access |= decode.Bind
		}
	}
	if s.layer == LayerPreset && c.foreignRepo(sp) {
		return nil
	}
	rule := c.ruleOf(s, sp, access)
	e := entry{rule: rule, role: roleOf(s, sp.kind), access: access}
	if sp.object {
		e.shape = shapeExact
	}
	for _, p := range sp.patterns {
		for _, b := range c.bind(p, sp.kind.allows()) {
			made := c.attach(e, b)
			if s.layer != LayerPreset && sp.kind.allows() {
				c.warnGrant(rule, made[0].root, b)
			}
			if sp.kind != specWrite {
				continue
			}
			root := made[0].root
			if c.leads(c.m.Work, b.spelled) && !contains(c.m.Work, root) {
				return s.fail(sp.pos, fmt.Errorf("this write rule lies beneath @work but leads outside it, to %s", root))
			}
			if s.layer == LayerPreset && !b.rooted && c.p.tooBroad(root) && (len(b.glob) == 0 || b.glob[len(b.glob)-1] == "**") && root != c.m.Work {
				c.warn(rule.Pos, "%s is a broad grant: everything beneath %s may be written", sp.text, root)
			}
			c.addWritable(root)
		}
	}
	switch {
	case len(rule.Paths) > 0:
	case s.layer == LayerPreset && len(c.m.homes(false)) == 0: // some hundred rules: it is said once
		c.homeless = true
	default:
		c.warn(rule.Pos, "%s names no place on this machine", sp.text)
	}
	return nil
}

// leads tells whether a path lies in a folder as it is spelled, or is led on by a link that does,
// which the tree or a repository can have laid.
func (c *compiler) leads(dir, spelled string) bool {
	return contains(dir, path.Clean(spelled)) ||
		slices.ContainsFunc(c.m.lookup(spelled).Links, func(link string) bool { return contains(dir, link) })
}

func (c *compiler) addWritable(root string) {
	if !c.roots[root] {
		c.roots[root] = true
		c.p.writable = append(c.p.writable, root)
	}
}

// foreignRepo tells whether a preset's rule is about @work/.git and there was no
// repository at the start.
func (c *compiler) foreignRepo(sp *spec) bool {
	for _, p := range sp.patterns {
		if p.Anchor == "." && len(p.Literal) > 0 && p.Literal[0] == ".git" && !c.m.RepoAtStart {
			return true
		}
	}
	return false
}

func (c *compiler) exec(s *Source, sp *spec) error {
	deny := sp.kind == specExecDeny
	access := decode.Exec | decode.Map
	if !deny {
		// A script must be readable by its interpreter.
		access |= decode.Look | decode.Read
	}
	rule := c.ruleOf(s, sp, access)
	if !deny && s.layer != LayerPreset && c.p.closed == nil {
		c.p.closed = rule
	}
	c.p.argv = c.p.argv || sp.hasArgs
	switch {
	case sp.memfd && deny:
		return s.fail(sp.pos, &wordError{Msg: "memfd is refused unless exec.allow names it", Suggestion: "drop the rule"})
	case sp.memfd:
		c.p.memfd = rule
		return nil
	case sp.program != "":
		c.p.progs = append(c.p.progs, progRule{rule: rule, deny: true, name: sp.program, args: sp.args, hasArgs: sp.hasArgs})
		return nil
	}
	e := entry{rule: rule, role: roleOf(s, sp.kind), access: access, program: true}
	keep, inodes := len(c.p.entries), c.p.inodes
	if sp.hasArgs {
		// Judged with argv at hand, not by the trie.
		c.p.inodes = map[Inode][]*entry{}
	}
	var made []*entry
	for _, p := range sp.patterns {
		for _, b := range c.bind(p, !deny) {
			made = append(made, c.attach(e, b)...)
		}
	}
	if sp.hasArgs {
		c.p.entries, c.p.inodes = c.p.entries[:keep], inodes
		c.p.progs = append(c.p.progs, progRule{rule: rule, deny: deny, paths: made, args: sp.args, hasArgs: true})
	}
	return nil
}

func (c *compiler) addr(s *Source, sp *spec) error {
	access := map[specKind]decode.Access{specConnect: decode.Connect, specBind: decode.Bind, specNetDeny: decode.Connect | decode.Bind}[sp.kind]
	rule := c.ruleOf(s, sp, access)
	a := sp.address
	if a.kind != addressWord {
		c.addAddress(rule, roleOf(s, sp.kind), access, a)
		return nil
	}
	var texts []string
	switch a.word {
	case "@tree":
		c.p.net = append(c.p.net, netRule{rule, roleOf(s, sp.kind), access, a})
		return nil
	case "@names":
		texts = nameSockets
	case "@dns":
		texts = append(texts, dnsSockets...)
		for _, ns := range c.m.Nameservers {
			ns = plainIP(ns)
			texts = append(texts, fmt.Sprintf("[%s]/%d:53", ns, ns.BitLen()))
		}
		if len(c.m.Nameservers) == 0 {
			c.warn(rule.Pos, "resolv.conf names no nameserver for @dns")
		}
	case "@ssh-agent":
		// What the variable said at start; the tree may set it as it likes.
		if sock := c.m.Env["SSH_AUTH_SOCK"]; sock != "" {
			if !path.IsAbs(sock) {
				sock = policytext.Beneath(c.m.Cwd, sock)
			}
			c.attachSocket(rule, roleOf(s, sp.kind), access, bound{spelled: sock, anchor: "/"})
		}
		return nil
	}
	for _, text := range texts {
		b, err := parseAddress(text, false)
		if err != nil {
			return s.fail(sp.pos, errors.New("internal: "+err.Error()))
		}
		c.addAddress(rule, roleOf(s, sp.kind), access, b)
	}
	return nil
}

// nameSockets are asked by libc for names of users, groups and hosts.
var nameSockets = []string{
	"unix /run/nscd/socket", "unix /var/run/nscd/socket", "unix /var/lib/sss/pipes/nss",
	"unix /run/systemd/resolve/io.systemd.Resolve", "unix /run/systemd/userdb/io.systemd.*",
}

var dnsSockets = []string{
	"unix /run/nscd/socket", "unix /var/run/nscd/socket", "unix /run/systemd/resolve/io.systemd.Resolve",
}

func (c *compiler) addAddress(rule *Rule, role role, access decode.Access, a address) {
	if a.kind != addressUnixPath {
		c.p.net = append(c.p.net, netRule{rule, role, access, a})
		return
	}
	for _, p := range a.patterns {
		for _, b := range c.bind(p, !role.denies()) {
			c.attachSocket(rule, role, access, b)
		}
	}
}

func (c *compiler) attachSocket(rule *Rule, role role, access decode.Access, b bound) {
	c.attach(entry{rule: rule, role: role, access: access}, b)
}

// runtimeRoots are the literal places of @runtime.
func (c *compiler) runtimeRoots() []string {
	if c.runtime != nil {
		return c.runtime
	}
	for _, list := range [][]string{RuntimePaths(), c.m.Runtime, c.m.SystemBin} {
		for _, p := range list {
			if !strings.ContainsAny(p, "*") && path.IsAbs(p) && indexOf(c.runtime, p) < 0 {
				c.runtime = append(c.runtime, p)
			}
		}
	}
	return c.runtime
}

// builtin makes a built-in rule.
func (c *compiler) builtin(name, text, reason string, access decode.Access) *Rule {
	r := &Rule{Pos: "builtin " + name, Layer: LayerBuiltin, Verb: "allow", Text: text, Reason: reason, Access: access}
	c.p.rules = append(c.p.rules, r)
	return r
}

// builtins adds the built-in roots of docs/manual.md, What is granted without a rule, that have a path; those that
// go by what an object is are in Policy.intrinsic.
func (c *compiler) builtins() {
	if c.scope.name == ScopeUser {
		c.userBuiltins()
		return
	}
	exec := decode.Access(0)
	if c.p.mode == ModeStrict && c.p.closed == nil {
		exec = decode.Exec
	}
	apiOnly := false
	root := func(rule *Rule, access decode.Access, folder bool, paths ...string) {
		for _, p := range paths {
			for _, made := range c.attach(entry{rule: rule, role: roleBaseAllow, access: access, apiOnly: apiOnly}, bound{spelled: p, anchor: "/"}) {
				made.folder = folder
			}
		}
	}
	if c.p.ask.Fence != "" {
		fence := c.builtin("fence", c.p.ask.Fence, "the folder of the fence may be read and written", writeBundle|exec)
		root(fence, writeBundle|exec, true, c.p.ask.Fence)
		c.addWritable(c.p.ask.Fence)
	}
	apiOnly = c.p.ask.Fenced // a fence shrinks the built-in roots, but not for scope api
	if c.p.roots.workReadOnly {
		work := c.builtin("@work", c.m.Work, "the work folder may be read", readBundle|exec)
		root(work, readBundle|exec, true, c.m.Work)
	} else {
		work := c.builtin("@work", c.m.Work, "the work folder may be read and written", writeBundle|exec)
		root(work, writeBundle|exec, true, c.m.Work)
		if !apiOnly {
			c.addWritable(c.m.Work)
		}
	}
	tmp := c.builtin("@tmp", strings.Join(c.tmp, " "), "the temp folders may be read and written", writeBundle|exec)
	root(tmp, writeBundle|exec, true, c.tmp...)
	for _, w := range c.tmp {
		if !apiOnly {
			c.addWritable(w)
		}
	}
	apiOnly = false
	shm := c.builtin("/dev/shm", "/dev/shm", "shared memory may be used", writeBundle)
	for _, made := range c.attach(entry{rule: shm, role: roleBaseAllow, access: writeBundle}, bound{spelled: "/dev/shm", anchor: "/"}) {
		made.folder, made.own = true, c.p.roots.ownShm
	}

	runtime := c.builtin("@runtime", "@runtime", "programs need it to run", readBundle|exec)
	root(runtime, readBundle|exec, false, c.runtimeRoots()...)
	for _, p := range RuntimePaths() {
		if strings.Contains(p, "*") {
			dir, glob := path.Split(p)
			c.attach(entry{rule: runtime, role: roleBaseAllow, access: readBundle | exec}, bound{spelled: path.Clean(dir), anchor: "/", glob: []string{glob}})
		}
	}
	if c.p.maskRule != nil {
		c.p.unmasked = append(c.p.unmasked, c.runtimeRoots()...)
		for _, dir := range c.runtimeRoots() {
			c.p.unmasked = append(c.p.unmasked, c.m.lookup(dir).Path)
		}
		c.p.unmasked = append(append(c.p.unmasked, c.tmp...), append(c.m.ProgramChain, c.m.Program, "/dev", "/proc", "/sys")...)
		c.p.unmasked = slices.DeleteFunc(c.p.unmasked, func(dir string) bool { return !path.IsAbs(dir) || dir == "/" || contains(dir, c.m.Work) })
	}
	c.commandBuiltin()
	if c.p.mode == ModePermissive {
		names := c.builtin("@names", "@names", "libc asks there for users, groups and hosts", decode.Connect)
		for _, text := range nameSockets {
			if a, err := parseAddress(text, false); err == nil {
				c.addAddress(names, roleBaseAllow, decode.Connect, a)
			}
		}
		log := c.builtin("/dev/log", "unix /dev/log", "syslog", decode.Connect)
		c.attachSocket(log, roleBaseAllow, decode.Connect, bound{spelled: "/dev/log", anchor: "/"})
	}
}

// commandBuiltin lets CMD, and what it needs to start, be read and executed.
func (c *compiler) commandBuiltin() {
	cmd := c.builtin("command", c.m.Program, "the command given to ptguard, its links, interpreters and loader", readBundle|decode.Exec)
	for _, p := range append([]string{c.m.Program}, c.m.ProgramChain...) {
		if path.IsAbs(p) {
			c.attach(entry{rule: cmd, role: roleBaseAllow, access: readBundle | decode.Exec, shape: shapeExact}, bound{spelled: p, anchor: "/"})
		}
	}
}

// protect closes the files that ptguard itself lives by, and the links that lead to them.
func (c *compiler) protect() {
	add := func(name string, roots ...string) []*entry {
		rule := &Rule{
			Pos: "guard own-files", Layer: LayerGuard, Verb: "guard", Text: name, Access: decode.Change | decode.Connect | decode.Bind,
			Reason: "a policy, record or control file of ptguard cannot be changed from inside", Paths: roots[len(roots)-1:],
		}
		c.p.rules = append(c.p.rules, rule)
		var made []*entry
		for _, root := range roots {
			made = append(made, &entry{rule: rule, role: roleUserDeny, access: rule.Access, root: root})
		}
		c.p.protected = append(c.p.protected, made...)
		return made
	}
	for _, name := range c.m.Protected {
		if !path.IsAbs(name) {
			continue
		}
		t := c.m.lookup(name)
		made := add(name, name, t.Path)
		c.p.entries = append(c.p.entries, made...)
		if t.Exists {
			c.p.protectedInode[t.Inode] = made[1]
		}
	}
	for _, link := range c.m.Links {
		add(link, link) // no entry: what else is reached through the link is free
	}
}

// lift finds which allows of files and flags lift which denies of presets: those that
// name the denied object or a path beneath the deny's root (docs/manual.md, How a decision is made, 6).
func (c *compiler) lift() {
	var allows []*entry
	for _, e := range c.p.entries {
		if e.role == roleUserAllow && e.names {
			allows = append(allows, e)
		}
	}
	if len(allows) == 0 {
		return
	}
	// A deny has an entry for each spelling; what names one lifts all.
	byRule := map[*Rule][]*entry{}
	var order []*Rule
	for _, e := range c.p.entries {
		if e.role.preset() {
			if byRule[e.rule] == nil {
				order = append(order, e.rule)
			}
			byRule[e.rule] = append(byRule[e.rule], e)
		}
	}
	for _, rule := range order {
		for _, a := range allows {
			if a.access&rule.Access&^decode.Look == 0 || !namesOneOf(a, byRule[rule]) {
				continue
			}
			whole := rule.Access&^decode.Exec&^a.access == 0 && a.shape == shapeTree
			for _, d := range byRule[rule] {
				d.lifters = append(d.lifters, a)
				d.lifted = d.lifted || whole && (d.shape == shapeTree || d.shape == shapeContents) && contains(a.root, d.root)
			}
			c.p.lifted = append(c.p.lifted, fmt.Sprintf("%s (%s) by %s %s", rule.Pos, a.access&rule.Access, a.rule.Pos, a.rule.Text))
		}
	}
}

func namesOneOf(a *entry, denies []*entry) bool {
	for _, d := range denies {
		switch {
		case a.shape == shapeGlob && d.shape == shapeGlob && a.root == d.root && strings.Join(a.segs, "/") == strings.Join(d.segs, "/"):
			return true
		case d.shape == shapeGlob:
			if d.matches(a.root) {
				return true
			}
		case contains(d.root, a.root):
			return true
		}
	}
	return false
}
