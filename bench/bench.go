// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Options are what to measure and how.
type Options struct {
	Self    string   // the ptguard to measure
	Version string   // its version, for the report
	Presets []string // its presets
	Quick   bool     // the short plan: under a minute
	Full    bool     // everything there is
	// Loads and Variants are names, or patterns of path.Match; empty for those of the plan. A
	// variant may name the cpus it runs on: default@0.
	Loads, Variants []string
	// Rounds are how often each load runs in each variant, 0 for the plan's; with the plan's
	// a load that takes long is measured less often.
	Rounds int
	// CPUs that everything is kept to; nil for all.
	CPUs []int
	// Progress is told what is being done; nil for nobody.
	Progress func(string)
}

// Sizes of the plans: the rounds of a load at most and at least, what it may take, and how
// long one run of a micro load is to be.
type pace struct {
	most, least int
	budget      time.Duration
	run         time.Duration
	// again: until when a load whose bare runs varied too much is measured once more.
	again time.Duration
	// brief: from when on loads are measured as seldom as a plan allows, in the variants that
	// say most.
	brief time.Duration
}

func (o *Options) pace() (pace, size) {
	p, s := pace{9, 5, 20 * time.Second, 60 * time.Millisecond, time.Hour, time.Hour}, sizeFull
	switch {
	case o.Quick:
		p, s = pace{7, 5, 2 * time.Second, 20 * time.Millisecond, 30 * time.Second, 40 * time.Second}, sizeQuick
	case o.Full:
		p = pace{9, 3, 20 * time.Second, 50 * time.Millisecond, 9 * time.Minute, 11 * time.Minute}
	}
	if o.Rounds > 0 {
		p.most, p.least = o.Rounds, o.Rounds
	}
	return p, s
}

// slowRun is what a bare run may take for a load to be measured in every variant of a plan.
const slowRun = 2 * time.Second

// plan names what is measured, for the report.
func (o *Options) plan() string {
	switch {
	case o.Quick:
		return "quick"
	case o.Full:
		return "full"
	}
	return "selected"
}

// Run measures. The error is about the harness or a wrong name; what cannot be measured here,
// and why, is in the result. When ctx ends, the error is its cause and the result is there all
// the same: the loads that were finished, and the names of those that were not. It locks its
// OS thread.
func Run(ctx context.Context, o *Options) (*Result, error) {
	pace, size := o.pace()
	chosenLoads, err := o.chooseLoads()
	if err != nil {
		return nil, err
	}
	chosen, err := o.chooseVariants()
	if err != nil {
		return nil, err
	}
	g, err := newGround(ctx, o.Self, size)
	if err != nil {
		return nil, err
	}
	defer g.remove()
	m, err := newMeter(g)
	if err != nil {
		return nil, err
	}
	from := time.Now()
	r := &Result{
		Format: Format, Time: from.UTC().Format(time.RFC3339), Version: o.Version, Plan: o.plan(),
		Machine: machine(), CPUs: cpuText(o.CPUs),
	}
	h := &harness{from: from, Options: o, ctx: ctx, g: g, m: m, pace: pace, result: r}
	r.Machine.Tier = h.tier()
	chosen = h.prepareVariants(chosen)
	for i, l := range chosenLoads {
		h.at = fmt.Sprintf("[%d/%d] %s", i+1, len(chosenLoads), l.name)
		if ctx.Err() == nil {
			h.measure(l, chosen)
		}
		if ctx.Err() != nil && r.load(l.name) == nil {
			h.missing(l.name, context.Cause(ctx))
		}
	}
	if ctx.Err() != nil {
		r.Broken = context.Cause(ctx).Error()
	}
	r.Seconds = seconds(from)
	return r, context.Cause(ctx)
}

func seconds(from time.Time) float64 {
	return time.Since(from).Round(100 * time.Millisecond).Seconds()
}

// harness is one run of Run.
type harness struct {
	*Options

	ctx    context.Context //nolint:containedctx // of the one Run that made it
	g      *ground
	m      *meter
	pace   pace
	from   time.Time
	result *Result
	at     string
}

// brief tells whether time is running out for a plan.
func (h *harness) brief() bool {
	return len(h.Variants) == 0 && time.Since(h.from) > h.pace.brief
}

func (h *harness) tell(text string) {
	if h.Progress != nil {
		h.Progress(strings.TrimSpace(h.at + " " + text))
	}
}

func (h *harness) missing(what string, err error) {
	h.result.Missing = append(h.result.Missing, Missing{what, err.Error()})
}

// prepareVariants leaves out those that cannot be had here.
func (h *harness) prepareVariants(all []*variant) []*variant {
	var out []*variant
	for _, v := range all {
		if v.prepare != nil {
			h.tell("preparing " + v.name)
			err := v.prepare(h.g)
			if h.ctx.Err() != nil {
				return nil // which may be what it failed of
			}
			if err != nil {
				h.missing(v.name, err)
				continue
			}
		}
		out = append(out, v)
		h.result.Variants = append(h.result.Variants, VariantText{v.name, v.text})
	}
	return out
}

// measure runs one load in the variants that fit it. The result has it if it was finished
// before the end of the context.
func (h *harness) measure(l *load, all []*variant) {
	from := time.Now()
	for _, name := range l.needs {
		found, err := h.g.find(name)
		if err != nil {
			h.missing(l.name, fmt.Errorf("no %s here", name))
			return
		}
		h.g.programs[name] = found
	}
	if l.prepare != nil {
		h.tell("laying out")
		err := l.prepare(h.g)
		if h.ctx.Err() != nil {
			return
		}
		if err != nil {
			h.missing(l.name, err)
			return
		}
	}
	out := &Load{Name: l.name, Text: l.text, Kind: l.kind}
	runs := h.warmUp(l, all, out)
	h.rounds(l, runs)
	if h.ctx.Err() != nil {
		return
	}
	h.result.Loads = append(h.result.Loads, out)
	defer func() { out.Seconds = seconds(from) }()
	if out.Noisy() && time.Since(h.from) < h.pace.again { // once more, and the quieter of the two holds
		first := *out
		first.Series = nil
		for _, s := range out.Series {
			kept := *s
			first.Series = append(first.Series, &kept)
			s.NS, s.Stops, s.CPU = nil, nil, nil
		}
		h.at += " (again: bare runs varied too much)"
		h.rounds(l, runs)
		if first.noise() < out.noise() || h.ctx.Err() != nil {
			out.Series = first.Series
		}
	}
}

// series of a load that runs.
type measured struct {
	v *variant
	s *Series
}

// warmUp runs each variant once: what fails is named, micro loads are brought to a good
// length, and the tracer's memory is looked at. All have to say the same of what they did.
func (h *harness) warmUp(l *load, all []*variant, out *Load) (runs []measured) {
	slow, word := h.brief(), ""
	for _, v := range all {
		if len(h.Variants) == 0 && !fits(l, v, h.Full) || slow && !core(l, v) {
			continue
		}
		h.tell("warm-up, " + v.name)
		s := &Series{Variant: v.name, Calls: max(1, l.calls)}
		out.Series = append(out.Series, s)
		got, err := h.m.run(h.ctx, l, v, s.Calls, true)
		if h.ctx.Err() != nil {
			return nil
		}
		switch {
		case err != nil:
			s.Failed = err.Error()
		case word == "":
			word = got.word
		case got.word != word:
			s.Failed = fmt.Sprintf("it did not do what the bare run did: %q, not %q", got.word, word)
		}
		if s.Failed != "" {
			if v.name == bareName {
				return nil // there is nothing to compare with
			}
			continue
		}
		s.PeakKiB = got.peak
		slow = slow || v.name == bareName && len(h.Variants) == 0 && got.wall > slowRun
		if l.kind == KindMicro {
			s.Calls = max(s.Calls, int(float64(h.pace.run.Nanoseconds())/got.ns))
			if l.most > 0 {
				s.Calls = min(s.Calls, l.most)
			}
		}
		runs = append(runs, measured{v, s})
	}
	return runs
}

// rounds measures: A B C A B C … until the end of the context.
func (h *harness) rounds(l *load, runs []measured) {
	most := h.pace.most
	if h.brief() {
		most = h.pace.least
	}
	for round := 0; round < most; round++ {
		from := time.Now()
		for _, r := range runs {
			h.tell(fmt.Sprintf("round %d of %d, %s", round+1, most, r.v.name))
			if r.s.Failed != "" {
				continue
			}
			got, err := h.m.run(h.ctx, l, r.v, r.s.Calls, false)
			if h.ctx.Err() != nil {
				return
			}
			if err != nil {
				r.s.Failed = err.Error()
				r.s.NS, r.s.Stops, r.s.CPU = nil, nil, nil
				continue
			}
			r.s.NS = append(r.s.NS, got.ns)
			if got.stops >= 0 {
				r.s.Stops = append(r.s.Stops, got.stops)
			}
			if got.cpu >= 0 {
				r.s.CPU = append(r.s.CPU, got.cpu)
			}
		}
		if round == 0 {
			most = min(most, max(h.pace.least, int(h.pace.budget/max(time.Since(from), 1))))
		}
	}
}

// tier is what a guarded run says of itself.
func (h *harness) tier() string {
	program, err := exec.LookPath("true")
	if err != nil {
		return ""
	}
	argv := guarded(h.g, &load{}, h.Self, nil, []string{program})
	cmd := h.g.command(argv[0], argv[1:]...)
	cmd.Env = h.g.env
	if cmd.Run() != nil {
		return ""
	}
	return firstTier(h.g.trace())
}

// chooseLoads picks by name, or those of the plan.
func (o *Options) chooseLoads() ([]*load, error) {
	_, size := o.pace()
	all := loads(size)
	if len(o.Loads) == 0 {
		return slices.DeleteFunc(all, func(l *load) bool { return o.Quick && !l.quick }), nil
	}
	var out []*load
	for _, want := range o.Loads {
		found := false
		for _, l := range all {
			match, err := path.Match(want, l.name)
			if err != nil {
				return nil, fmt.Errorf("--load %s: %w", want, err)
			}
			if match || want == string(l.kind) {
				found = true
				if !slices.Contains(out, l) {
					out = append(out, l)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("--load %s: no such load (see ptguard bench --list)", want)
		}
	}
	return out, nil
}

// chooseVariants picks by name, or those of the plan; bare comes first, always.
func (o *Options) chooseVariants() ([]*variant, error) {
	all := variants(o.Presets)
	var out []*variant
	if len(o.Variants) == 0 {
		for _, v := range all {
			if v.quick && o.Quick || v.full && o.Full || v.quick && !o.Full {
				out = append(out, v)
			}
		}
		if o.Full {
			for _, name := range []string{"bare@0", "floor@0", "default@0", "strace@0"} {
				v, err := pinned(all, name)
				if err != nil {
					return nil, err
				}
				out = append(out, v)
			}
		}
	}
	add := func(v *variant) {
		if !slices.ContainsFunc(out, func(had *variant) bool { return had.name == v.name }) {
			out = append(out, v)
		}
	}
	for _, want := range o.Variants {
		if strings.Contains(want, "@") {
			v, err := pinned(all, want)
			if err != nil {
				return nil, err
			}
			b, err := pinned(all, base(want))
			if err != nil {
				return nil, err
			}
			add(b)
			add(v)
			continue
		}
		found := false
		for _, v := range all {
			match, err := path.Match(want, v.name)
			if err != nil {
				return nil, fmt.Errorf("--variant %s: %w", want, err)
			}
			if match {
				found = true
				add(v)
			}
		}
		if !found {
			return nil, fmt.Errorf("--variant %s: no such variant (see ptguard bench --list)", want)
		}
	}
	place := func(v *variant) int {
		plain, _, _ := strings.Cut(v.name, "@")
		return slices.IndexFunc(all, func(a *variant) bool { return a.name == plain })
	}
	slices.SortStableFunc(out, func(a, b *variant) int { return place(a) - place(b) })
	if i := slices.IndexFunc(out, func(v *variant) bool { return v.name == bareName }); i != 0 {
		if i > 0 {
			out = slices.Delete(out, i, i+1)
		}
		out = slices.Insert(out, 0, all[0])
	}
	for _, v := range out {
		if v.cpus == nil {
			v.cpus = o.CPUs
		}
	}
	return out, nil
}

// pinned is a variant kept to some cpus: NAME@0 or NAME@0-1.
func pinned(all []*variant, name string) (*variant, error) {
	plain, list, _ := strings.Cut(name, "@")
	cpus, err := ParseCPUs(list)
	if err != nil {
		return nil, fmt.Errorf("--variant %s: %w", name, err)
	}
	for _, v := range all {
		if v.name == plain {
			p := *v
			p.name, p.cpus, p.text = name, cpus, v.text+"; kept to cpu "+list
			return &p, nil
		}
	}
	return nil, fmt.Errorf("--variant %s: no such variant (see ptguard bench --list)", name)
}

// ParseCPUs reads a list of cpus as taskset(1) has it: 0 or 0,2 or 0-3.
func ParseCPUs(list string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		a, b, isRange := strings.Cut(part, "-")
		if !isRange {
			b = a
		}
		from, err1 := strconv.Atoi(a)
		to, err2 := strconv.Atoi(b)
		if err1 != nil || err2 != nil || from < 0 || to < from || to > 1023 {
			return nil, fmt.Errorf("%q is no list of cpus, such as 0 or 0-1", list)
		}
		for c := from; c <= to; c++ {
			out = append(out, c)
		}
	}
	var have unix.CPUSet
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		return nil, err
	}
	for _, c := range out {
		if !have.IsSet(c) {
			return nil, fmt.Errorf("cpu %d is not there, or not for this process", c)
		}
	}
	return out, nil
}

func cpuText(cpus []int) string {
	words := make([]string, len(cpus))
	for i, c := range cpus {
		words[i] = strconv.Itoa(c)
	}
	return strings.Join(words, ",")
}

// find gives the absolute path of a program.
func (g *ground) find(name string) (string, error) {
	found, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// machine describes where it is measured.
func machine() Machine {
	m := Machine{Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), UID: os.Getuid()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return m
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}

// List names the loads and variants there are, with what they are; a star marks those of a
// plain run.
func List(presets []string) (loadTexts, variantTexts []VariantText) {
	for _, l := range loads(sizeFull) {
		loadTexts = append(loadTexts, VariantText{l.name, l.text})
	}
	for _, v := range variants(presets) {
		variantTexts = append(variantTexts, VariantText{v.name, v.text})
	}
	return loadTexts, variantTexts
}
