// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"

	"ptguard/decode"
)

// denyProgram is step 5 for programs: --no-exec, exec.deny by name or with arguments,
// and, for a mapping, what a closed list does not name.
func (p *Policy) denyProgram(r *Request) *Rule {
	f := &r.File
	if r.Access&decode.Exec != 0 && p.noExec != nil && !r.First {
		return p.noExec
	}
	var space [room]int
	var rule *Rule
	merge(p.progAt.loose, p.progAt.about(f, space[:0]), func(i int) bool {
		if g := &p.progs[i]; g.refuses(r) {
			rule = g.rule
		}
		return rule == nil
	})
	if rule != nil {
		return rule
	}
	if r.Access&decode.Map != 0 && p.closed != nil && looksLikeProgram(f) && p.inSystemBin(f.Path) && !p.listed(f.Path) {
		return p.closed
	}
	return nil
}

// refuses tells whether a deny is about the file of a request, and its arguments.
func (g *progRule) refuses(r *Request) bool {
	switch {
	case !g.matchesFile(&r.File):
		return false
	case r.Access&decode.Exec == 0:
		// A mapping has no arguments to look at, and only a program is meant.
		return !g.hasArgs && looksLikeProgram(&r.File)
	}
	return g.matchesArgs(r)
}

func (p *Policy) inSystemBin(path string) bool {
	for _, dir := range p.systemBin {
		if contains(dir, path) {
			return true
		}
	}
	return false
}

// listed tells whether a closed list names the file, or CMD and its chain do.
func (p *Policy) listed(path string) bool {
	q := question{r: &Request{File: File{Path: path}}, need: decode.Exec, want: decode.Exec}
	p.walk(&q, path, false)
	if (q.userBits|q.baseBits)&decode.Exec != 0 {
		return true
	}
	for _, i := range p.progAt.allow {
		if g := &p.progs[i]; g.matchesPath(path) {
			return true
		}
	}
	return false
}

// allowProgram is what grants Exec besides the trie: arguments that an exec.allow names,
// the loader of an allowed program, memfd, or, in permissive with an open list, that the
// file may be read.
func (p *Policy) allowProgram(q *question, readable bool) *Rule {
	r := q.r
	if r.File.Nameless {
		return p.memfd
	}
	for _, i := range p.progAt.allow {
		if g := &p.progs[i]; g.matchesPath(r.File.Path) && g.matchesArgs(r) {
			return g.rule
		}
	}
	if !r.Program && (r.Loader || p.isLoader(r.File.Path)) {
		return ruleLoader
	}
	if readable {
		switch {
		case q.userBits&decode.Read != 0:
			return q.user.rule
		case q.baseBits&decode.Read != 0:
			return q.base.rule
		case p.byMode(&r.File)&decode.Read != 0:
			return p.modeRule
		}
	}
	return nil
}

var ruleLoader = &Rule{Pos: "builtin loader", Layer: LayerBuiltin, Verb: "allow", Text: "ELF loader", Reason: "the loader of a program that may be executed", Access: decode.Exec}

// isLoader knows the ELF loader by its name, in the library folders only: a script in
// the work folder may name any #! interpreter it likes.
func (p *Policy) isLoader(path string) bool {
	name := baseName(path)
	if !strings.HasPrefix(name, "ld-") && !strings.HasPrefix(name, "ld.so") && !strings.HasPrefix(name, "ld64.") {
		return false
	}
	for _, dir := range []string{"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32"} {
		if contains(dir, path) {
			return true
		}
	}
	return false
}

// matchesFile tells whether a deny is about the file: its name, the path as given or a
// link on the way has the base name, or the path rule covers one of them.
func (g *progRule) matchesFile(f *File) bool {
	if g.matchesPath(f.Path) {
		return true
	}
	return slices.ContainsFunc(f.Spellings, g.matchesPath)
}

func (g *progRule) matchesPath(path string) bool {
	if path == "" {
		return false
	}
	if g.name != "" {
		return matchComponent(g.name, baseName(path))
	}
	for _, e := range g.paths {
		if e.matches(path) {
			return true
		}
	}
	return false
}

func (g *progRule) matchesArgs(r *Request) bool {
	if !g.hasArgs {
		return true
	}
	if len(r.Argv) == 0 {
		// The kernel makes argv[0] "" then; there are no arguments.
		return matchArgs(g.args, nil)
	}
	return matchArgs(g.args, r.Argv[1:])
}

// matchArgs matches a whole argument list; "**" takes any number of arguments.
func matchArgs(pats, args []string) bool {
	var starPats, starArgs []string
	star := false
	for {
		switch {
		case len(pats) > 0 && pats[0] == "**":
			pats = pats[1:]
			star, starPats, starArgs = true, pats, args
			continue
		case len(pats) == 0 && len(args) == 0:
			return true
		case len(pats) > 0 && len(args) > 0 && matchComponent(pats[0], args[0]):
			pats, args = pats[1:], args[1:]
			continue
		}
		if !star || len(starArgs) == 0 {
			return false
		}
		starArgs = starArgs[1:]
		pats, args = starPats, starArgs
	}
}

func baseName(path string) string {
	path = strings.TrimRight(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}
