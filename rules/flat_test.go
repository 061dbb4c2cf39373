// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"ptguard/decode"
)

// ruleSets make n rules of one kind; none of them covers what is asked.
var ruleSets = map[string]func(n int) FlagValues{
	"paths": func(n int) (f FlagValues) {
		for i := range n / 2 {
			f.Write = append(f.Write, fmt.Sprintf("/srv/%d/w", i))
			f.Deny = append(f.Deny, fmt.Sprintf("/srv/%d/w/no", i))
		}
		return f
	},
	"siblings": func(n int) (f FlagValues) {
		for i := range n {
			f.Deny = append(f.Deny, fmt.Sprintf("/srv/3/w/some/no%d", i))
		}
		return f
	},
	"names": func(n int) (f FlagValues) {
		for i := range n {
			f.Deny = append(f.Deny, fmt.Sprintf("**/secret%d", i))
		}
		return f
	},
	"suffixes": func(n int) (f FlagValues) {
		for i := range n {
			f.Deny = append(f.Deny, fmt.Sprintf("**/*.key%d", i))
		}
		return f
	},
	"prefixes": func(n int) (f FlagValues) {
		for i := range n {
			f.Deny = append(f.Deny, fmt.Sprintf("**/id%d_*", i))
		}
		return f
	},
	"middles": func(n int) (f FlagValues) {
		for i := range n {
			f.Deny = append(f.Deny, fmt.Sprintf("/srv/*/no%d/**", i))
		}
		return f
	},
	"programs": func(n int) (f FlagValues) {
		for i := range n {
			f.DenyExec = append(f.DenyExec, fmt.Sprintf("prog%d", i))
		}
		return f
	},
	"addresses": func(n int) (f FlagValues) {
		for i := range n {
			f.Connect = append(f.Connect, fmt.Sprintf("tcp 10.%d.%d.%d:443", i>>16, i>>8&255, i&255))
		}
		f.Connect = append(f.Connect, "@preset")
		return f
	},
}

// BenchmarkRules decides under more and more rules of one kind. The aim is the same time.
func BenchmarkRules(b *testing.B) {
	for kind, make := range ruleSets {
		for _, n := range []int{10, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				f := make(n)
				f.Write = append(f.Write, "/srv/3/w")
				p := compile(b, nil, "", f)
				what := "write /srv/3/w/some/file.o"
				switch kind {
				case "programs":
					what = "exec /usr/bin/dash"
				case "addresses":
					what = "connect tcp 127.0.0.1:80"
				}
				r := act(b, what)
				for b.Loop() {
					if d := p.Decide(r); d.Refused() {
						b.Fatal(d)
					}
				}
			})
		}
	}
}

// However many rules there are that are not about a path, as few are looked at.
func TestRulesLookedAt(t *testing.T) {
	for kind, make := range ruleSets {
		looked := func(n int) (out int) {
			p := compile(t, nil, "", make(n))
			at, rest := &p.root, "srv/3/w/some/file.o"
			for at != nil {
				out += len(at.loose)
				if at.index != nil {
					out += len(at.index.find(rest, nil))
				}
				var name string
				if name, rest = cutComponent(rest); name == "" {
					break
				}
				at = at.kids.find(name)
			}
			f := File{Path: "/srv/3/w/some/file.o"}
			out += len(p.progAt.loose) + len(p.progAt.allow) + len(p.progAt.about(&f, nil))
			ip := netip.MustParseAddr("127.0.0.1")
			return out + len(p.netAt.loose) + len(p.netAt.about(ip, ip, nil)) + len(p.globs)
		}
		few, many := looked(10), looked(10_000)
		if kind == "middles" { // folders on the way to what they match must not be renamed
			many -= 10_000 - 10
		}
		if few != many {
			t.Errorf("%s: %d of 10 rules are looked at, %d of 10,000", kind, few, many)
		}
	}
}

// unindexed is a policy whose rules are all looked at.
func unindexed(p *Policy) {
	var strip func(n *node)
	strip = func(n *node) {
		n.index, n.loose = nil, nil
		for i := range n.entries {
			n.loose = append(n.loose, i)
		}
		for _, kid := range n.kids.few {
			strip(kid.node)
		}
		for _, kid := range n.kids.many {
			strip(kid)
		}
	}
	strip(&p.root)
	p.progAt.named, p.progAt.loose = nil, nil
	for i := range p.progs {
		if p.progs[i].deny {
			p.progAt.loose = append(p.progAt.loose, i)
		}
	}
	p.netAt.hosts, p.netAt.loose = nil, nil
	for i := range p.net {
		p.netAt.loose = append(p.netAt.loose, i)
	}
}

// Any rules with any wildcards decide as they do when every one of them is matched, and by the
// same rule.
func TestIndexDecidesNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
	names := []string{"a", "b", "ab", "a.key", "b.key", "id_a", ".env", "café", "é", "a*b", "[x]", "secret"}
	segment := func() string {
		if rnd.IntN(3) == 0 {
			return pick("*", "**", "?", "a*", "*b", "*.key", "id_*", "a?", "?b", "[ab]*", "*[!a]", "\\*x", "a\\*b", "*é", "?é", "c*é", ".*", "*.k[e]y")
		}
		return strings.NewReplacer("*", "\\*", "[", "\\[", "]", "\\]").Replace(pick(names...))
	}
	glob := func() string {
		out := pick("/srv", "/srv/a", "**", "/home/me/p")
		for range 1 + rnd.IntN(3) {
			out += "/" + segment()
		}
		if strings.HasSuffix(out, "**/**") || strings.HasPrefix(out, "**/**") {
			return "**/a"
		}
		return out
	}
	refused := 0
	for range 150 {
		var f FlagValues
		for range 1 + rnd.IntN(12) {
			switch rnd.IntN(5) {
			case 0:
				f.Write = append(f.Write, strings.TrimPrefix(glob(), "**/"))
			case 1:
				f.Hide = append(f.Hide, glob())
			case 2:
				f.DenyExec = append(f.DenyExec, segment())
			case 3:
				f.Connect = append(f.Connect, pick("tcp 10.0.0.1:443", "10.0.0.0/8:80", "127.0.0.1:*", "[::1]:80", "*:53", "@preset"))
				f.DenyNet = append(f.DenyNet, pick("10.0.0.1:443", "10.0.0.2:*", "[::1]:80"))
			default:
				f.Deny = append(f.Deny, glob())
			}
		}
		if _, err := FromFlags(f); err != nil {
			continue // such as ** as the name of a program
		}
		p, plain := compile(t, nil, "", f), compile(t, nil, "", f)
		unindexed(plain)
		for range 60 {
			path := pick("/srv", "/srv/a", "/home/me/p", "/usr")
			for range 1 + rnd.IntN(3) {
				path += "/" + pick(names...)
			}
			r := Request{
				Access: []decode.Access{decode.Read, decode.Write, decode.Exec, decode.Look, decode.Remove}[rnd.IntN(5)],
				File:   File{Path: path, Exists: true, Mode: typeRegular | 0o755}, Program: true,
			}
			if rnd.IntN(4) == 0 {
				r.File.Spellings = []string{"/srv/" + pick(names...)}
			}
			if rnd.IntN(4) == 0 {
				r = Request{Access: decode.Connect, Addr: Addr{
					Family: syscall.AF_INET, Proto: ProtoTCP, Port: []uint16{80, 443, 53}[rnd.IntN(3)],
					IP: netip.MustParseAddr(pick("10.0.0.1", "10.0.0.2", "127.0.0.1", "0.0.0.0", "8.8.8.8")),
				}}
			}
			same := r
			got, want := p.Decide(&r), plain.Decide(&same)
			if got.Verdict != want.Verdict || got.Errno != want.Errno || got.Access != want.Access || got.Rule.Pos != want.Rule.Pos || got.Rule.Text != want.Rule.Text {
				t.Fatalf("%+v\n%+v:\n%v %s %s, without the index %v %s %s", f, r, got.Verdict, got.Rule.Pos, got.Rule.Text, want.Verdict, want.Rule.Pos, want.Rule.Text)
			}
			if got.Refused() {
				refused++
			}
		}
	}
	if refused < 500 {
		t.Errorf("only %d refusals", refused)
	}
}

// A node finds its kids by name, few or many, and no others.
func TestKids(t *testing.T) {
	var k kids
	want := map[string]*node{}
	for i := range 3 * fewKids {
		for name, n := range want {
			if k.find(name) != n {
				t.Fatalf("%d kids: %s is not found", i, name)
			}
		}
		name := strings.Repeat("n", i)
		if k.find(name) != nil {
			t.Fatalf("%d kids: %q is found before it is there", i, name)
		}
		want[name] = &node{}
		k.add(name, want[name])
	}
}
