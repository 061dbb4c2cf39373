// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Names of variants that others are compared with.
const (
	bareName    = "bare"
	floorName   = "floor"
	filterName  = "filter"
	defaultName = "default"
	straceName  = "strace"
)

// variant is one way to run a load.
type variant struct {
	name, text string
	// prepare finds or builds what it needs; a missingError leaves it out. nil for nothing.
	prepare func(g *ground) error
	// argv wraps the load's command.
	argv func(g *ground, l *load, command []string) []string
	// tracer: the first process is a tracer, whose cpu time and memory are told.
	tracer bool
	// count reads how many stops there were and, where it is known better than from outside,
	// the tracer's cpu time in nanoseconds (else -1); nil if nobody counts.
	count func(g *ground) (stops, cpu float64, err error)
	// usual: measured where no variant is named: quick, full.
	quick, full bool
	cpus        []int // where tracer and tree run, nil for anywhere
}

// base is what the variant's ratio is to: bare on the same cpus.
func base(name string) string {
	if _, at, pinned := strings.Cut(name, "@"); pinned {
		return bareName + "@" + at
	}
	return bareName
}

// floorOf is the C floor on the same cpus.
func floorOf(name string) string {
	if _, at, pinned := strings.Cut(name, "@"); pinned {
		return floorName + "@" + at
	}
	return floorName
}

// guard is a variant of ptguard itself.
func guard(name, text string, flags ...string) *variant {
	return &variant{
		name: name, text: text, tracer: true, count: countRecords,
		argv: func(g *ground, l *load, command []string) []string { return guarded(g, l, g.self, flags, command) },
	}
}

func guarded(g *ground, l *load, binary string, flags, command []string) []string {
	argv := []string{binary, "run", "-q", "--work", filepath.Join(g.root, "work"), "--trace", g.trace()}
	argv = append(argv, flags...)
	if slices.Contains(flags, "--keep-env") && l.reads != nil { // a strict policy
		for _, p := range l.reads(g) {
			argv = append(argv, "--read", p)
			if !slices.Contains(flags, "strict") { // whose list of programs is not closed
				argv = append(argv, "--allow-exec", p)
			}
		}
	}
	return append(append(argv, "--"), command...)
}

func (g *ground) trace() string  { return filepath.Join(g.root, "own", "trace.jsonl") }
func (g *ground) stops() string  { return filepath.Join(g.root, "own", "stops") }
func (g *ground) filter() string { return filepath.Join(g.root, "own", "filter") }

// variants are all there are; presets are the names of ptguard's presets.
func variants(presets []string) []*variant {
	bare := &variant{name: bareName, text: "without ptguard", quick: true, full: true, argv: func(_ *ground, _ *load, command []string) []string { return command }}
	filter := &variant{
		name: filterName, text: "the default's seccomp filter alone: each of its stops allowed instead", full: true, prepare: prepareFilter,
		argv: func(g *ground, _ *load, command []string) []string {
			return append([]string{g.self, filteredName, g.filter()}, command...)
		},
	}
	floor := &variant{
		name: floorName, text: "the C floor: the default's filter, a tracer that reads the path and continues", tracer: true, quick: true, full: true,
		prepare: prepareFloor, count: countFloor,
		argv: func(g *ground, _ *load, command []string) []string {
			return append([]string{filepath.Join(g.root, "own", "floor"), g.stops(), g.filter()}, command...)
		},
	}
	def := guard(defaultName, "ptguard run -- CMD: preset permissive, protection full")
	def.quick, def.full = true, true
	out := []*variant{bare, filter, floor, def}
	for _, p := range presets {
		if p == "permissive" {
			continue // that is the default
		}
		v := guard(p, "--preset "+p, "--preset", p)
		switch p {
		case "strict", "agent":
			v = guard(p, "--preset "+p+", with read and exec grants for the load's programs", "--preset", p, "--keep-env")
		case "hermetic":
			v = guard(p, "--preset hermetic, with the work folder writable and grants for the load's programs", "--preset", p, "--keep-env", "--write", "@work")
		}
		v.full = true
		out = append(out, v)
	}
	for _, v := range append(tiers(), peers()...) {
		v.full = true
		out = append(out, v)
	}
	return out
}

// prepareFilter has ptguard write the seccomp program of a default run.
func prepareFilter(g *ground) error {
	if _, err := os.Stat(g.filter()); err == nil {
		return nil
	}
	program, err := exec.LookPath("true")
	if err != nil {
		return &missingError{"no true(1) here"}
	}
	cmd := g.command(g.self, "filter", "--out", g.filter(), "-q", "--work", filepath.Join(g.root, "work"), "--", program)
	cmd.Env = g.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("write the filter: %w: %s", err, out)
	}
	return nil
}

// peers are other tools that do something like it, where they are installed.
func peers() []*variant {
	calls := "open,openat,execve,connect,clone"
	if runtime.GOARCH != "amd64" {
		calls = "openat,execve,connect,clone" // no open(2) there
	}
	strace := peer(straceName, func(*ground) []string {
		return []string{"strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "trace=" + calls}
	})
	strace.quick, strace.tracer = true, true
	proot := peer("proot", func(g *ground) []string { return []string{"proot", "-w", filepath.Join(g.root, "work")} })
	proot.tracer = true
	bwrap := peer("bwrap", func(*ground) []string { return []string{"bwrap", "--dev-bind", "/", "/", "--"} })
	return []*variant{strace, proot, bwrap}
}

func peer(name string, command func(g *ground) []string) *variant {
	v := &variant{name: name, text: strings.Join(command(&ground{root: "…"}), " ")}
	v.argv = func(g *ground, _ *load, argv []string) []string {
		words := command(g)
		return append(append([]string{g.programs[name]}, words[1:]...), argv...)
	}
	v.prepare = func(g *ground) error {
		path, err := exec.LookPath(name)
		if err != nil {
			return &missingError{"not installed"}
		}
		g.programs[name] = path
		program, err := exec.LookPath("true")
		if err != nil {
			return &missingError{"no true(1) here"}
		}
		argv := v.argv(g, nil, []string{program})
		cmd := g.command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = g.env, filepath.Join(g.root, "work")
		if out, err := cmd.CombinedOutput(); err != nil {
			return &missingError{fmt.Sprintf("does not work here: %v: %.200s", err, out)}
		}
		return nil
	}
	return v
}
