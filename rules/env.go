// SPDX-License-Identifier: Apache-2.0

package rules

import "strings"

// envRules shape the environment of CMD, once, before its exec.
type envRules struct {
	pass, set, drop []stated
	passPos         map[string]string
	keep            bool
}

// strictEnv is what mode strict passes by itself. Left out on purpose: what loads code
// (LD_PRELOAD, BASH_ENV, PYTHONPATH, …), what leads to agents and buses, credentials.
var strictEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "TZ", "LANG", "LANGUAGE", "LC_*",
	"PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER",
}

func (c *compiler) env(s *Source) {
	e := &c.p.env
	if e.passPos == nil {
		e.passPos = map[string]string{}
	}
	for _, v := range s.env.pass {
		// A flag that passes what is passed anyway deserves no remark.
		if s.layer == LayerFile {
			e.passPos[v.word] = s.posOf(v.pos, v.word)
		}
	}
	e.pass = append(e.pass, s.env.pass...)
	e.set = append(e.set, s.env.set...)
	e.drop = append(e.drop, s.env.drop...)
	e.keep = e.keep || s.env.keep
}

// Env gives the environment for CMD out of ptguard's own: unchanged in permissive and
// open, the names of a short list and of env.pass in strict; less env.drop, plus env.set
// (which is last and beats drop).
func (p *Policy) Env(environ []string) []string {
	out := make([]string, 0, len(environ)+len(p.env.set))
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if p.mode == ModeStrict && !p.env.keep && !matchesAny(strictEnv, name) && !matchesStated(p.env.pass, name) {
			continue
		}
		if matchesStated(p.env.drop, name) || p.env.sets(name) {
			continue
		}
		out = append(out, v)
	}
	for i, v := range p.env.set {
		name, _, _ := strings.Cut(v.word, "=")
		last := true
		for _, later := range p.env.set[i+1:] {
			last = last && !strings.HasPrefix(later.word, name+"=")
		}
		if last {
			out = append(out, v.word)
		}
	}
	return out
}

func (e *envRules) sets(name string) bool {
	for _, v := range e.set {
		if strings.HasPrefix(v.word, name+"=") {
			return true
		}
	}
	return false
}

func matchesAny(pats []string, name string) bool {
	for _, pat := range pats {
		if matchComponent(pat, name) {
			return true
		}
	}
	return false
}

func matchesStated(pats []stated, name string) bool {
	for _, pat := range pats {
		if matchComponent(pat.word, name) {
			return true
		}
	}
	return false
}
