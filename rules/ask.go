// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// DefaultAskTimeout is how long an answer may take where no policy says.
const DefaultAskTimeout = 60 * time.Second

// maxAskTimeout keeps a question from holding a task for ever.
const maxAskTimeout = 24 * time.Hour

// Asking is what a policy says about questions: whom to ask instead of refusing what nothing
// has decided (docs/manual.md, Fence and questions).
type Asking struct {
	// On: the last step asks. False: it refuses.
	On bool
	// Fenced: the built-in roots are shrunk and Fence, "" for none, is the folder that is
	// free, canonical.
	Fenced bool
	Fence  string
	// Via is "tty", "exec:CMD" or "unix:PATH".
	Via     string
	Timeout time.Duration
}

// Asking gives the policy's settings for questions.
func (p *Policy) Asking() Asking { return p.ask }

// askSpec is what one source says; nil is nothing.
type askSpec struct {
	fence, via, timeout *stated
}

// ask reads the key ask.
func (r reader) ask() func(ast.Node) error {
	take := func(into **stated, check func(string) error) func(ast.Node) error {
		return func(n ast.Node) error {
			return r.path(n, func(text string, at place) error {
				if err := check(text); err != nil {
					return r.s.fail(at, err)
				}
				*into = &stated{text, at}
				return nil
			})
		}
	}
	return r.section("ask", []key{
		{"fence", take(&r.s.ask.fence, func(text string) error { return checkFence(text, false) })},
		{"via", take(&r.s.ask.via, checkVia)},
		{"timeout", withUnit(r, take(&r.s.ask.timeout, func(text string) error { _, err := askTimeout(text); return err }))},
	})
}

// withUnit reads a time, of which a bare number is none.
func withUnit(r reader, f func(ast.Node) error) func(ast.Node) error {
	return func(n ast.Node) error {
		if n, ok := n.(*ast.IntegerNode); ok {
			return r.fail(n, "%s is not text and has no unit: as in %ss", show(n), n.GetToken().Value)
		}
		return f(n)
	}
}

// askFlags takes --fence and --ask.
func (s *Source) askFlags(v FlagValues) error {
	if v.Fence != nil {
		at := place{Flag: "--fence"}
		if err := checkFence(*v.Fence, true); err != nil {
			return s.fail(at, err)
		}
		s.ask.fence = &stated{*v.Fence, at}
	}
	if v.Ask != "" {
		at := place{Flag: "--ask"}
		if err := checkVia(v.Ask); err != nil {
			return s.fail(at, err)
		}
		s.ask.via = &stated{v.Ask, at}
	}
	return nil
}

func checkFence(text string, flag bool) error {
	if text == "" {
		return nil
	}
	patterns, err := parsePattern(text, flag)
	if err == nil && (len(patterns) != 1 || len(patterns[0].Glob) > 0 || patterns[0].Anchor == "@runtime" || patterns[0].Anchor == "@tmp") {
		err = errors.New("a fence is one folder, not a pattern")
	}
	return err
}

func checkVia(text string) error {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "tty":
		return nil
	case kind == "exec" && strings.TrimSpace(rest) != "":
		return nil
	case kind == "unix" && path.IsAbs(rest):
		return nil
	case kind == "unix":
		return &wordError{Msg: fmt.Sprintf("%q names no socket by its absolute path", text), Suggestion: "expected unix:/run/user/1000/asker.sock or the like"}
	}
	return &wordError{Msg: fmt.Sprintf("%q is no way to ask", text), Suggestion: "expected tty, exec:CMD or unix:PATH"}
}

func askTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxAskTimeout {
		return 0, &wordError{Msg: fmt.Sprintf("%q is no time to wait for an answer", text), Suggestion: "expected more than 0s and at most 24h, such as 60s or 5m"}
	}
	return d, nil
}

// settleAsk finds what holds for questions: of each setting the last that is stated. A
// fence makes the mode strict.
func (c *compiler) settleAsk(sources []*Source) error {
	a := &c.p.ask
	a.Via, a.Timeout = "tty", DefaultAskTimeout
	var from *Source
	var at *stated
	for _, s := range sources {
		if s.ask.via != nil {
			a.On, a.Via = true, s.ask.via.word
			if from == nil {
				from, at = s, s.ask.via
			}
		}
		if s.ask.timeout != nil {
			d, err := askTimeout(s.ask.timeout.word)
			if err != nil {
				return s.fail(s.ask.timeout.pos, err)
			}
			a.Timeout = d
		}
		if s.ask.fence != nil {
			a.On, a.Fenced = true, true
			from, at = s, s.ask.fence
		}
	}
	if a.On && c.p.mode == ModeOpen {
		return from.fail(at.pos, &wordError{Msg: "mode open refuses nothing, so there is nothing to ask", Suggestion: "drop the mode, or the fence and ask"})
	}
	if !a.Fenced {
		return nil
	}
	said := func(s *Source) bool {
		return (s.layer == LayerFile || s.layer == LayerFlag) && s.mode.word == ModePermissive
	}
	if slices.ContainsFunc(sources, said) {
		c.warn(from.posOf(at.pos, "fence"), "mode permissive does not hold with a fence: what it would allow asks")
	}
	c.p.mode = ModeStrict
	if at.word == "" {
		c.p.fence = &Rule{Pos: from.posOf(at.pos, "fence"), Layer: LayerFence, Verb: "ask.fence", Text: `""`, Reason: "fenced, and no folder is free"}
		return nil
	}
	patterns, err := parsePattern(at.word, from.layer == LayerFlag)
	if err != nil {
		return from.fail(at.pos, err)
	}
	for _, b := range c.bind(patterns[0], true) {
		t := c.m.lookup(b.spelled)
		if c.m.Lookup != nil && !(t.Exists && t.IsDir) {
			return from.fail(at.pos, fmt.Errorf("the fence %s is not a folder that is there", t.Path))
		}
		a.Fence = t.Path
	}
	if a.Fence == "" {
		return from.fail(at.pos, fmt.Errorf("the fence %s names no folder on this machine", at.word))
	}
	pos := from.posOf(at.pos, "fence")
	c.p.fence = &Rule{Pos: pos, Layer: LayerFence, Verb: "ask.fence", Text: a.Fence, Reason: "outside the fence " + a.Fence, Paths: []string{a.Fence}}
	if c.p.tooBroad(a.Fence) {
		c.warn(pos, "the fence %s is broad: everything in it is free", a.Fence)
	}
	return nil
}

// unlistedRule is what answers where nothing has decided: the fence, or the mode.
func (p *Policy) unlistedRule() *Rule {
	if p.fence != nil && p.scope != ScopeUser { // step 4 of the order is before any question
		return p.fence
	}
	return p.modeRule
}

// asked turns the refusal of the last step into a question, where questions are on.
// Devices are only for rules that name them, and a closed list of programs is closed.
func (p *Policy) asked(r *Request, d Decision) Decision {
	if p.ask.On && !r.Silent && p.scope != ScopeUser && d.Rule == p.unlistedRule() && !r.File.isDevice() {
		d.Verdict = Ask
	}
	return d
}

// freeHere says where the fence lets one go.
func (p *Policy) freeHere() string {
	if p.ask.Fence == "" {
		return "no folder is free here"
	}
	return "free here: " + p.ask.Fence
}
