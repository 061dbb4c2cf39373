// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"ptguard/internal/policytext"
)

// settings are the keys of a policy that are no list of rules. A nil or zero field was not
// stated; the last source that states one wins.
type settings struct {
	dotfiles *bool    // files.masks.dotfiles
	except   []stated // files.masks.except
	excepts  bool     // the list was stated, even if empty
	hardened *bool
	families []stated
	limits   []stated // NAME=VALUE, checked
	roots    roots
}

// roots is how a preset has the built-in roots; policies state it by extending the preset.
type roots struct {
	workReadOnly bool // the work folder is read, and written only by a rule
	privateTmp   bool // the temp folder is one of this run alone
	ownShm       bool // of /dev/shm only what the tree itself made
}

// Limits bound a run. Zero means no limit.
type Limits struct {
	Processes int           // processes of the tree at one time, not threads
	Memory    int64         // resident and swapped bytes of the whole tree, sampled
	CPU       time.Duration // user and system time of the whole tree, sampled
	Wall      time.Duration // from the start to the end of the run
	OpenFiles int64         // RLIMIT_NOFILE of each process
	FileSize  int64         // RLIMIT_FSIZE: bytes of one file
	Core      *int64        // RLIMIT_CORE: bytes of a core dump, 0 for none; nil: as inherited
}

// limitNames are the keys of limits, in the order they are explained.
var limitNames = []string{"processes", "memory", "cpu", "wall", "open-files", "file-size", "core"}

// set takes one limit from its text.
func (l *Limits) set(name, text string) (err error) {
	switch name {
	case "processes":
		l.Processes, err = parseCount(text)
	case "open-files":
		var n int
		n, err = parseCount(text)
		l.OpenFiles = int64(n)
	case "memory":
		l.Memory, err = parseSize(text, 1)
	case "file-size":
		l.FileSize, err = parseSize(text, 1)
	case "core":
		var n int64
		n, err = parseSize(text, 0)
		l.Core = &n
	case "cpu":
		l.CPU, err = parseDuration(text)
	case "wall":
		l.Wall, err = parseDuration(text)
	default:
		err = &wordError{Msg: fmt.Sprintf("unknown limit %q", name), Suggestion: likely(name, limitNames, strings.Join(limitNames, ", "))}
	}
	return err
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &wordError{Msg: fmt.Sprintf("%q is no number of at least 1", text)}
	}
	return n, nil
}

var (
	sizeText  = lazy(`^([0-9]{1,15})(B|KiB|MiB|GiB|TiB)?$`)
	sizeUnits = map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
)

// parseSize reads a number of bytes: 4GiB, 512MiB, 1048576.
func parseSize(text string, least int64) (int64, error) {
	m := sizeText().FindStringSubmatch(text)
	if m == nil {
		return 0, &wordError{Msg: fmt.Sprintf("%q is no size", text), Suggestion: "expected a number with B, KiB, MiB, GiB or TiB, such as 4GiB"}
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := sizeUnits[m[2]]
	if err != nil || n > math.MaxInt64/unit || n*unit < least {
		return 0, &wordError{Msg: fmt.Sprintf("%q is out of range", text)}
	}
	return n * unit, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, &wordError{Msg: fmt.Sprintf("%q is no duration", text), Suggestion: "expected a number with ms, s, m or h, such as 90s or 1h30m"}
	}
	return d, nil
}

// boolean reads true or false.
func (r reader) boolean(into **bool) func(ast.Node) error {
	return func(n ast.Node) error {
		if d, ok := n.(*policytext.Shape); ok {
			return d.Note(map[string]any{"type": "boolean"})
		}
		b, ok := n.(*ast.BoolNode)
		if !ok {
			return r.fail(n, "%s where true or false is wanted", show(n))
		}
		*into = &b.Value
		return nil
	}
}

func (r reader) masks() func(ast.Node) error {
	return r.section("files.masks", []key{
		{"dotfiles", r.boolean(&r.s.set.dotfiles)},
		{"except", func(n ast.Node) error {
			r.s.set.excepts = true
			return r.list("names", func(n ast.Node) error {
				text, err := r.text(n)
				if err != nil {
					return err
				}
				if strings.Contains(text, "/") || !strings.HasPrefix(text, ".") || text == "." || text == ".." {
					return r.s.fail(nodePlace(n), &wordError{Msg: fmt.Sprintf("%q is not the name of a dotfile", text), Suggestion: "a mask goes by single names such as .venv; to grant a path, write it under files.read"})
				}
				if _, _, err := parseComponent(text); err != nil {
					return r.s.fail(nodePlace(n), err)
				}
				r.s.set.except = append(r.s.set.except, stated{text, nodePlace(n)})
				return nil
			})(n)
		}},
	})
}

func (r reader) families(n ast.Node) error {
	if seq, ok := n.(*ast.SequenceNode); ok && len(seq.Values) == 0 {
		return r.fail(n, "net.families is empty: name at least one of %s", strings.Join(judgedFamilies, ", "))
	}
	return r.list("address families", func(n ast.Node) error {
		var family stated
		if err := r.word(&family, "address family", judgedFamilies...)(n); err != nil {
			return err
		}
		r.s.set.families = append(r.s.set.families, family)
		return nil
	})(n)
}

func (r reader) limits(n ast.Node) error {
	var keys []key
	for _, name := range limitNames {
		keys = append(keys, key{name, func(n ast.Node) error {
			text := ""
			switch n := n.(type) {
			case *policytext.Shape:
				return n.Note(map[string]any{"type": []string{"string", "integer"}})
			case *ast.IntegerNode:
				text = n.GetToken().Value
			default:
				var err error
				if text, err = r.text(n); err != nil {
					return err
				}
			}
			if err := new(Limits).set(name, text); err != nil {
				return r.s.fail(nodePlace(n), err)
			}
			r.s.set.limits = append(r.s.set.limits, stated{name + "=" + text, nodePlace(n)})
			return nil
		}})
	}
	return r.mapping(n, "limits", keys)
}

// roots reads a key that only presets have: files extend a preset that has it.
func (r reader) roots() func(ast.Node) error {
	is := func(into *bool, word string) func(ast.Node) error {
		return func(n ast.Node) error {
			var got stated
			err := r.word(&got, "root", word)(n)
			*into = err == nil
			return err
		}
	}
	return r.section("roots", []key{
		{"work", is(&r.s.set.roots.workReadOnly, "read")},
		{"tmp", is(&r.s.set.roots.privateTmp, "private")},
		{"shm", is(&r.s.set.roots.ownShm, "own")},
	})
}

// judgedFamilies are the families whose addresses can be judged.
var judgedFamilies = []string{"unix", "inet", "inet6", "netlink-route"}

// settings makes the policy's settings out of all sources.
func (c *compiler) settings(sources []*Source) error {
	p := c.p
	p.families = judgedFamilies
	for _, s := range sources {
		set := &s.set
		if set.dotfiles != nil {
			p.masked = *set.dotfiles
		}
		if set.excepts {
			p.except = nil
			for _, e := range set.except {
				p.except = append(p.except, e.word)
			}
		}
		if set.hardened != nil {
			p.hardened = *set.hardened
		}
		if set.families != nil {
			p.families = nil
			for _, f := range set.families {
				p.families = append(p.families, f.word)
			}
		}
		for _, l := range set.limits {
			name, text, _ := strings.Cut(l.word, "=")
			if err := p.limits.set(name, text); err != nil {
				return s.fail(l.pos, err)
			}
		}
		p.roots.workReadOnly = p.roots.workReadOnly || set.roots.workReadOnly
		p.roots.privateTmp = p.roots.privateTmp || set.roots.privateTmp
		p.roots.ownShm = p.roots.ownShm || set.roots.ownShm
	}
	if p.mode == ModeOpen {
		c.warnOpen(sources)
		p.masked, p.hardened, p.families = false, false, judgedFamilies
	}
	if p.masked {
		p.maskRule = c.builtinMask()
	}
	return nil
}

// warnOpen tells which settings of a file or flag mode open, which obeys seals only, leaves
// without effect.
func (c *compiler) warnOpen(sources []*Source) {
	for _, s := range sources {
		set := &s.set
		for _, dropped := range []struct {
			name string
			is   bool
		}{
			{"hardened", set.hardened != nil && *set.hardened},
			{"files.masks", set.dotfiles != nil && *set.dotfiles},
			{"net.families", set.families != nil},
		} {
			if dropped.is && s.layer != LayerPreset {
				c.warn(s.name, "%s has no effect: mode open obeys seals only", dropped.name)
			}
		}
	}
}

// PrivateTmp tells whether the sources ask for a temp folder of the run's own: the caller
// makes one, with mode 0700, and gives it as the only folder of Machine.Tmp.
func PrivateTmp(sources []*Source) bool {
	for _, s := range sources {
		if s.set.roots.privateTmp {
			return true
		}
	}
	return false
}

// Limits gives what bounds the run.
func (p *Policy) Limits() Limits { return p.limits }

// Hardened tells whether the hardened profile is on: see decode.NeedHardened.
func (p *Policy) Hardened() bool { return p.hardened }

// Setting is one setting of a policy as it holds, for `policy show`.
type Setting struct{ Name, Value string }

// Settings gives the settings that are no rules, in a fixed order; those without effect are
// left out.
func (p *Policy) Settings() []Setting {
	out := []Setting{{"mode", p.mode}}
	add := func(name, value string) { out = append(out, Setting{name, value}) }
	if p.unlisted == Hide {
		add("unlisted", "hide")
	}
	if p.maskRule != nil {
		add("files.masks", "dotfiles, except "+strings.Join(p.except, " "))
	}
	if len(p.families) < len(judgedFamilies) {
		add("net.families", strings.Join(p.families, " "))
	}
	if p.hardened {
		add("hardened", "true")
	}
	l := p.limits
	if l.Processes > 0 {
		add("limits.processes", strconv.Itoa(l.Processes))
	}
	for _, b := range []struct {
		name string
		n    int64
	}{{"memory", l.Memory}, {"open-files", l.OpenFiles}, {"file-size", l.FileSize}} {
		if b.n > 0 {
			add("limits."+b.name, strconv.FormatInt(b.n, 10))
		}
	}
	if l.Core != nil {
		add("limits.core", strconv.FormatInt(*l.Core, 10))
	}
	if l.CPU > 0 {
		add("limits.cpu", l.CPU.String())
	}
	if l.Wall > 0 {
		add("limits.wall", l.Wall.String())
	}
	if p.mode == ModeStrict && !p.env.keep {
		names := append([]string{}, strictEnv...)
		for _, v := range p.env.pass {
			names = append(names, v.word)
		}
		add("env.pass", strings.Join(names, " "))
	}
	return out
}
