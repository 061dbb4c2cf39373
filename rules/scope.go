// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"ptguard/decode"
	"ptguard/internal/policytext"
)

// ScopeUser is the scope of a program's own code: no direct access to files, programs and
// addresses but what its own section names. It is there in every run that has scopes.
const ScopeUser = "user"

// ScopeNone is the word for a task that is in no scope.
const ScopeNone = "none"

// scopeSpec is one section of scopes: as a source states it.
type scopeSpec struct {
	name  string
	pos   place
	rules *Source // the section's own rules
	enter []spec
}

var scopeName = lazy(`^[a-z][a-z0-9-]{0,31}$`)

// scopes reads the key scopes: a mapping from names to sections.
func (r reader) scopes(n ast.Node) error {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *policytext.Shape:
		return n.Each(func(n ast.Node) error {
			var sc scopeSpec
			return reader{&Source{text: r.s.text}}.scope(n, "", &sc)
		})
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return r.fail(n, "scopes is %s: want NAME: { … }", show(n))
	}
	for _, v := range values {
		name := keyName(v.Key)
		if !scopeName().MatchString(name) || name == ScopeNone {
			return r.s.fail(nodePlace(v.Key), &wordError{Msg: fmt.Sprintf("%q is no name of a scope", name), Suggestion: "expected small letters, digits and -, as in user or api"})
		}
		sub := &Source{name: r.s.name, layer: r.s.layer, text: r.s.text}
		sc := scopeSpec{name: name, pos: nodePlace(v.Key), rules: sub}
		if err := (reader{sub}).scope(v.Value, name, &sc); err != nil {
			return err
		}
		r.s.scopeSpecs = append(r.s.scopeSpecs, sc)
	}
	return nil
}

// scope reads one section.
func (r reader) scope(n ast.Node, name string, sc *scopeSpec) error {
	where := "scopes"
	if name != "" {
		where += "." + name
	}
	return r.mapping(n, where, []key{
		{"enter", r.list("programs", func(n ast.Node) error {
			if name == ScopeUser {
				return r.fail(n, "scope user is not entered by a program: --scope user starts in it, and mkdir of /run/ptguard/scope/user narrows to it")
			}
			return r.path(n, func(text string, at place) error {
				patterns, err := parsePattern(text, false)
				if err != nil {
					return r.s.fail(at, err)
				}
				sc.enter = append(sc.enter, spec{pos: at, text: text, patterns: patterns})
				return nil
			})
		})},
		{"mode", r.word(&r.s.mode, "mode", "strict", "permissive", "open")},
		{"unlisted", r.word(&r.s.unlisted, "unlisted", "deny", "hide")},
		{"files", r.filesSection()},
		{"exec", r.execSection()},
		{"net", r.netSection(nil)}, // families are those of the whole run
	})
}

// Scope is a set of rules that holds for some tasks of a run.
type Scope struct {
	Name string
	// Policy is what holds for a task that has entered the scope, or was started in it.
	Policy *Policy
	// Entered tells that programs enter it, so that nobody can narrow himself to it.
	Entered bool

	enter []*entry
}

// Scopes are the scopes of a run.
type Scopes struct {
	base *Policy
	list []*Scope
}

// CompileScopes compiles what holds in no scope, and every scope that the sources state:
// all that the sources say, then what the scope's section adds. scopes is nil if there are
// none and none is asked for by start (--scope). Errors about a rule are *PosError.
func CompileScopes(sources []*Source, m Machine, start string) (base *Policy, scopes *Scopes, err error) {
	scopes, all, err := compileScopes(sources, m, start)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range all {
		if err := scopes.outOfReach(e); err != nil {
			return nil, nil, err
		}
	}
	if base = scopes.base; len(scopes.list) == 0 {
		scopes = nil
	}
	return base, scopes, nil
}

// CompileUnguarded is for questions, not for a run: what sources would allow if no seal held
// and no file were ptguard's own.
func CompileUnguarded(sources []*Source, m Machine, start string) (*Scopes, error) {
	m.Seals, m.Protected = nil, nil
	scopes, _, err := compileScopes(sources, m, start)
	return scopes, err
}

func compileScopes(sources []*Source, m Machine, start string) (scopes *Scopes, all []scopeEnter, err error) {
	var names []string
	sections := map[string][]*Source{}
	enter := map[string][]scopeEnter{}
	for _, s := range sources {
		for i := range s.scopeSpecs {
			sc := &s.scopeSpecs[i]
			if !slices.Contains(names, sc.name) {
				names = append(names, sc.name)
			}
			sections[sc.name] = append(sections[sc.name], sc.rules)
			for _, sp := range sc.enter {
				enter[sc.name] = append(enter[sc.name], scopeEnter{s, sp})
			}
		}
	}
	if len(names) == 0 && start == "" {
		base, err := Compile(sources, m)
		return &Scopes{base: base}, nil, err
	}
	if !slices.Contains(names, ScopeUser) {
		names = append(names, ScopeUser)
	}
	if start != "" && start != ScopeNone && !slices.Contains(names, start) {
		return nil, nil, &wordError{Msg: fmt.Sprintf("--scope: unknown scope %q", start), Suggestion: likely(start, append(names, ScopeNone), strings.Join(append(names, ScopeNone), ", "))}
	}
	for _, name := range names {
		all = append(all, enter[name]...)
	}
	base, err := compileFor(sources, m, scopeOf{enter: all})
	if err != nil {
		return nil, nil, err
	}
	scopes = &Scopes{base: base}
	for _, name := range names {
		p, err := compileFor(append(slices.Clone(sources), sections[name]...), m, scopeOf{name: name, own: sections[name], enter: all})
		if err != nil {
			return nil, nil, err
		}
		sc := &Scope{Name: name, Policy: p, Entered: len(enter[name]) > 0}
		for _, e := range enter[name] {
			sc.enter = append(sc.enter, base.enter[e.sp.pos]...)
		}
		scopes.list = append(scopes.list, sc)
	}
	return scopes, all, nil
}

// scopeOf says which scope a policy is compiled for.
type scopeOf struct {
	name  string // "" for none
	own   []*Source
	enter []scopeEnter // the programs of every scope
}

// scopeEnter is one program of an enter list.
type scopeEnter struct {
	s  *Source
	sp spec
}

// skips: in scope user only the scope's own rules allow; what others deny holds.
func (c *compiler) skips(s *Source, sp *spec) bool {
	return c.scope.name == ScopeUser && sp.kind.allows() && !slices.Contains(c.scope.own, s)
}

// settleScope finds the mode of scope user: strict, unless all is open.
func (c *compiler) settleScope() error {
	if c.scope.name != ScopeUser {
		return nil
	}
	for _, s := range c.scope.own {
		if s.mode.word == ModePermissive {
			return s.fail(s.mode.pos, &wordError{Msg: "scope user reads what its own rules name, and no mode adds to that", Suggestion: "strict, or open"})
		}
	}
	if c.p.mode == ModePermissive {
		c.p.mode = ModeStrict
	}
	return nil
}

// scopeRule answers, in scope user, what its own rules do not allow.
func (c *compiler) scopeRule() *Rule {
	hint := "no program of another scope is there; let the host program do it"
	if len(c.scope.enter) > 0 {
		var names []string
		for _, e := range c.scope.enter {
			names = append(names, e.sp.text)
		}
		hint = "execute one of the programs that may: " + strings.Join(names, ", ")
	}
	return &Rule{Pos: "scope user", Layer: LayerScope, Verb: "scope", Text: "user", Reason: "code in scope user has no direct access", Hint: hint, fix: "-"}
}

// enterBuiltins lets the programs that lead into a scope be executed from every scope.
func (c *compiler) enterBuiltins() {
	c.p.enter = map[place][]*entry{}
	for _, e := range c.scope.enter {
		rule := c.builtin("enter", e.sp.text, "a program that enters a scope may be executed", readBundle|decode.Exec)
		for _, p := range e.sp.patterns {
			for _, b := range c.bind(p, true) {
				c.p.enter[e.sp.pos] = append(c.p.enter[e.sp.pos], c.attach(entry{rule: rule, role: roleBaseAllow, access: readBundle | decode.Exec}, b)...)
			}
		}
	}
}

// userBuiltins are the built-in roots of scope user: what interpreters need to run.
func (c *compiler) userBuiltins() {
	runtime := c.builtin("@runtime", "@runtime", "programs need it to run", readBundle|decode.Exec)
	for _, p := range c.runtimeRoots() {
		c.attach(entry{rule: runtime, role: roleBaseAllow, access: readBundle | decode.Exec, follows: true}, bound{spelled: p, anchor: "/"})
	}
	for _, p := range RuntimePaths() {
		if strings.Contains(p, "*") {
			dir, glob := path.Split(p)
			c.attach(entry{rule: runtime, role: roleBaseAllow, access: readBundle}, bound{spelled: path.Clean(dir), anchor: "/", glob: []string{glob}})
		}
	}
	c.commandBuiltin()
}

// Narrow gives the policy of a task that narrows itself: what both allow.
func (p *Policy) Narrow(to *Policy) *Policy {
	n := *to
	n.outer = p
	return &n
}

// Named gives a scope by its name, nil if there is none.
func (s *Scopes) Named(name string) *Scope {
	if s == nil {
		return nil
	}
	for _, sc := range s.list {
		if sc.Name == name {
			return sc
		}
	}
	return nil
}

// Entering gives the scope that a program's canonical path leads into, nil if none.
func (s *Scopes) Entering(file string) *Scope {
	if s == nil || file == "" {
		return nil
	}
	for _, sc := range s.list {
		for _, e := range sc.enter {
			if e.matches(file) {
				return sc
			}
		}
	}
	return nil
}

// Needs gives what any policy of the run can refuse.
func (s *Scopes) Needs(n Needs) Needs {
	if s != nil {
		for _, sc := range s.list {
			n = n.or(sc.Policy.Needs())
		}
	}
	return n
}

func (n Needs) or(m Needs) Needs {
	n.Reads, n.DeviceReads, n.GuardReads = n.Reads || m.Reads, n.DeviceReads || m.DeviceReads, n.GuardReads || m.GuardReads
	n.Looks, n.Lists, n.Writes = n.Looks || m.Looks, n.Lists || m.Lists, n.Writes || m.Writes
	n.Exec, n.ExecMap, n.Argv = n.Exec || m.Exec, n.ExecMap || m.ExecMap, n.Argv || m.Argv
	n.Connect, n.Bind = n.Connect || m.Connect, n.Bind || m.Bind
	n.Copies, n.Seals, n.Made, n.Moves = n.Copies || m.Copies, n.Seals || m.Seals, n.Made || m.Made, n.Moves || m.Moves
	n.Strict, n.Hardened, n.Forks = n.Strict || m.Strict, n.Hardened || m.Hardened, n.Forks || m.Forks
	return n
}

// EnteredBy are the programs that lead into a scope, each with its place in the policy.
func (s *Scope) EnteredBy() []Line {
	var out []Line
	for _, e := range s.enter {
		out = append(out, Line{Origin: e.rule.Pos, Layer: e.rule.Layer, Verb: "enter", Text: e.rule.Text, Paths: []string{e.root}, Access: decode.Exec})
	}
	return out
}

// Added are the rules of a scope that base does not have.
func (s *Scope) Added(base *Policy) []Line {
	type key struct {
		origin, verb, text string
		access             decode.Access
	}
	has := map[key]bool{}
	for _, l := range base.Lines() {
		has[key{l.Origin, l.Verb, l.Text, l.Access}] = true
	}
	var out []Line
	for _, l := range s.Policy.Lines() {
		if !has[key{l.Origin, l.Verb, l.Text, l.Access}] {
			out = append(out, l)
		}
	}
	return out
}

// Warnings are those of base and what the sections of the scopes add.
func (s *Scopes) Warnings(base *Policy) []Warning {
	out := base.Warnings()
	if s != nil {
		for _, sc := range s.list {
			for _, w := range sc.Policy.warnings {
				if !slices.Contains(out, w) {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

// Lifted lists what base lifts and what the sections of the scopes add.
func (s *Scopes) Lifted(base *Policy) []string {
	out := base.Lifted()
	if s != nil {
		for _, sc := range s.list {
			for _, line := range sc.Policy.lifted {
				if !slices.Contains(out, line) {
					out = append(out, line)
				}
			}
		}
	}
	return out
}

// Base is what holds in no scope.
func (s *Scopes) Base() *Policy { return s.base }

// Names lists the scopes in the order they were stated.
func (s *Scopes) Names() []string {
	var out []string
	if s != nil {
		for _, sc := range s.list {
			out = append(out, sc.Name)
		}
	}
	return out
}

// Writable gives the rule by which a task of whatever scope could change a file, or put
// another in its place: by the file itself, or by a directory above it. nil if none could.
func (s *Scopes) Writable(file string) *Rule {
	const dir, regular = typeDir | 0o755, typeRegular | 0o755
	for _, p := range s.policies() {
		asks := []Request{{Access: decode.Write, File: File{Path: file, Exists: true, Mode: regular}}}
		for at := file; at != "/"; at = path.Dir(at) {
			asks = append(asks, Request{Access: decode.Create, File: File{Path: strings.TrimSuffix(path.Dir(at), "/") + "/.ptguard-asks"}})
			if above := path.Dir(at); above != "/" {
				asks = append(asks, Request{Access: decode.Remove, Act: ActRenameSource, File: File{Path: above, Exists: true, Mode: dir}})
			}
		}
		for i := range asks {
			if d := p.Decide(&asks[i]); d.Verdict == Allow {
				return d.Rule
			}
		}
	}
	return nil
}

func (s *Scopes) policies() []*Policy {
	out := []*Policy{s.base}
	for _, sc := range s.list {
		out = append(out, sc.Policy)
	}
	return out
}

// outOfReach refuses an enter list whose programs the run could change: whoever writes them
// would have their rights.
func (s *Scopes) outOfReach(e scopeEnter) error {
	for _, en := range s.base.enter[e.sp.pos] {
		file := en.root
		if en.shape != shapeTree && en.shape != shapeExact || en.folder {
			file += "/.ptguard-asks"
		}
		if rule := s.Writable(file); rule != nil {
			return e.s.fail(e.sp.pos, &wordError{
				Msg:        fmt.Sprintf("programs that enter a scope must not be writable, and by %s the run could write %s", rule.Pos, en.root),
				Suggestion: "move them outside the work folder, the temp folders and every write rule, or seal them with W",
			})
		}
	}
	return nil
}

// answersFor are the answers that count for a request. In scope user none does: they were
// given to programs that may ask.
func (p *Policy) answersFor(r *Request) [2]*Answers {
	if p.scope == ScopeUser {
		return [2]*Answers{}
	}
	return [2]*Answers{r.Grants, r.Once}
}
