// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"ptguard/decode"
)

// Source is the rules of one policy file, of one preset, or of the flags, parsed and
// checked for form, but not bound to a machine.
type Source struct {
	name  string
	layer Layer
	lines []string // of a file or preset, for error messages

	mode     stated
	work     stated
	unlisted stated
	extends  []stated
	specs    []spec
	paths    int // patterns in specs
	env      envSpec
	noExec   bool

	// replacesConnect, replacesBind: the source has a net.connect (net.bind) list, which
	// replaces the preset's unless it holds @preset.
	replacesConnect, replacesBind bool
	keepsConnect, keepsBind       bool
}

// stated is a word with the place where it was said.
type stated struct {
	word string
	pos  place
}

// place is a position in a Source; line 0 is "no line" (flags).
type place struct {
	line, col int
	flag      string
}

// specKind is the list a spec stands in.
type specKind uint8

const (
	specRead specKind = iota
	specWrite
	specDeny
	specHide
	specExecAllow
	specExecDeny
	specConnect
	specBind
	specNetDeny
)

var specVerbs = [...]string{"files.read", "files.write", "files.deny", "files.hide", "exec.allow", "exec.deny", "net.connect", "net.bind", "net.deny"}

func (k specKind) allows() bool {
	return k != specDeny && k != specHide && k != specExecDeny && k != specNetDeny
}

// spec is one rule as written.
type spec struct {
	kind     specKind
	pos      place
	text     string
	reason   string
	hint     string
	patterns []pattern
	object   bool          // file: that one object only
	access   decode.Access // of files.deny; 0 is all but look
	program  string        // exec.deny by name
	args     []string
	hasArgs  bool
	memfd    bool
	address  address
}

type envSpec struct {
	pass, drop []stated
	set        []stated // word is NAME=VALUE
	keep       bool
}

// Name is the name given to Read, the preset's name, or "flags".
func (s *Source) Name() string { return s.name }

// Layer tells whether the source is a preset, a file, or the flags.
func (s *Source) Layer() Layer { return s.layer }

// Extends lists what the source builds on, in order: presets by name, files by path
// (relative to this file). The caller loads these before s; see Layers.
func (s *Source) Extends() []string {
	out := make([]string, len(s.extends))
	for i, e := range s.extends {
		out[i] = e.word
	}
	return out
}

// Work is the work folder as the source states it, "" if it does not.
func (s *Source) Work() string { return s.work.word }

// PosError is a mistake in a policy with its place.
type PosError struct {
	File       string // policy file, "preset NAME", or the flag
	Line, Col  int    // from 1; 0 if the place has none
	SourceLine string
	Msg        string
	Suggestion string
}

// Error gives several lines: file, place and message, then the source line with a caret
// under the faulty word.
func (e *PosError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	}
	b.WriteString(": " + e.Msg)
	if e.Suggestion != "" {
		b.WriteString(" (" + e.Suggestion + ")")
	}
	if e.Line > 0 && e.SourceLine != "" {
		line, col := clip(e.SourceLine, e.Col)
		number := fmt.Sprint(e.Line)
		fmt.Fprintf(&b, "\n  %s | %s", number, line)
		fmt.Fprintf(&b, "\n  %s | %s^", strings.Repeat(" ", len(number)), strings.Repeat(" ", col-1))
	}
	return b.String()
}

// clip makes a source line printable and short enough for a terminal; col moves along.
func clip(line string, col int) (string, int) {
	const width = 120
	runes := []rune(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", " "))
	for i, r := range runes {
		if r < 0x20 || r == 0x7f || 0x80 <= r && r < 0xa0 || r == 0xfffd {
			runes[i] = '?'
		}
	}
	col = max(1, min(col, len(runes)+1))
	if len(runes) <= width {
		return string(runes), col
	}
	start := max(0, min(col-width/2, len(runes)-width))
	return string(runes[start : start+width]), col - start
}

// fail makes the error for a word at a place of the source.
func (s *Source) fail(at place, err error) *PosError {
	e := &PosError{File: s.name, Line: at.line, Col: at.col, Msg: err.Error()}
	if s.layer == LayerPreset {
		e.File = "preset " + s.name
	}
	if at.flag != "" {
		e.File = at.flag
	}
	w := &wordError{}
	if errors.As(err, &w) {
		e.Msg, e.Suggestion = w.msg, w.suggestion
	}
	if at.line > 0 && at.line <= len(s.lines) {
		e.SourceLine = s.lines[at.line-1]
	}
	return e
}

// posOf words the place of a rule, as records and `policy show` print it.
func (s *Source) posOf(at place, text string) string {
	switch {
	case at.flag != "":
		return "flag " + at.flag
	case s.layer == LayerPreset:
		return "preset " + s.name + ": " + text
	case at.line > 0:
		return fmt.Sprintf("%s:%d:%d", s.name, at.line, at.col)
	}
	return s.name
}

// Layers stacks sources in the order Compile wants them: presets (those asked for, else
// those the files extend, else permissive), then files, each after the files it extends,
// then the flags (nil if there are none). read loads a policy file by path; it is called
// for extends only. An error names the place of the extends line.
func Layers(presets []string, files []*Source, flags *Source, read func(path string) (*Source, error)) ([]*Source, error) {
	l := layering{read: read, given: len(presets) > 0, seen: map[string]bool{}, open: map[string]bool{}}
	for _, name := range presets {
		s, err := Preset(name)
		if err != nil {
			return nil, fmt.Errorf("--preset: %w", err)
		}
		l.preset(s)
	}
	for _, s := range files {
		if err := l.file(s); err != nil {
			return nil, err
		}
	}
	if len(l.presets) == 0 {
		s, err := Preset("permissive")
		if err != nil {
			return nil, err
		}
		l.preset(s)
	}
	out := append(l.presets, l.files...)
	if flags != nil {
		out = append(out, flags)
	}
	return out, nil
}

type layering struct {
	read           func(string) (*Source, error)
	given          bool
	presets, files []*Source
	seen, open     map[string]bool
}

func (l *layering) preset(s *Source) {
	if key := "preset " + s.name; !l.seen[key] {
		l.seen[key] = true
		l.presets = append(l.presets, s)
	}
}

func (l *layering) file(s *Source) error {
	if l.seen[s.name] {
		return nil
	}
	l.open[s.name] = true
	for _, e := range s.extends {
		if !isFileName(e.word) {
			p, err := Preset(e.word)
			if err != nil {
				return s.fail(e.pos, err)
			}
			if !l.given {
				l.preset(p)
			}
			continue
		}
		name := e.word
		if !path.IsAbs(name) {
			name = path.Join(path.Dir(s.name), name)
		}
		if l.open[name] {
			return s.fail(e.pos, &wordError{msg: fmt.Sprintf("%s extends itself", name)})
		}
		if l.seen[name] {
			continue
		}
		base, err := l.read(name)
		if err != nil {
			posError := &PosError{}
			if errors.As(err, &posError) {
				return err
			}
			return s.fail(e.pos, err)
		}
		if len(l.open) > 32 {
			return s.fail(e.pos, &wordError{msg: "more than 32 files extend each other"})
		}
		if err := l.file(base); err != nil {
			return err
		}
	}
	delete(l.open, s.name)
	l.seen[s.name] = true
	l.files = append(l.files, s)
	return nil
}

// isFileName tells a path in extends from a preset's name.
func isFileName(word string) bool {
	return strings.Contains(word, "/") || strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml")
}
