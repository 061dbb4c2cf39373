// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"net/netip"
	"slices"

	"ptguard/internal/policytext"
)

// A request must not cost more because there are more rules. Rules without a wildcard are in
// the trie; those with one are found by what any path that they match must have in it: a name
// as it stands, or how a name ends or begins. What an index gives is still matched in full,
// and in the order of the rules, so it decides nothing.

// globIndex finds the globs of a node. Numbers are places in node.entries.
type globIndex struct {
	names, ends, begins map[string][]int
	endSizes, headSizes []int // the lengths of the keys of ends and begins
}

// maxSizes bounds the look-ups for one name. Globs beyond are matched one by one.
const maxSizes = 16

// add puts a glob into the index; false if nothing can be said of what it matches.
func (x *globIndex) add(e *entry, place int) bool {
	name, end, head := "", "", ""
	longer := func(best *string, s string) {
		if len(s) > len(*best) {
			*best = s
		}
	}
	for _, seg := range e.segs {
		if seg == "**" {
			continue
		}
		literal, wild, err := parseComponent(seg)
		switch {
		case err != nil:
			return false
		case !wild:
			longer(&name, literal)
		default:
			before, after := policytext.Affixes(seg)
			longer(&head, before)
			longer(&end, after)
		}
	}
	switch {
	case name != "":
		put(&x.names, name, place)
	case len(end) >= len(head) && end != "" && sized(&x.endSizes, len(end)):
		put(&x.ends, end, place)
	case head != "" && sized(&x.headSizes, len(head)):
		put(&x.begins, head, place)
	default:
		return false
	}
	return true
}

func put(m *map[string][]int, key string, place int) {
	if *m == nil {
		*m = map[string][]int{}
	}
	(*m)[key] = append((*m)[key], place)
}

// sized notes the length of a key; false if there are too many.
func sized(sizes *[]int, n int) bool {
	if slices.Contains(*sizes, n) {
		return true
	}
	if len(*sizes) == maxSizes {
		return false
	}
	*sizes = append(*sizes, n)
	return true
}

// find appends the places of the globs that may match rest, in ascending order.
func (x *globIndex) find(rest string, found []int) []int {
	for rest != "" {
		var name string
		name, rest = cutComponent(rest)
		found = append(found, x.names[name]...)
		for _, n := range x.endSizes {
			if n <= len(name) {
				found = append(found, x.ends[name[len(name)-n:]]...)
			}
		}
		for _, n := range x.headSizes {
			if n <= len(name) {
				found = append(found, x.begins[name[:n]]...)
			}
		}
	}
	if len(found) > 1 {
		slices.Sort(found)
		found = slices.Compact(found)
	}
	return found
}

// room is how many places are found without an allocation.
const room = 32

// merge calls f with the places of two ascending lists in ascending order, until it says no.
func merge(a, b []int, f func(place int) bool) {
	for len(a) > 0 || len(b) > 0 {
		var place int
		if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
			place, a = a[0], a[1:]
		} else {
			place, b = b[0], b[1:]
		}
		if !f(place) {
			return
		}
	}
}

// progIndex finds the rules about programs.
type progIndex struct {
	named map[string][]int // denies of a name without wildcards
	loose []int            // all other denies
	allow []int
}

func (x *progIndex) build(progs []progRule) {
	*x = progIndex{}
	for i := range progs {
		g := &progs[i]
		literal, wild, err := "", true, error(nil)
		if g.name != "" {
			literal, wild, err = parseComponent(g.name)
		}
		switch {
		case !g.deny:
			x.allow = append(x.allow, i)
		case err == nil && !wild:
			put(&x.named, literal, i)
		default:
			x.loose = append(x.loose, i)
		}
	}
}

// about appends the denies that name one of the names of a file.
func (x *progIndex) about(f *File, found []int) []int {
	if len(x.named) == 0 {
		return found
	}
	if f.Path != "" {
		found = append(found, x.named[baseName(f.Path)]...)
	}
	for _, s := range f.Spellings {
		if s != "" {
			found = append(found, x.named[baseName(s)]...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// netIndex finds the rules about addresses.
type netIndex struct {
	hosts map[netip.Addr][]int // allows of a single address
	loose []int                // all others
}

func (x *netIndex) build(net []netRule) {
	*x = netIndex{}
	for i := range net {
		n := &net[i]
		if n.addr.kind != addressIP || n.role.denies() || !n.addr.prefix.IsSingleIP() {
			x.loose = append(x.loose, i)
			continue
		}
		if x.hosts == nil {
			x.hosts = map[netip.Addr][]int{}
		}
		x.hosts[n.addr.prefix.Addr()] = append(x.hosts[n.addr.prefix.Addr()], i)
	}
}

// about appends the allows of one of two addresses.
func (x *netIndex) about(ip, target netip.Addr, found []int) []int {
	if len(x.hosts) == 0 || !ip.IsValid() {
		return found
	}
	found = append(found, x.hosts[ip]...)
	if target != ip {
		found = append(found, x.hosts[target]...)
		slices.Sort(found)
	}
	return found
}
