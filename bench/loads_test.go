// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptguard/internal/ktest"
	"ptguard/rules"
)

// tinyGround is a ground with what all loads want, and the variants by name, prepared.
func tinyGround(t *testing.T, want ...string) (*ground, []*variant) {
	t.Helper()
	g, err := newGround(ktest.Binary(t), sizeTiny)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.remove)
	var out []*variant
	for _, v := range variants(rules.Presets()) {
		if !slices.Contains(want, v.name) {
			continue
		}
		if v.prepare != nil {
			if err := v.prepare(g); err != nil {
				t.Fatalf("%s: %v", v.name, err)
			}
		}
		out = append(out, v)
	}
	if len(out) != len(want) {
		t.Fatalf("variants %v: %d found", want, len(out))
	}
	return g, out
}

// Each load runs, in each kind of variant, and does the same there as without ptguard: what
// is measured is the load and not its failure. The presets that grant least are among them.
func TestLoadsRunAndDoTheSame(t *testing.T) {
	g, all := tinyGround(t, "bare", "filter", "floor", "default", "strace", "agent", "strict", "hermetic")
	m, err := newMeter(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads(sizeTiny) {
		for _, name := range l.needs {
			if g.programs[name], err = g.find(name); err != nil {
				t.Fatalf("%s: %v", l.name, err)
			}
		}
		if l.prepare != nil {
			if err := l.prepare(g); err != nil {
				t.Fatalf("%s: %v", l.name, err)
			}
		}
		calls := max(1, min(l.calls, 200))
		var bare sample
		for _, v := range all {
			crowd := l.kind == KindMicro && (strings.HasSuffix(l.name, "-"+shapeThreads) || strings.HasSuffix(l.name, "-"+shapeProcesses))
			if crowd && !slices.Contains([]string{bareName, floorName, defaultName}, v.name) {
				continue // the shapes differ in who calls, not in what is granted
			}
			if (l.name == "go-build" || l.name == "npm") && v.name != bareName && v.name != "strict" {
				continue // seconds each
			}
			got, err := m.run(context.Background(), l, v, calls, true)
			if err != nil {
				t.Errorf("%s, %s: %v", l.name, v.name, err)
				continue
			}
			if v.name == bareName {
				bare = got
			}
			if got.word != bare.word || l.check != nil && got.word == "" {
				t.Errorf("%s, %s: did %q, bare %q", l.name, v.name, got.word, bare.word)
			}
			if got.ns <= 0 || v.tracer && got.cpu < 0 {
				t.Errorf("%s, %s: %+v", l.name, v.name, got)
			}
			if counts := v.count != nil; counts != (got.stops > 0) {
				t.Errorf("%s, %s: %v stops", l.name, v.name, got.stops)
			}
		}
	}
}

// A traced call costs a stop under ptguard and under the floor, one that is never traced
// costs none: the counts are those of the calls that were made.
func TestStopsAreThoseOfTheCalls(t *testing.T) {
	g, all := tinyGround(t, "floor", "default")
	m, err := newMeter(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		load string
		each float64
	}{{"open-write", 1}, {"unlink", 1}, {"untraced", 0}} {
		i := slices.IndexFunc(loads(sizeTiny), func(l *load) bool { return l.name == c.load })
		for _, v := range all {
			stops := func(calls int) float64 {
				got, err := m.run(context.Background(), loads(sizeTiny)[i], v, calls, false)
				if err != nil {
					t.Fatalf("%s, %s: %v", c.load, v.name, err)
				}
				return got.stops
			}
			// The difference of two runs: what starts the load is in both, but for a thread or
			// two more or less of the Go runtime's.
			const few, many = 100, 1100
			if each := (stops(many) - stops(few)) / (many - few); each < c.each-0.03 || each > c.each+0.03 {
				t.Errorf("%s, %s: %.3f stops a call, want %v", c.load, v.name, each, c.each)
			}
		}
	}
}

// tree lists the files below root with their contents.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What the loads work on is the same each time, wherever and whenever it is made.
func TestGeneratorsAreDeterministic(t *testing.T) {
	var made []map[string]string
	var heads []string
	for range 2 {
		g, _ := tinyGround(t)
		for _, l := range wholeLoads(sizeTiny) {
			for _, name := range l.needs {
				found, err := g.find(name)
				if err != nil {
					t.Fatal(err)
				}
				g.programs[name] = found
			}
			if l.prepare != nil {
				if err := l.prepare(g); err != nil {
					t.Fatalf("%s: %v", l.name, err)
				}
			}
		}
		files := tree(t, g.root)
		head := files["work/git/src/.git/refs/heads/main"]
		for name := range files {
			if strings.HasPrefix(name, "work/git/src/.git/") {
				delete(files, name) // the index has the times of the files
			}
		}
		made, heads = append(made, files), append(heads, head)
	}
	if len(made[0]) < 30 || len(made[0]) != len(made[1]) {
		t.Errorf("%d and %d files", len(made[0]), len(made[1]))
	}
	for name, text := range made[0] {
		if made[1][name] != text {
			t.Errorf("%s differs", name)
		}
	}
	// Worked out by git itself from the same files, names and times.
	if len(heads[0]) != 41 || heads[0] != heads[1] {
		t.Errorf("the repository's head: %q and %q", heads[0], heads[1])
	}
}

// A program that is not there, and a variant that cannot be had, are named and left out.
func TestMissingIsNamed(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(ktest.Binary(t)))
	r, err := Run(context.Background(), &Options{Self: ktest.Binary(t), Loads: []string{"grep", "untraced"}, Variants: []string{"floor", "strace"}, Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, x := range r.Missing {
		why[x.What] = x.Why
	}
	if why["strace"] != "not installed" || why["grep"] != "no go here" || why["floor"] == "" || len(r.Loads) != 1 || r.Loads[0].series(bareName) == nil {
		t.Errorf("%+v", r)
	}
}

// Names that are not there are an error, not an empty report.
func TestUnknownNames(t *testing.T) {
	for _, o := range []*Options{{Loads: []string{"opne"}}, {Variants: []string{"deflaut"}}, {Variants: []string{"default@999"}}, {Loads: []string{"["}}} {
		if _, err := Run(context.Background(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// An end from outside ends the run that is going on, and what it measured in is removed.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	o := &Options{Self: ktest.Binary(t), Loads: []string{"untraced"}, Variants: []string{"default"}, Rounds: 1000, Progress: func(string) { cancel() }}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
