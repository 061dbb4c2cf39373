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
	g, err := newGround(context.Background(), ktest.Binary(t), sizeTiny)
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

// An end from outside, whenever it comes, ends the run that is going on and leaves nothing of
// what it measured in. The loads that were finished are there, whole; the others are named.
func TestInterrupted(t *testing.T) {
	ended := errors.New("ended by the test")
	names := []string{"untraced", "open-read", "stat"}
	for _, c := range []struct {
		at       string // what is told when the end comes
		finished int
	}{
		{"preparing floor", 0},
		{"[1/3] untraced warm-up, bare", 0},
		{"[1/3] untraced round 2 of 2, default", 0},
		{"[2/3] open-read warm-up, default", 1},
		{"[2/3] open-read round 1 of 2, bare", 1},
		{"[3/3] stat round 2 of 2, default", 2},
	} {
		t.Setenv("TMPDIR", t.TempDir())
		ctx, cancel := context.WithCancelCause(context.Background())
		r, err := Run(ctx, &Options{
			Self: ktest.Binary(t), Loads: names, Variants: []string{"floor", "default"}, Rounds: 2,
			Progress: func(text string) {
				if strings.HasPrefix(text, c.at) {
					cancel(ended)
				}
			},
		})
		if !errors.Is(err, ended) || r == nil || r.Broken != ended.Error() {
			t.Fatalf("%s: %+v, %v", c.at, r, err)
		}
		var got []string
		for _, l := range r.Loads {
			got = append(got, l.Name)
			for _, s := range l.Series {
				if len(l.Series) != 3 || len(s.NS) != 2 {
					t.Errorf("%s: %s in %s is not whole: %+v", c.at, l.Name, s.Variant, s)
				}
			}
		}
		if !slices.Equal(got, names[:c.finished]) {
			t.Errorf("%s: finished %v", c.at, got)
		}
		says := "not a whole run: ended by the test, not measured: " + strings.Join(names[c.finished:], ", ")
		var table, page, text, md strings.Builder
		if err := errors.Join(r.Table(&table, true), r.HTML(&page, true), r.GoBench(&text, true), r.Markdown(&md, "x", "y")); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{r.NotWhole(), table.String(), page.String(), text.String(), md.String()} {
			if !strings.Contains(strings.ToLower(form), says) {
				t.Errorf("%s: no %q in %s", c.at, says, form)
			}
		}
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
			t.Errorf("%s: left: %v, %v", c.at, left, err)
		}
	}
}

// A load that fails, without ptguard or in some variant, is told of as failed, with what it
// said; it takes no other load with it.
func TestFailureIsNamed(t *testing.T) {
	bin := t.TempDir()
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("go", "echo "+bin)
	script("grep", "echo it is broken; exit 3")
	script("bwrap", "case $* in *__load*) echo not this one; exit 4;; esac")
	for _, dir := range grepped {
		if err := os.MkdirAll(filepath.Join(bin, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := Run(context.Background(), &Options{Self: ktest.Binary(t), Loads: []string{"grep", "untraced"}, Variants: []string{"bwrap"}, Rounds: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.NotWhole(), "not a whole run: failed: grep in bare, untraced in bwrap"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if broken := r.load("grep").Series[0].Failed; broken != "exit status 3: it is broken" {
		t.Errorf("%q", broken)
	}
	if bare := r.load("untraced").series(bareName); bare == nil || len(bare.NS) != 2 {
		t.Errorf("%+v", r.load("untraced"))
	}
}
