// SPDX-License-Identifier: Apache-2.0

package policytext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxAlternatives bounds what `{a,b}` may multiply one pattern into.
const maxAlternatives = 1024

// Pattern is a path of a policy, parsed but not bound to a machine: an anchor, literal
// components beneath it, and, for a glob, the segments that follow.
type Pattern struct {
	// Anchor is "/", ".", "~", "@work", "@tmp", "@home", "@runtime", or "cwd" (flags only).
	Anchor string
	// Literal are the components up to the first one with a wildcard, unescaped.
	Literal []string
	// Glob are the segments after Literal; "**" stands alone. Empty for a plain path.
	Glob []string
	// Rooted is true for a pattern that began with "**/".
	Rooted bool
}

// Bare tells whether the pattern is an anchor and nothing else.
func (p Pattern) Bare() bool { return len(p.Literal) == 0 && len(p.Glob) == 0 }

// WordError is an error about one word of a file, before it has a position.
type WordError struct {
	Msg        string // one sentence, lower case
	Suggestion string // what to write instead, "" if nothing is known
}

func (e *WordError) Error() string {
	if e.Suggestion != "" {
		return e.Msg + " (" + e.Suggestion + ")"
	}
	return e.Msg
}

// ParsePattern reads a path of a policy file, or of a flag, where a relative path is
// usual and means the current directory. It gives several patterns for `{a,b}`.
func ParsePattern(text string, flag bool) ([]Pattern, error) {
	if err := CheckPath(text); err != nil {
		return nil, err
	}
	alternatives, err := expandBraces(text)
	if err != nil {
		return nil, err
	}
	var out []Pattern
	for _, a := range alternatives {
		p, err := parseAlternative(a, flag)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// CheckPath refuses what no path of a policy or seal file may hold.
func CheckPath(text string) error {
	switch {
	case text == "":
		return &WordError{Msg: "an empty path"}
	case len(text) > 4096:
		return &WordError{Msg: "a path longer than the kernel takes (PATH_MAX, 4096 bytes)"}
	case strings.Contains(text, "$"):
		return &WordError{
			Msg:        "`$` in a path is not expanded: whoever shapes the environment could widen the policy",
			Suggestion: "write the path itself, or begin it with ~/, @work/ or @tmp/",
		}
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < 0x20 || c == 0x7f {
			return &WordError{Msg: fmt.Sprintf("a path holds the control character \\x%02x", c)}
		}
	}
	return nil
}

var anchors = []string{"@work", "@tmp", "@home", "@runtime"}

func parseAlternative(text string, flag bool) (Pattern, error) {
	var p Pattern
	rest := ""
	switch {
	case text == "**" || strings.HasPrefix(text, "**/"):
		p.Anchor, p.Rooted, rest = "/", true, text
	case strings.HasPrefix(text, "/"):
		p.Anchor, rest = "/", text
	case text == "~" || strings.HasPrefix(text, "~/"):
		p.Anchor, rest = "~", text[1:]
	case strings.HasPrefix(text, "@"):
		word, tail, _ := strings.Cut(text, "/")
		if i := indexOf(anchors, word); i < 0 {
			return p, &WordError{
				Msg:        fmt.Sprintf("unknown anchor %s", word),
				Suggestion: Likely(word, anchors, strings.Join(anchors, ", ")),
			}
		}
		p.Anchor, rest = word, tail
	case text == "." || strings.HasPrefix(text, "./"):
		p.Anchor, rest = ".", text[1:]
		if flag {
			p.Anchor = "cwd"
		}
	case flag:
		p.Anchor, rest = "cwd", text
	case strings.HasPrefix(text, "~"):
		return p, &WordError{Msg: "the home of another user is not looked up", Suggestion: "write its path"}
	case strings.HasPrefix(text, "../") || text == "..":
		return p, &WordError{Msg: "`..` leads out of the policy's folder", Suggestion: "write the path itself"}
	default:
		return p, &WordError{
			Msg:        fmt.Sprintf("the path %q begins with none of / ~/ ./ @work/ @tmp/ @home/ @runtime/ **/", text),
			Suggestion: fmt.Sprintf("did you mean %q or %q?", "./"+text, "**/"+text),
		}
	}
	globbing := false
	for c := range strings.SplitSeq(rest, "/") {
		if c == "" || c == "." {
			continue
		}
		if c == ".." {
			if !flag || globbing {
				return p, &WordError{Msg: "`..` inside a path", Suggestion: "write the path that it means"}
			}
			p.Literal = append(p.Literal, c)
			continue
		}
		literal, wild, err := ParseComponent(c)
		if err != nil {
			return p, err
		}
		switch {
		case wild || globbing:
			globbing = true
			if n := len(p.Glob); c == "**" && n > 0 && p.Glob[n-1] == "**" {
				continue
			}
			p.Glob = append(p.Glob, c)
		default:
			p.Literal = append(p.Literal, literal)
		}
	}
	if p.Rooted && len(p.Glob) == 0 {
		return p, &WordError{Msg: "`**/` names nothing"}
	}
	return p, nil
}

// ParseComponent checks one component and gives it unescaped if it has no wildcard.
func ParseComponent(c string) (literal string, wild bool, err error) {
	var b strings.Builder
	for i := 0; i < len(c); i++ {
		switch c[i] {
		case '\\':
			i++
			if i == len(c) {
				return "", false, &WordError{Msg: fmt.Sprintf("bad glob: %q ends in a backslash", c)}
			}
			b.WriteByte(c[i])
		case '*', '?':
			wild = true
		case '[':
			end, err := classEnd(c, i)
			if err != nil {
				return "", false, err
			}
			wild, i = true, end
		default:
			b.WriteByte(c[i])
		}
	}
	return b.String(), wild, nil
}

// Affixes gives what every name that a component matches begins and ends with: what stands
// before its first and behind its last wildcard.
func Affixes(c string) (prefix, suffix string) {
	var b []byte
	wild := false
	found := func() {
		if !wild {
			prefix = string(b)
		}
		wild, b = true, b[:0]
	}
	for i := 0; i < len(c); i++ {
		switch c[i] {
		case '\\':
			if i++; i < len(c) {
				b = append(b, c[i])
			}
		case '*', '?':
			found()
		case '[':
			found()
			end, err := classEnd(c, i)
			if err != nil {
				return "", ""
			}
			i = end
		default:
			b = append(b, c[i])
		}
	}
	if !wild {
		prefix = string(b)
	}
	return prefix, string(b)
}

// classEnd finds the `]` that ends the class which begins at c[i].
func classEnd(c string, i int) (int, error) {
	bad := &WordError{Msg: fmt.Sprintf("bad glob: the `[` in %q has no end", c), Suggestion: "expected [abc], [a-z] or [!a]; write \\[ for the character"}
	j := i + 1
	if j < len(c) && (c[j] == '!' || c[j] == '^') {
		j++
	}
	for first := j; j < len(c); j++ {
		switch {
		case c[j] == '\\':
			j++
		case c[j] == ']' && j == first:
			return 0, &WordError{Msg: fmt.Sprintf("bad glob: an empty class in %q", c), Suggestion: "expected [abc], [a-z] or [!a]"}
		case c[j] == ']':
			return j, nil
		}
	}
	return 0, bad
}

// expandBraces multiplies `{a,b}` out, nested ones too.
func expandBraces(text string) ([]string, error) {
	out := []string{""}
	for i := 0; i < len(text); {
		switch text[i] {
		case '\\':
			end := min(i+2, len(text))
			out = appendAll(out, []string{text[i:end]})
			i = end
		case '[':
			end, err := classEnd(text, i)
			if err != nil {
				return nil, err
			}
			out = appendAll(out, []string{text[i : end+1]})
			i = end + 1
		case '{':
			parts, end, err := braceParts(text, i)
			if err != nil {
				return nil, err
			}
			var all []string
			for _, part := range parts {
				sub, err := expandBraces(part)
				if err != nil {
					return nil, err
				}
				all = append(all, sub...)
				if len(all)*len(out) > maxAlternatives {
					return nil, &WordError{Msg: fmt.Sprintf("bad glob: more than %d alternatives", maxAlternatives)}
				}
			}
			out = appendAll(out, all)
			i = end
		case '}':
			return nil, &WordError{Msg: fmt.Sprintf("bad glob: a `}` without a `{` in %q", text), Suggestion: "write \\} for the character"}
		default:
			end := i + 1
			for end < len(text) && !strings.ContainsRune("\\[{}", rune(text[end])) {
				end++
			}
			out = appendAll(out, []string{text[i:end]})
			i = end
		}
	}
	return out, nil
}

func appendAll(heads, tails []string) []string {
	if len(tails) == 1 {
		for i := range heads {
			heads[i] += tails[0]
		}
		return heads
	}
	out := make([]string, 0, len(heads)*len(tails))
	for _, h := range heads {
		for _, t := range tails {
			out = append(out, h+t)
		}
	}
	return out
}

// braceParts splits the alternatives of the brace at text[i]; end is after its `}`.
func braceParts(text string, i int) (parts []string, end int, err error) {
	depth, start := 0, i+1
	for j := i; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '{':
			depth++
			if depth > 16 {
				return nil, 0, &WordError{Msg: "bad glob: braces nested too deeply"}
			}
		case ',':
			if depth == 1 {
				parts, start = append(parts, text[start:j]), j+1
			}
		case '}':
			depth--
			if depth == 0 {
				return append(parts, text[start:j]), j + 1, nil
			}
		}
	}
	return nil, 0, &WordError{Msg: fmt.Sprintf("bad glob: the `{` in %q has no end", text), Suggestion: "expected {a,b}; write \\{ for the character"}
}

// MatchSegments matches a relative path, component by component. "**" takes any number
// of components, none included; as last segment at least one ("D/**" is the contents of
// D). Only the last "**" is ever retried, which is enough because it takes anything.
func MatchSegments(segs []string, rest string) bool {
	var starSegs []string
	starRest, star := "", false
	for {
		if len(segs) > 0 && segs[0] == "**" {
			if len(segs) == 1 {
				return rest != ""
			}
			segs = segs[1:]
			star, starSegs, starRest = true, segs, rest
			continue
		}
		if len(segs) == 0 {
			if rest == "" {
				return true
			}
		} else if rest != "" {
			name, tail := CutComponent(rest)
			if MatchComponent(segs[0], name) {
				segs, rest = segs[1:], tail
				continue
			}
		}
		if !star || starRest == "" {
			return false
		}
		_, starRest = CutComponent(starRest)
		segs, rest = starSegs, starRest
	}
}

// CutComponent splits off the first component; slashes after it go too.
func CutComponent(path string) (name, rest string) {
	i := strings.IndexByte(path, '/')
	if i < 0 {
		return path, ""
	}
	return path[:i], strings.TrimLeft(path[i:], "/")
}

// MatchComponent matches one name (or one argument of a program): `*` any run of bytes,
// `?` one character, `[...]` a class, `\x` the character x. Dots are not special.
func MatchComponent(pat, name string) bool {
	starPat, starName, star := "", "", false
	for {
		if pat != "" && pat[0] == '*' {
			pat = pat[1:]
			if pat == "" {
				return true
			}
			star, starPat, starName = true, pat, name
			continue
		}
		if pat == "" && name == "" {
			return true
		}
		if pat != "" && name != "" {
			if n, m, ok := matchOne(pat, name); ok {
				pat, name = pat[n:], name[m:]
				continue
			}
		}
		if !star || starName == "" {
			return false
		}
		// One byte at a time: the next thing in the pattern decides whether a
		// character begins there.
		starName = starName[1:]
		pat, name = starPat, starName
	}
}

// matchOne matches one element of a pattern against the head of a name and gives the
// bytes that both use.
func matchOne(pat, name string) (n, m int, ok bool) {
	switch pat[0] {
	case '?':
		_, m = decodeRune(name)
		return 1, m, true
	case '[':
		r, m := decodeRune(name)
		n, in := matchClass(pat, r)
		return n, m, in
	case '\\':
		if len(pat) > 1 {
			return 2, 1, pat[1] == name[0]
		}
	}
	return 1, 1, pat[0] == name[0]
}

// matchClass tells whether r is in the class at the head of pat, and the class's length.
func matchClass(pat string, r rune) (n int, in bool) {
	i, negate, hit := 1, false, false
	if pat[i] == '!' || pat[i] == '^' {
		negate = true
		i++
	}
	for i < len(pat) && pat[i] != ']' {
		lo, size := classRune(pat[i:])
		i += size
		hi := lo
		if i+1 < len(pat) && pat[i] == '-' && pat[i+1] != ']' {
			hi, size = classRune(pat[i+1:])
			i += 1 + size
		}
		hit = hit || lo <= r && r <= hi
	}
	return i + 1, hit != negate
}

func classRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, size := decodeRune(s[1:])
		return r, size + 1
	}
	return decodeRune(s)
}

// decodeRune is utf8.DecodeRuneInString but keeps bytes that are not UTF-8 apart from
// each other and from U+FFFD: names are bytes.
func decodeRune(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return utf8.MaxRune + 1 + rune(s[0]), 1
	}
	return r, size
}

// Contains tells whether path is dir or beneath it, by component.
func Contains(dir, path string) bool {
	if dir == "/" {
		return strings.HasPrefix(path, "/")
	}
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

func indexOf(list []string, word string) int {
	for i, w := range list {
		if w == word {
			return i
		}
	}
	return -1
}

// Likely words a Suggestion: the Nearest known word, else all of them.
func Likely(word string, known []string, all string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "expected " + all
}

// Nearest gives the known word with the least edit distance, if it is near at all.
func Nearest(word string, known []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance with exchanged neighbours counted once.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	older, old, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(old[j]+1, cur[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], older[j-2]+1)
			}
		}
		older, old, cur = old, cur, older
	}
	return old[len(b)]
}
