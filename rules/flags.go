// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"strings"
)

// FlagValues are the rules given on the command line, as typed. Relative paths mean the
// current directory.
type FlagValues struct {
	Mode                    string // --mode; "" if not given
	Read, Write, Deny, Hide []string
	AllowExec, DenyExec     []string // --deny-exec takes a bare NAME too
	Connect, Bind, DenyNet  []string
	NoExec                  bool
	Env                     []string // NAME (pass) or NAME=VALUE (set)
	KeepEnv                 bool     // --keep-env: the environment unchanged in strict too
	Hardened                *bool    // --hardened, --no-hardened; nil if neither was given
	Fence                   *string  // --fence DIR; "" is a fence without a folder, nil none
	Ask                     string   // --ask VIA; "" if not given
}

// FromFlags makes the last layer. Errors are *PosError whose File is the flag.
func FromFlags(v FlagValues) (*Source, error) {
	s := &Source{name: "flags", layer: LayerFlag, noExec: v.NoExec}
	s.env.keep, s.set.hardened = v.KeepEnv, v.Hardened
	if v.Mode != "" {
		modes := []string{"strict", "permissive", "open"}
		if indexOf(modes, v.Mode) < 0 {
			return nil, s.fail(place{Flag: "--mode"}, &wordError{Msg: fmt.Sprintf("unknown mode %q", v.Mode), Suggestion: likely(v.Mode, modes, strings.Join(modes, ", "))})
		}
		s.mode = stated{v.Mode, place{Flag: "--mode"}}
	}
	for _, f := range []struct {
		flag   string
		kind   specKind
		values []string
	}{
		{"--read", specRead, v.Read},
		{"--write", specWrite, v.Write},
		{"--deny", specDeny, v.Deny},
		{"--hide", specHide, v.Hide},
	} {
		for _, text := range f.values {
			patterns, err := parsePattern(text, true)
			if err != nil {
				return nil, s.fail(place{Flag: f.flag}, err)
			}
			s.specs = append(s.specs, spec{kind: f.kind, pos: place{Flag: f.flag}, text: text, patterns: patterns})
		}
	}
	if err := s.execFlags("--allow-exec", specExecAllow, v.AllowExec); err != nil {
		return nil, err
	}
	if err := s.execFlags("--deny-exec", specExecDeny, v.DenyExec); err != nil {
		return nil, err
	}
	if err := s.netFlags(v); err != nil {
		return nil, err
	}
	if err := s.askFlags(v); err != nil {
		return nil, err
	}
	for _, e := range v.Env {
		name, _, set := strings.Cut(e, "=")
		if name == "" {
			return nil, s.fail(place{Flag: "--env"}, &wordError{Msg: fmt.Sprintf("%q names no variable", e), Suggestion: "expected NAME or NAME=VALUE"})
		}
		at := stated{e, place{Flag: "--env"}}
		if set {
			s.env.set = append(s.env.set, at)
			continue
		}
		if _, _, err := parseComponent(e); err != nil {
			return nil, s.fail(at.pos, err)
		}
		s.env.pass = append(s.env.pass, at)
	}
	return s, nil
}

func (s *Source) execFlags(flag string, kind specKind, values []string) error {
	at := place{Flag: flag}
	for _, text := range values {
		sp := spec{kind: kind, text: text}
		var err error
		if text == "memfd" || plainName().MatchString(text) {
			sp, err = parseProgram(kind, text, true)
		} else {
			// What is no bare name is a path, relative ones included.
			sp.patterns, err = parsePattern(text, true)
		}
		if err != nil {
			return s.fail(at, err)
		}
		sp.pos = at
		s.specs = append(s.specs, sp)
	}
	return nil
}

func (s *Source) netFlags(v FlagValues) error {
	s.replacesConnect, s.replacesBind = len(v.Connect) > 0, len(v.Bind) > 0
	for _, f := range []struct {
		flag   string
		kind   specKind
		values []string
	}{{"--connect", specConnect, v.Connect}, {"--bind", specBind, v.Bind}, {"--deny-net", specNetDeny, v.DenyNet}} {
		for _, text := range f.values {
			at := place{Flag: f.flag}
			if err := s.addAddress(spec{kind: f.kind}, text, at, true); err != nil {
				return s.fail(at, err)
			}
		}
	}
	return nil
}
