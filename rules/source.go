// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"ptguard/decode"
	"ptguard/internal/policytext"
)

// Source is the rules of one policy file, of one preset, or of the flags, parsed and
// checked for form, but not bound to a machine.
type Source struct {
	name  string
	layer Layer
	text  policytext.Text // for error messages

	mode     stated
	work     stated
	unlisted stated
	extends  []stated
	specs    []spec
	lists    [][]spec // more of them: the deny lists of a preset, which presets share
	paths    int      // patterns in specs
	env      envSpec
	ask      askSpec
	noExec   bool
	tests    []Test
	set      settings
	// scopeSpecs are the sections of scopes.
	scopeSpecs []scopeSpec

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
	source   string // the line it stands on, "" for flags
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

// WorkPos is the place where the source states the work folder, "" if it does not.
func (s *Source) WorkPos() string {
	if s.work.word == "" {
		return ""
	}
	return s.posOf(s.work.pos, s.work.word)
}

// posOf words the place of a rule, as records and `policy show` print it.
func (s *Source) posOf(at place, text string) string {
	switch {
	case at.Flag != "":
		return "flag " + at.Flag
	case s.layer == LayerPreset:
		return "preset " + s.name + ": " + text
	case at.Line > 0:
		return fmt.Sprintf("%s:%d:%d", s.name, at.Line, at.Col)
	}
	return s.name
}

// Layers stacks sources in the order Compile wants them: presets (those asked for, else
// those the files extend, else permissive), then files, each after the files it extends,
// then the flags (nil if there are none). read loads a policy file by path; it is called
// for extends only, and may give a file another name than it was asked for: one that goes up
// from a folder is told apart only by where it leads. An error names the place of the extends
// line.
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
			dir, _ := path.Split(s.name)
			if name = dir + name; !policytext.Climbs(name) {
				name = path.Clean(name)
			}
		}
		if l.seen[name] {
			continue
		}
		if l.open[name] {
			return s.fail(e.pos, &wordError{Msg: fmt.Sprintf("%s extends itself", name)})
		}
		base, err := l.read(name)
		if err != nil {
			posError := &PosError{}
			if errors.As(err, &posError) {
				return err
			}
			return s.fail(e.pos, err)
		}
		if l.open[base.name] { // it may be another name of the file
			return s.fail(e.pos, &wordError{Msg: fmt.Sprintf("%s extends itself", base.name)})
		}
		if len(l.open) > 32 {
			return s.fail(e.pos, &wordError{Msg: "more than 32 files extend each other"})
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
