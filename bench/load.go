// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Kind of a load, which says what its figures are.
type Kind string

// Kinds: a micro load is told in nanoseconds a call, its start-up excluded; a whole program
// and a start in nanoseconds a run, ptguard's own start included.
const (
	KindMicro Kind = "micro"
	KindWhole Kind = "whole"
	KindStart Kind = "start"
)

// load is one thing to run, the same in each variant.
type load struct {
	name, text string
	kind       Kind
	needs      []string // programs; without one of them the load is left out

	// prepare lays out what all runs share; nil for nothing.
	prepare func(g *ground) error
	// before puts everything back to what a run expects; it is not timed. nil for nothing.
	before func(g *ground, calls int) error
	// argv is the command. calls is for micro loads.
	argv func(g *ground, calls int) []string
	dir  string // where it runs, below the work folder
	// check gives a word for what a run did, which must be the same in each variant; nil if
	// the exit status says enough.
	check func(g *ground) (string, error)
	// reads are places outside the work folder that a strict policy has to grant for it.
	reads func(g *ground) []string

	calls, most int // micro: how many to begin with, and at most (0: no bound)
	quick       bool
}

// missingError says why something is left out.
type missingError struct{ why string }

func (e *missingError) Error() string { return e.why }

// loads are all loads of a size in the order of a report, which is also that of measuring:
// what matters most comes first, for what comes late may be measured less often.
func loads(s size) []*load {
	out := []*load{startLoad()}
	shape := func(which string) {
		for _, name := range microNames {
			out = append(out, microLoad(name, which, s))
		}
	}
	shape(shapeOne)
	out = append(out, wholeLoads(s)...)
	shape(shapeThreads)
	shape(shapeProcesses)
	return out
}

func startLoad() *load {
	return &load{
		name: "start", text: "one run of true", kind: KindStart, needs: []string{"true"}, quick: true,
		argv: func(g *ground, _ int) []string { return []string{g.programs["true"]} },
	}
}

var shapeText = map[string]string{shapeOne: "one thread", shapeThreads: "8 threads", shapeProcesses: "200 processes"}

func microLoad(name, shape string, s size) *load {
	l := &load{
		name: name, text: operations[name].text + "; " + shapeText[shape], kind: KindMicro, calls: fewest[s],
		quick: shape == shapeOne && name != "rename" && name != "thread",
		argv: func(g *ground, calls int) []string {
			return []string{g.self, programName, name, shape, strconv.Itoa(calls), g.dir(microDir)}
		},
		reads: func(g *ground) []string { return []string{g.self} },
	}
	workers := shapeWorkers[shape]
	if shape != shapeOne {
		l.name += "-" + shape
	}
	l.before = func(g *ground, calls int) error { return layOut(g.dir(microDir), name, workers, calls) }
	switch name {
	case "fork-exec":
		l.needs, l.calls, l.most = []string{"true"}, [...]int{200, 60, 200}[s], 4000
	case "unlink":
		// The files have to be made for each run, and ext4 takes 0.2 to 0.5 ms to make one where
		// as many were deleted in the last seconds: it looks at each of those first.
		if l.most = 5000; s == sizeQuick {
			l.calls, l.most = 400, 1000
		}
	}
	l.calls = max(l.calls, workers)
	return l
}

// fewest is how many calls a run of a micro load makes at least, and in its warm-up: so many
// that the stops of the load's start do not show. What is slow takes longer for it than the
// time of one run that a plan has.
var fewest = [...]int{2000, 1000, 2000}

const microDir = "calls"

// layOut makes the files of a micro load as each of its runs expects them.
func layOut(dir, name string, workers, calls int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	write := func(path string) error { return os.WriteFile(path, []byte("text\n"), 0o644) }
	if err := write(sharedFile(dir)); err != nil {
		return err
	}
	each := (calls + workers - 1) / workers
	for w := range workers {
		switch name {
		case "open-write", "rename":
			if err := os.Remove(ownFile(dir, w) + "-renamed"); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if err := write(ownFile(dir, w)); err != nil {
				return err
			}
		case "unlink":
			if err := os.MkdirAll(ownDir(dir, w), 0o755); err != nil {
				return err
			}
			for i := -1; i < each; i++ {
				if err := write(ownName(dir, w, i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ground is the temporary folder in which everything runs, and what was found on the machine.
type ground struct {
	ctx      context.Context //nolint:containedctx // of the one Run that made it
	root     string
	self     string // the ptguard to measure
	size     size
	programs map[string]string // by name, absolute
	env      []string
	memo     map[string]string // what loads found out about programs
}

// size says how much whole programs have to do.
type size int

const (
	sizeTiny  size = iota // for tests
	sizeQuick             // ptguard bench --quick
	sizeFull
)

// dir is a folder below the work folder.
func (g *ground) dir(name string) string { return filepath.Join(g.root, "work", name) }

// newGround makes the folders. They lie in $TMPDIR, which a default policy lets a program
// write, but the work folder is named all the same.
func newGround(ctx context.Context, self string, s size) (*ground, error) {
	root, err := os.MkdirTemp("", "ptguard-bench-")
	if err != nil {
		return nil, fmt.Errorf("make the folder to measure in: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	g := &ground{ctx: ctx, root: root, self: self, size: s, programs: map[string]string{}, memo: map[string]string{}}
	for _, dir := range []string{"work", "home", "tmp", "own"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			g.remove()
			return nil, err
		}
	}
	g.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "home"), "TMPDIR=" + filepath.Join(root, "tmp"),
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=dumb",
		// The runtime of the load program interrupts a long loop, which is a stop each.
		"GODEBUG=asyncpreemptoff=1",
	}
	return g, nil
}

// command is one that ends with the context. What it has started may go on for a moment; it
// is not waited for.
func (g *ground) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.ctx, name, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

// remove takes everything away; modules of Go's are read-only.
func (g *ground) remove() { _ = os.RemoveAll(g.root) }
