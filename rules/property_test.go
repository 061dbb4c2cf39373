// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"ptguard/decode"
)

var names = []string{"a", "b", "ab", ".a", "a.x", "é"}

func randomPath(r *rand.Rand, under string) string {
	p := under
	for range 1 + r.IntN(4) {
		p += "/" + names[r.IntN(len(names))]
	}
	return p
}

func randomPattern(r *rand.Rand) string {
	parts := []string{"a", "b", "*", "**", "?", ".*", "a*", "*.x", "[ab]", "[!a]", "{a,b}", "{a,.a}*", "é", "a?"}
	if r.IntN(3) == 0 {
		return randomPath(r, "/srv")
	}
	p := "/srv"
	if r.IntN(6) == 0 {
		p = ""
	}
	for range 1 + r.IntN(3) {
		p += "/" + parts[r.IntN(len(parts))]
	}
	return strings.TrimPrefix(p, map[bool]string{true: "/", false: "//"}[strings.HasPrefix(p, "/**/")])
}

var fileAccesses = []decode.Access{decode.Look, decode.List, decode.Read, decode.Write, decode.Create, decode.Remove, decode.Attr, decode.Exec, decode.Map, decode.Read | decode.Write}

func randomRequest(r *rand.Rand) *Request {
	q := &Request{Access: fileAccesses[r.IntN(len(fileAccesses))], Act: Act(r.IntN(int(ActExchange) + 1))}
	q.File.Path = randomPath(r, "/srv")
	if r.IntN(2) == 0 {
		q.File.Exists = true
		q.File.Mode = []uint32{typeRegular | 0o755, typeDir | 0o755, typeSocket, typeChar}[r.IntN(4)]
	}
	if r.IntN(4) == 0 {
		q.File.Spellings = []string{randomPath(r, "/srv")}
	}
	return q
}

func randomFlags(r *rand.Rand) FlagValues {
	some := func() (out []string) {
		for range r.IntN(3) {
			out = append(out, randomPattern(r))
		}
		return out
	}
	return FlagValues{Read: some(), Write: some(), Deny: some(), Hide: some(), AllowExec: some(), DenyExec: some()}
}

// One more deny, hide or exec.deny never permits what was refused; one more read or
// write never refuses what was permitted. An exec.allow does refuse: it closes the list;
// the second one does not.
func TestMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bare := func(f FlagValues, preset string) *Policy {
		p, err := tryCompile([]string{preset}, "", f, machine())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	changed := 0
	for range 1500 {
		preset := []string{"permissive", "strict"}[r.IntN(2)]
		f := randomFlags(r)
		old := bare(f, preset)
		pattern := randomPattern(r)
		deny, allow := f, f
		tighter := r.IntN(2) == 0
		switch kind := r.IntN(3); {
		case tighter && kind == 0:
			deny.Deny = append(append([]string{}, f.Deny...), pattern)
		case tighter && kind == 1:
			deny.Hide = append(append([]string{}, f.Hide...), pattern)
		case tighter:
			deny.DenyExec = append(append([]string{}, f.DenyExec...), pattern)
		case kind == 0:
			allow.Read = append(append([]string{}, f.Read...), pattern)
		case kind == 1 || len(f.AllowExec) == 0:
			allow.Write = append(append([]string{}, f.Write...), pattern)
		default:
			allow.AllowExec = append(append([]string{}, f.AllowExec...), pattern)
		}
		next := bare(allow, preset)
		if tighter {
			next = bare(deny, preset)
		}
		for range 80 {
			q := randomRequest(r)
			a, b := old.Decide(q), next.Decide(q)
			if a.Refused() != b.Refused() {
				changed++
			}
			if tighter && a.Refused() && !b.Refused() || !tighter && !a.Refused() && b.Refused() {
				t.Fatalf("%+v and %q: %s %s act %d: %s by %s %q, then %s by %s %q", f, pattern, q.Access, q.File.Path, q.Act,
					a.Verdict, a.Rule.Pos, a.Rule.Text, b.Verdict, b.Rule.Pos, b.Rule.Text)
			}
		}
	}
	if changed < 1000 {
		t.Errorf("only %d answers changed: the property was hardly tried", changed)
	}
}

// More access is never easier, and every answer is whole.
func TestDecideIsWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		p, err := tryCompile([]string{[]string{"permissive", "strict"}[r.IntN(2)]}, "", randomFlags(r), machine())
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			q := randomRequest(r)
			d := p.Decide(q)
			if d.Rule == nil || d.Access == 0 || d.Access&^q.Access != 0 || d.Refused() != (d.Errno != 0) {
				t.Fatalf("%s %s: %+v", q.Access, q.File.Path, d)
			}
			e := p.Explain(q, d)
			if e.Rule == "" || e.Layer == "" || e.Reason == "" || d.Refused() && e.Hint == "" {
				t.Fatalf("%s %s: %s %+v", q.Access, q.File.Path, d.Verdict, e)
			}
			more := *q
			more.Access |= decode.Write
			if d.Refused() && !p.Decide(&more).Refused() {
				t.Fatalf("%s %s is refused but not with write", q.Access, q.File.Path)
			}
		}
	}
}

func TestContainment(t *testing.T) {
	p := compile(t, []string{"strict"}, "", FlagValues{Write: []string{"/repo/foo"}})
	for object, want := range map[string]Verdict{
		"/repo/foo/x": Allow, "/repo/foo": Allow, "/repo/foobar": Deny, "/repo/foobar/x": Deny, "/repo/fo": Deny, "/repo": Deny, "/repo/foo.x": Deny, "/repo/foo ": Deny,
	} {
		r := &Request{Access: decode.Write, File: File{Path: object, Exists: true, Mode: typeRegular}}
		if d := p.Decide(r); d.Verdict != want {
			t.Errorf("%s: %s, want %s", object, d.Verdict, want)
		}
	}
}

// The matcher against doublestar, whose semantics policies take but for one: there
// a/** matches a itself.
func TestMatchAgainstDoublestar(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	hits := 0
	for range 60_000 {
		pattern := randomPattern(r)
		object := randomPath(r, map[bool]string{true: "/srv", false: ""}[r.IntN(4) > 0])
		if strings.HasSuffix(pattern, "/**") || pattern == "**" {
			continue
		}
		parsed, err := parsePattern(pattern, false)
		if err != nil {
			t.Fatal(pattern, err)
		}
		got := false
		for _, p := range parsed {
			e := entry{root: "/" + path.Join(p.Literal...), shape: shapeGlob, segs: p.Glob}
			if len(p.Glob) == 0 {
				e.shape = shapeExact
			}
			got = got || e.matches(object)
		}
		want, err := doublestar.Match("/"+strings.TrimPrefix(pattern, "/"), object)
		if err != nil {
			t.Fatal(pattern, err)
		}
		if want {
			hits++
		}
		if got != want {
			t.Fatalf("%q on %q: %v, doublestar says %v", pattern, object, got, want)
		}
	}
	if hits < 500 {
		t.Errorf("only %d hits", hits)
	}
}

// Matching stays cheap for patterns that make backtracking matchers explode.
func TestMatchIsNotExponential(t *testing.T) {
	segs := strings.Split(strings.Repeat("**/a/", 30)+"b", "/")
	if matchSegments(segs, strings.Repeat("a/", 2000)+"c") {
		t.Error("matched")
	}
	if matchComponent(strings.Repeat("*a", 40)+"b", strings.Repeat("a", 4000)) {
		t.Error("matched")
	}
	if matchArgs(append(strings.Split(strings.Repeat("** a ", 30), " ")[:60], "b"), strings.Split(strings.Repeat("a ", 2000)+"c", " ")) {
		t.Error("matched")
	}
}
