// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"

	"ptguard/decode"
	"ptguard/internal/policytext"
)

// MaxPolicySize is the largest policy file that is read, in bytes.
const MaxPolicySize = policytext.MaxSize

// maxPaths bounds what `{a,b}` may make of the paths of one policy.
const maxPaths = 100_000

// Read parses one policy file, strictly: what it does not know is a *PosError. name is
// used in messages and positions.
func Read(name string, text []byte) (*Source, error) {
	return read(name, LayerFile, text)
}

func newSource(name string, layer Layer) *Source {
	s := &Source{name: name, layer: layer}
	s.text = policytext.Text{Name: name, What: "policy", First: "ptguard: 1"}
	if layer == LayerPreset {
		s.text.Name = "preset " + name
	}
	return s
}

func read(name string, layer Layer, text []byte) (*Source, error) {
	s := newSource(name, layer)
	root, err := s.text.Parse(text)
	if err != nil {
		return nil, err
	}
	r := reader{s}
	if err := r.policy(root); err != nil {
		return nil, err
	}
	return s, nil
}

func (r reader) policy(root ast.Node) error {
	version := false
	keys := []key{
		{"ptguard", func(n ast.Node) error {
			version = true
			if d, ok := n.(*policytext.Shape); ok {
				return d.Note(map[string]any{"const": 1})
			}
			if i, ok := n.(*ast.IntegerNode); !ok || i.GetToken().Value != "1" {
				return r.fail(n, "ptguard: %s is not a format this version reads: want 1", show(n))
			}
			return nil
		}},
		{"extends", r.extends},
		{"mode", r.word(&r.s.mode, "mode", "strict", "permissive", "open")},
		{"work", func(n ast.Node) error {
			return r.path(n, func(text string, at place) error {
				patterns, err := parsePattern(text, false)
				if err == nil && (len(patterns) != 1 || len(patterns[0].Glob) > 0) {
					err = errors.New("work is one folder, not a pattern")
				}
				if err == nil && (patterns[0].Anchor == "@work" || patterns[0].Anchor == "@runtime") {
					err = fmt.Errorf("work cannot be beneath %s", patterns[0].Anchor)
				}
				if err != nil {
					return r.s.fail(at, err)
				}
				r.s.work = stated{text, at}
				return nil
			})
		}},
		{"unlisted", r.word(&r.s.unlisted, "unlisted", "deny", "hide")},
		{"files", r.filesSection()},
		{"exec", r.execSection()},
		{"net", r.netSection(r.families)},
		{"scopes", r.scopes},
		{"tests", r.list("cases", r.test)},
		{"env", r.section("env", []key{
			{"pass", r.list("variable names", r.variable(&r.s.env.pass))},
			{"set", r.variables},
			{"drop", r.list("variable names", r.variable(&r.s.env.drop))},
		})},
		{"ask", r.ask()},
		{"limits", r.limits},
		{"hardened", r.boolean(&r.s.set.hardened)},
	}
	if r.s.layer == LayerPreset {
		keys = append(keys, key{"roots", r.roots()})
	}
	if err := r.mapping(root, "", keys); err != nil {
		return err
	}
	if !version {
		return r.s.fail(nodePlace(root), &wordError{Msg: "the format version is missing", Suggestion: "begin the policy with the line: ptguard: 1"})
	}
	return nil
}

func (r reader) filesSection() func(ast.Node) error {
	return r.section("files", []key{
		{"read", r.files(specRead)},
		{"write", r.files(specWrite)},
		{"deny", r.files(specDeny)},
		{"hide", r.files(specHide)},
		{"masks", r.masks()},
	})
}

func (r reader) execSection() func(ast.Node) error {
	return r.section("exec", []key{
		{"allow", r.list("programs", r.program(specExecAllow))},
		{"deny", r.list("programs", r.program(specExecDeny))},
	})
}

func (r reader) netSection(families func(ast.Node) error) func(ast.Node) error {
	return r.section("net", []key{
		{"connect", r.net(specConnect)},
		{"bind", r.net(specBind)},
		{"deny", r.net(specNetDeny)},
		{"families", families},
	})
}

func (r reader) word(into *stated, what string, known ...string) func(ast.Node) error {
	return func(n ast.Node) error {
		if d, ok := n.(*policytext.Shape); ok {
			return d.Words(known)
		}
		text, err := r.text(n)
		if err != nil {
			return err
		}
		if indexOf(known, text) < 0 {
			return r.s.fail(nodePlace(n), &wordError{Msg: fmt.Sprintf("unknown %s %q", what, text), Suggestion: likely(text, known, strings.Join(known, ", "))})
		}
		*into = stated{text, nodePlace(n)}
		return nil
	}
}

func (r reader) extends(n ast.Node) error {
	return r.list("presets and policy files", func(n ast.Node) error {
		text, err := r.text(n)
		if err != nil {
			return err
		}
		if !isFileName(text) {
			if _, err := presetText(text); err != nil {
				return r.s.fail(nodePlace(n), err)
			}
		} else if err := checkPathText(text); err != nil {
			return r.s.fail(nodePlace(n), err)
		}
		r.s.extends = append(r.s.extends, stated{text, nodePlace(n)})
		return nil
	})(n)
}

// keep adds a spec to the source.
func (s *Source) keep(sp spec) error {
	if s.paths += len(sp.patterns) + len(sp.address.patterns); s.paths > maxPaths {
		return fmt.Errorf("more than %d paths in one policy", maxPaths)
	}
	sp.source = s.text.Line(sp.pos)
	s.specs = append(s.specs, sp)
	return nil
}

func (r reader) keep(sp spec) error {
	if err := r.s.keep(sp); err != nil {
		return r.s.fail(sp.pos, err)
	}
	return nil
}

// add parses the path of a spec and keeps it.
func (r reader) add(sp spec, text string, at place) error {
	patterns, err := parsePattern(text, false)
	if err != nil {
		return r.s.fail(at, err)
	}
	sp.patterns, sp.text, sp.pos = patterns, text, at
	return r.keep(sp)
}

// files reads files.read, write, deny and hide.
func (r reader) files(kind specKind) func(ast.Node) error {
	return r.list("paths", func(n ast.Node) error {
		if !policytext.IsMapping(n) {
			return r.path(n, func(text string, at place) error { return r.add(spec{kind: kind}, text, at) })
		}
		sp, where := spec{kind: kind}, specVerbs[kind]
		var path, object ast.Node
		keys := []key{
			{"path", func(n ast.Node) error { path = n; return nil }},
			{"file", func(n ast.Node) error { object = n; return nil }},
		}
		if kind == specDeny || kind == specHide {
			keys = append(keys, r.why(&sp)...)
		}
		if kind == specDeny {
			keys = append(keys, key{"access", r.list("accesses", r.access(&sp.access))})
		}
		if err := r.mapping(n, where, keys); err != nil {
			return err
		}
		if d, ok := n.(*policytext.Shape); ok {
			return errors.Join(r.paths(path, nil), r.paths(object, nil), d.OneOf("path", "file"))
		}
		if (path == nil) == (object == nil) {
			return r.fail(n, "a rule of %s names one of path: (it and all beneath) and file: (that one object)", where)
		}
		if object != nil {
			path, sp.object = object, true
		}
		return r.paths(path, func(text string, at place) error {
			if err := r.add(sp, text, at); err != nil {
				return err
			}
			for _, p := range r.s.specs[len(r.s.specs)-1].patterns {
				if sp.object && len(p.Glob) > 0 {
					return r.s.fail(at, errors.New("file: is one object, not a pattern"))
				}
			}
			return nil
		})
	})
}

func (r reader) why(sp *spec) []key {
	text := func(into *string) func(ast.Node) error {
		return func(n ast.Node) (err error) {
			*into, err = r.text(n)
			if err == nil && strings.ContainsAny(*into, "\n\r\x1b") {
				return r.fail(n, "a reason or hint is one line")
			}
			return err
		}
	}
	return []key{{"reason", text(&sp.reason)}, {"hint", text(&sp.hint)}}
}

func (r reader) access(into *decode.Access) func(ast.Node) error {
	return func(n ast.Node) error {
		if d, ok := n.(*policytext.Shape); ok {
			return d.Words(decode.AllFile.Names())
		}
		text, err := r.text(n)
		if err != nil {
			return err
		}
		a, err := decode.ParseAccess(text)
		if err != nil || a&decode.AllFile == 0 {
			names := decode.AllFile.Names()
			return r.s.fail(nodePlace(n), &wordError{Msg: fmt.Sprintf("unknown access %q", text), Suggestion: likely(text, names, strings.Join(names, ", "))})
		}
		*into |= denyAccess(a)
		return nil
	}
}

// denyAccess is what a word of a deny's access list takes: read and write stand for what
// a read or write rule grants beyond look, and a program that may not be read may not be
// executed either; the other words mean themselves.
func denyAccess(a decode.Access) decode.Access {
	switch a {
	case decode.Read:
		return decode.List | decode.Read | decode.Map | decode.Exec
	case decode.Write:
		return decode.Change
	}
	return a
}

var plainName = lazy(`^[^/@~.*$\s][^/$\s]*$`)

// program reads one entry of exec.allow or exec.deny.
func (r reader) program(kind specKind) func(ast.Node) error {
	return func(n ast.Node) error {
		if !policytext.IsMapping(n) {
			return r.path(n, func(text string, at place) error {
				sp, err := parseProgram(kind, text, false)
				if err != nil {
					return r.s.fail(at, err)
				}
				sp.pos = at
				return r.keep(sp)
			})
		}
		sp := spec{kind: kind}
		var program ast.Node
		keys := []key{
			{"program", func(n ast.Node) error { program = n; return nil }},
			{"args", func(n ast.Node) error {
				sp.hasArgs = true
				return r.list("arguments", func(n ast.Node) error {
					text, err := r.text(n)
					if err != nil {
						return err
					}
					if _, _, err := parseComponent(text); err != nil {
						return r.s.fail(nodePlace(n), err)
					}
					sp.args = append(sp.args, text)
					return nil
				})(n)
			}},
		}
		if kind == specExecDeny {
			keys = append(keys, r.why(&sp)...)
		}
		if err := r.mapping(n, specVerbs[kind], keys); err != nil {
			return err
		}
		if d, ok := n.(*policytext.Shape); ok {
			return errors.Join(r.path(program, nil), d.Need("program"))
		}
		if program == nil {
			return r.fail(n, "a rule of %s names its program:", specVerbs[kind])
		}
		return r.path(program, func(text string, at place) error {
			parsed, err := parseProgram(kind, text, true)
			if err != nil {
				return r.s.fail(at, err)
			}
			sp.patterns, sp.program, sp.memfd, sp.text, sp.pos = parsed.patterns, parsed.program, parsed.memfd, text, at
			if sp.hasArgs {
				sp.text = strings.TrimSpace(text + " " + strings.Join(sp.args, " "))
			}
			return r.keep(sp)
		})
	}
}

// parseProgram reads a program of an exec rule: a path or glob, memfd, or, for a deny,
// a bare name where names are allowed.
func parseProgram(kind specKind, text string, name bool) (spec, error) {
	sp := spec{kind: kind, text: text}
	if text == "memfd" {
		sp.memfd = true
		return sp, nil
	}
	if plainName().MatchString(text) {
		switch {
		case kind == specExecAllow:
			return sp, &wordError{Msg: fmt.Sprintf("%q is a bare name: an allow names the program's file", text), Suggestion: fmt.Sprintf("such as /usr/bin/%s or ./%s", text, text)}
		case !name:
			return sp, &wordError{Msg: fmt.Sprintf("%q is a bare name", text), Suggestion: fmt.Sprintf("did you mean { program: %s } or ./%s?", text, text)}
		}
		if err := checkPathText(text); err != nil {
			return sp, err
		}
		if _, _, err := parseComponent(text); err != nil {
			return sp, err
		}
		sp.program = text
		return sp, nil
	}
	patterns, err := parsePattern(text, false)
	sp.patterns = patterns
	return sp, err
}

// net reads net.connect, bind and deny.
func (r reader) net(kind specKind) func(ast.Node) error {
	list := r.list("addresses", func(n ast.Node) error {
		sp := spec{kind: kind}
		add := func(text string, at place) error { return r.addAddress(sp, text, at) }
		if !policytext.IsMapping(n) {
			return r.path(n, add)
		}
		var to ast.Node
		keys := append([]key{{"address", func(n ast.Node) error { to = n; return nil }}}, r.why(&sp)...)
		if err := r.mapping(n, specVerbs[kind], keys); err != nil {
			return err
		}
		if d, ok := n.(*policytext.Shape); ok {
			return errors.Join(r.paths(to, nil), d.Need("address"))
		}
		if to == nil {
			return r.fail(n, "a rule of %s names its address:", specVerbs[kind])
		}
		return r.paths(to, add)
	})
	return func(n ast.Node) error {
		switch kind {
		case specConnect:
			r.s.replacesConnect = true
		case specBind:
			r.s.replacesBind = true
		}
		return list(n)
	}
}

func (r reader) addAddress(sp spec, text string, at place) error {
	if err := r.s.addAddress(sp, text, at, false); err != nil {
		return r.s.fail(at, err)
	}
	return nil
}

// addAddress parses an address and keeps it; the error has no place yet.
func (s *Source) addAddress(sp spec, text string, at place, flag bool) error {
	a, err := parseAddress(text, flag)
	if err != nil {
		return err
	}
	switch {
	case a.word == "@preset" && s.layer == LayerPreset, a.word == "@ssh-agent" && s.layer != LayerPreset:
		return &wordError{Msg: fmt.Sprintf("%s has no meaning here", a.word)}
	case a.word == "@preset" && sp.kind == specConnect:
		s.keepsConnect = true
		return nil
	case a.word == "@preset" && sp.kind == specBind:
		s.keepsBind = true
		return nil
	case a.kind == addressWord && sp.kind == specBind:
		return &wordError{Msg: fmt.Sprintf("%s cannot be bound", a.word), Suggestion: "expected an address such as 127.0.0.1:8000-8999"}
	case a.word == "@preset":
		return &wordError{Msg: "@preset is for net.connect and net.bind"}
	}
	sp.address, sp.text, sp.pos = a, text, at
	return s.keep(sp)
}

// lazy compiles an expression when it is first used: no preset needs one at a start.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var variableName = lazy(`^[^=\x00]+$`)

func (r reader) variable(into *[]stated) func(ast.Node) error {
	return func(n ast.Node) error {
		text, err := r.text(n)
		if err != nil {
			return err
		}
		if !variableName().MatchString(text) {
			return r.fail(n, "%q is no name of a variable", text)
		}
		if _, _, err := parseComponent(text); err != nil {
			return r.s.fail(nodePlace(n), err)
		}
		*into = append(*into, stated{text, nodePlace(n)})
		return nil
	}
}

// variables reads env.set.
func (r reader) variables(n ast.Node) error {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *policytext.Shape:
		return n.Note(map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}})
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return r.fail(n, "env.set is %s: want NAME: \"value\"", show(n))
	}
	for _, v := range values {
		name := keyName(v.Key)
		if !variableName().MatchString(name) {
			return r.fail(v.Key, "%q is no name of a variable", name)
		}
		text, err := r.text(v.Value)
		if err != nil {
			return err
		}
		r.s.env.set = append(r.s.env.set, stated{name + "=" + text, nodePlace(v.Key)})
	}
	return nil
}
