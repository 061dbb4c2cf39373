// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"slices"
	"sync"

	"ptguard/decode"
)

// Step is one rule that a decision looked at, or one step at which there was none.
type Step struct {
	// Order is the step of the decision, as docs/manual.md counts them in "How a decision is made".
	Order int
	// Rule is nil where no rule of this step covers the object.
	Rule *Rule
	// Effect says what the rule does to the request, Access to which part of it; 0 where
	// the rule covers the object, but nothing of what is asked.
	Effect Effect
	Access decode.Access
	// By is the rule that lifts this one, for Lifted.
	By *Rule
	// Decides marks the rule that the decision names.
	Decides bool
}

// Effect is what a rule does to a request.
type Effect uint8

// The effects.
const (
	Nothing Effect = iota // no rule of the step covers the object
	Grants
	Refuses
	Hides
	Lifted  // a deny of a preset that an allow of a file or flag lifts
	Exempts // a deny of a preset that does not hold for what the tree made
)

// String gives the word of `why --json`: nothing, grants, refuses, hides, lifted, exempts.
func (e Effect) String() string {
	return [...]string{"nothing", "grants", "refuses", "hides", "lifted", "exempts"}[e]
}

// The steps of docs/manual.md, How a decision is made. Step 4, the scope, chooses the policy that is asked.
const (
	stepGuards = 1
	stepSeals  = 2
	stepOpen   = 3
	stepDeny   = 5
	stepAllow  = 6
	stepPreset = 7
	stepBase   = 8
	stepGrants = 9
	stepMode   = 10
)

// stepNames are the steps in words.
var stepNames = sync.OnceValue(func() map[int]string {
	return map[int]string{
		stepGuards: "guards",
		stepSeals:  "seals",
		stepOpen:   "mode open",
		stepDeny:   "deny and hide of a file or flag",
		stepAllow:  "allow of a file or flag",
		stepPreset: "deny of a preset",
		stepBase:   "allow of a preset, built-in roots",
		stepGrants: "answers",
		stepMode:   "mode",
	}
})

// StepName gives a Step.Order in words.
func StepName(order int) string { return stepNames()[order] }

// DecideExplained answers as Decide does, for it is the same code, and lists what was
// looked at, in the order of the steps up to the one that decided. It allocates: not for
// the way of a call.
func (p *Policy) DecideExplained(r *Request) (Decision, []Step) {
	c := &chain{}
	d := p.decide(r, c)
	return d, c.finish(p, d)
}

// chain collects the steps of one decision. All methods do nothing on a nil chain, which
// is what enforcement has.
type chain struct{ steps []Step }

func (c *chain) note(order int, rule *Rule, effect Effect, access decode.Access) {
	if c != nil {
		c.add(Step{Order: order, Rule: rule, Effect: effect, Access: access})
	}
}

// entry notes an entry of the trie or the inode table.
func (c *chain) entry(e *entry, effect Effect, access decode.Access) {
	if c != nil {
		c.add(Step{Order: stepOf(e.role), Rule: e.rule, Effect: effect, Access: access})
	}
}

func (c *chain) lifted(e, by *entry, access decode.Access) {
	if c != nil && access != 0 {
		c.add(Step{Order: stepOf(e.role), Rule: e.rule, Effect: Lifted, Access: access, By: by.rule})
	}
}

// net notes an address rule that covers the address.
func (c *chain) net(n *netRule, access decode.Access) {
	if c == nil {
		return
	}
	effect := Grants
	if n.role.denies() {
		effect = Refuses
	}
	c.add(Step{Order: stepOf(n.role), Rule: n.rule, Effect: effect, Access: access & n.access})
}

// add keeps one step a rule and effect: a rule has an entry for each spelling.
func (c *chain) add(s Step) {
	for i := range c.steps {
		if old := &c.steps[i]; old.Order == s.Order && old.Rule == s.Rule && old.By == s.By && (old.Effect == s.Effect || s.Access == 0) {
			old.Access |= s.Access
			return
		}
	}
	c.steps = append(c.steps, s)
}

// finish puts the steps into their order, fills in those at which there was no rule, and
// marks the one that decided. What comes after it was not needed and is left out.
func (c *chain) finish(p *Policy, d Decision) []Step {
	last := stepMode
	for i := range c.steps {
		s := &c.steps[i]
		if s.Rule == d.Rule && s.Access != 0 && (s.Effect == Grants) != d.Refused() {
			s.Decides = true
			last = s.Order
		}
	}
	for order := range stepNames() {
		if order == stepOpen || order == stepGrants || order == stepSeals && p.machine.Seals == nil || slices.ContainsFunc(c.steps, func(s Step) bool { return s.Order == order }) {
			continue
		}
		step := Step{Order: order}
		if order == stepMode {
			step.Rule = p.unlistedRule()
		}
		c.steps = append(c.steps, step)
	}
	if !d.Refused() {
		// What a rule left open, later steps have granted: they belong to the answer.
		last = stepMode
		if d.Access&^c.granted() == 0 {
			last = c.lastGrant(d.Access)
		}
	}
	c.steps = slices.DeleteFunc(c.steps, func(s Step) bool {
		// An allow at step 6 is an answer only because it lifts what step 7 would say.
		return s.Order > last && s.Effect != Lifted && s.Effect != Exempts
	})
	slices.SortStableFunc(c.steps, func(a, b Step) int { return cmp.Compare(a.Order, b.Order) })
	return c.steps
}

// granted is what the steps grant in all.
func (c *chain) granted() (all decode.Access) {
	for _, s := range c.steps {
		if s.Effect == Grants {
			all |= s.Access
		}
	}
	return all
}

// lastGrant is the step at which the last part of need was granted.
func (c *chain) lastGrant(need decode.Access) int {
	for _, order := range []int{stepGuards, stepSeals, stepOpen, stepAllow, stepBase, stepGrants, stepMode} {
		for _, s := range c.steps {
			if s.Order == order && s.Effect == Grants {
				need &^= s.Access
			}
		}
		if need == 0 {
			return order
		}
	}
	return stepMode
}

func stepOf(r role) int {
	switch r {
	case roleUserDeny, roleUserHide:
		return stepDeny
	case roleUserAllow:
		return stepAllow
	case rolePresetDeny, rolePresetHide:
		return stepPreset
	case roleBaseAllow:
	}
	return stepBase
}

func effectOf(e *entry) Effect {
	if e.role.hides() {
		return Hides
	}
	return Refuses
}
