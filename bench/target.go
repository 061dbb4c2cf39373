// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"math"
)

// target is a bound that ptguard is to keep, with protection full.
type target struct {
	text string
	load string // "" for every load
	// variant is measured against another, or bare.
	variant, against string
	measure          measure
	limit            float64
}

// measure is what a target bounds.
type measure int

const (
	ratioAtMost      measure = iota // the ratio of the two medians' rounds
	moreAtMost                      // the difference of the medians in milliseconds
	overheadTimesOff                // the other's time beyond bare by ours, at least
	memoryAtMost                    // peak memory of the tracer in MiB
)

// targets are those of the project's issue on speed that a run of this harness can show. What
// is flat in the number of threads or rules is shown by Go benchmarks of the packages.
func targets() []target {
	out := []target{
		{"an allowed open for reading, by the C floor", "open-read", defaultName, floorName, ratioAtMost, 1.25},
		{"the same, both kept to one cpu", "open-read", defaultName + "@0", floorName + "@0", ratioAtMost, 1.25},
		{"start", "start", defaultName, bareName, moreAtMost, 5},
		{"go build", "go-build", defaultName, bareName, ratioAtMost, 1.10},
		{"make", "make", defaultName, bareName, ratioAtMost, 1.10},
		{"git", "git", defaultName, bareName, ratioAtMost, 1.25},
		{"npm", "npm", defaultName, bareName, ratioAtMost, 1.25},
		{"python", "python", defaultName, bareName, ratioAtMost, 1.25},
		{"tar, by the C floor", "tar", defaultName, floorName, ratioAtMost, 1.25},
		{"go build without read rules", "go-build", "open", bareName, ratioAtMost, 1.03},
		{"make without read rules", "make", "open", bareName, ratioAtMost, 1.03},
		{"grep -r without read rules", "grep", "open", bareName, ratioAtMost, 1.03},
		{"grep -r, what strace adds by what ptguard adds", "grep", defaultName, straceName, overheadTimesOff, 3},
		{"memory of the supervisor with make", "make", defaultName, "", memoryAtMost, 32},
	}
	for _, l := range wholeLoads(sizeFull) {
		out = append(out, target{l.name + ", by strace, both kept to one cpu", l.name, defaultName + "@0", straceName + "@0", ratioAtMost, 1},
			target{l.name + ", by strace", l.name, defaultName, straceName, ratioAtMost, 1})
	}
	return out
}

// Verdict is what a run showed of a target.
type Verdict struct {
	Text  string
	Limit string // with its unit: at most 1.25
	Value string // "" if it was not measured
	Met   bool
	// Off is how far the value is beyond the limit, empty if it is met.
	Off string
}

// Verdicts judges the targets by what was measured, in their order; those of loads and
// variants that were not are left out. A load whose bare runs varied too much proves nothing.
func (r *Result) Verdicts() []Verdict {
	var out []Verdict
	for _, t := range targets() {
		l := r.load(t.load)
		if l == nil || l.Noisy() {
			continue
		}
		value := t.value(l)
		if math.IsNaN(value) {
			continue
		}
		v := Verdict{Text: t.text}
		least := t.measure == overheadTimesOff
		v.Met = value <= t.limit
		v.Limit, v.Value = fmt.Sprintf("at most %s", t.show(t.limit)), t.show(value)
		if least {
			v.Met, v.Limit = value >= t.limit, fmt.Sprintf("at least %s", t.show(t.limit))
		}
		switch {
		case v.Met:
		case t.measure == moreAtMost:
			v.Off = "by " + t.show(value-t.limit)
		case least:
			v.Off = fmt.Sprintf("%.0f %% short", 100*(1-value/t.limit))
		default:
			v.Off = fmt.Sprintf("by %.0f %%", 100*(value/t.limit-1))
		}
		out = append(out, v)
	}
	return out
}

func (t *target) show(v float64) string {
	switch t.measure {
	case moreAtMost:
		return digits(v) + " ms"
	case memoryAtMost:
		return digits(v) + " MiB"
	}
	return digits(v) + " x"
}

// value is NaN if something was not measured.
func (t *target) value(l *Load) float64 {
	s, other, bare := l.series(t.variant), l.series(t.against), l.series(base(t.variant))
	switch {
	case s == nil, t.against != "" && other == nil:
		return math.NaN()
	case t.measure == memoryAtMost:
		return float64(s.PeakKiB) / 1024
	case t.measure == moreAtMost:
		return (median(s.NS) - median(other.NS)) / 1e6
	case t.measure == overheadTimesOff:
		if bare == nil {
			return math.NaN()
		}
		return (median(other.NS) - median(bare.NS)) / (median(s.NS) - median(bare.NS))
	}
	return median(paired(s.NS, other.NS))
}
