// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// example is a result with all there can be in one.
func example() *Result {
	return &Result{
		Format: Format, Time: "2026-01-02T03:04:05Z", Version: "1.2.3", Plan: "full", Seconds: 12.3, CPUs: "0",
		Machine: Machine{Kernel: "6.18", Arch: "amd64", CPU: "A & B", CPUs: 2, UID: 0, Tier: "race-free"},
		Variants: []VariantText{
			{bareName, "without"},
			{floorName, "the floor"},
			{defaultName, "run <x>"},
			{straceName, "strace -f"},
			{"open", "--preset open"},
		},
		Missing: []Missing{{"proot", "not installed"}},
		Loads: []*Load{
			{Name: "start", Text: "a start", Kind: KindStart, Series: []*Series{
				{Variant: bareName, Calls: 1, NS: []float64{1e6, 1e6, 1e6}},
				{Variant: defaultName, Calls: 1, NS: []float64{8e6, 8e6, 8e6}, Stops: []float64{8, 8, 8}, CPU: []float64{3e6, 3e6, 3e6}, PeakKiB: 12 << 10},
			}},
			{Name: "open-read", Text: "an open", Kind: KindMicro, Series: []*Series{
				{Variant: bareName, Calls: 1000, NS: []float64{1000, 1000, 1000}},
				{Variant: floorName, Calls: 1000, NS: []float64{10000, 10000, 10000}, Stops: []float64{1000, 1000, 1000}},
				{Variant: defaultName, Calls: 1000, NS: []float64{12000, 12000, 12000}, Stops: []float64{1000, 1000, 1000}},
				{Variant: straceName, Failed: "exit status 1: <no>"},
			}},
			{Name: "grep", Text: "a grep", Kind: KindWhole, Series: []*Series{
				{Variant: bareName, Calls: 1, NS: []float64{100e6, 100e6, 100e6}},
				{Variant: "open", Calls: 1, NS: []float64{104e6, 104e6, 104e6}},
				{Variant: defaultName, Calls: 1, NS: []float64{150e6, 150e6, 150e6}},
				{Variant: straceName, Calls: 1, NS: []float64{200e6, 200e6, 200e6}},
			}},
			{Name: "tar", Text: "a tar", Kind: KindWhole, Series: []*Series{
				{Variant: bareName, Calls: 1, NS: []float64{100e6, 150e6, 50e6, 200e6}}, // varies
				{Variant: defaultName, Calls: 1, NS: []float64{100e6, 150e6, 50e6, 200e6}},
			}},
		},
	}
}

func TestJSONRoundTrip(t *testing.T) {
	var text bytes.Buffer
	if err := example().Write(&text); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, example()) {
		t.Errorf("%+v", got)
	}
	for bad, want := range map[string]string{
		"":                          "not a result",
		"[]":                        "not a result",
		`{"ptguard_bench":2}`:       "format 2",
		`{"ptguard_bench":1,"x":1}`: "unknown field",
		`{"ptguard_bench":1,"loads":[{"name":"a","series":[{"variant":"bare","calls":1,"ns":[0]}]}]}`: "a run of 0 ns",
		`{"ptguard_bench":1,"loads":[{"name":"a","series":[{"variant":"bare","ns":[1]}]}]}`:           "without calls",
	} {
		if _, err := Read(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
}

// Figures of a load whose bare runs vary too much are told only when forced, and then marked.
func TestNoisyIsLeftOut(t *testing.T) {
	r := example()
	if got := r.Noisy(); !slices.Equal(got, []string{"tar"}) {
		t.Fatalf("noisy: %v", got)
	}
	for _, form := range []struct {
		name  string
		write func(w io.Writer, force bool) error
		shown string
		mark  string
	}{
		{"table", r.Table, "\ntar: ", "these figures mean little"},
		{"html", r.HTML, "<h3>tar</h3>", "bare runs vary by"},
		{"gobench", r.GoBench, "BenchmarkTar/", ""},
	} {
		var without, forced strings.Builder
		if err := errors.Join(form.write(&without, false), form.write(&forced, true)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(without.String(), form.shown) || !strings.Contains(forced.String(), form.shown) || !strings.Contains(forced.String(), form.mark) {
			t.Errorf("%s: %s\n---\n%s", form.name, without.String(), forced.String())
		}
	}
	for _, v := range r.Verdicts() {
		if strings.HasPrefix(v.Text, "tar") {
			t.Errorf("a verdict on what means nothing: %+v", v)
		}
	}
}

func TestVerdicts(t *testing.T) {
	got := map[string]Verdict{}
	for _, v := range example().Verdicts() {
		got[v.Text] = v
	}
	for _, want := range []Verdict{
		{"an allowed open for reading, by the C floor", "at most 1.25 x", "1.20 x", true, ""},
		{"start", "at most 5.00 ms", "7.00 ms", false, "by 2.00 ms"},
		{"grep -r without read rules", "at most 1.03 x", "1.04 x", false, "by 1 %"},
		{"grep -r, what strace adds by what ptguard adds", "at least 3.00 x", "2.00 x", false, "33 % short"},
		{"grep, by strace", "at most 1.00 x", "0.75 x", true, ""},
	} {
		if got[want.Text] != want {
			t.Errorf("%+v, want %+v", got[want.Text], want)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d verdicts: %v", len(got), got)
	}
}

// Each line is a benchmark result as the go command writes it (golang.org/design/14313).
func TestGoBench(t *testing.T) {
	var text strings.Builder
	if err := example().GoBench(&text, false); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(Benchmark[A-Z][A-Za-z0-9]*/variant=[a-z0-9@-]+ \d+( [0-9.]+ [a-z-]+/op)+|[a-z]+: .*)$`)
	for l := range strings.Lines(text.String()) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("%q", l)
		}
	}
	if !strings.Contains(text.String(), "\nBenchmarkOpenRead/variant=floor 1000 10000.0 ns/op 1.00 stops/op\n") {
		t.Error(text.String())
	}
}

// The page is whole, needs nothing from anywhere, and shows what it was given as text.
func TestHTMLStandsAlone(t *testing.T) {
	var page strings.Builder
	if err := example().HTML(&page, false); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, bad := range []string{"<no>", "<x>", "A & B", "<script", "src=", "@import", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("%s in the page", bad)
		}
	}
	for _, want := range []string{"&lt;no&gt;", "A &amp; B", "Whole programs", "Single calls, one thread", "missed by 2.00 ms", "left out: not installed"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	if links := regexp.MustCompile(`https?://[^"]*`).FindAllString(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), -1); len(links) > 0 {
		t.Errorf("links: %v", links)
	}
}

// A plot is well-formed, its bars lie within it and in the order of their values.
func TestPlot(t *testing.T) {
	for _, c := range []struct {
		scale  string
		values []float64
	}{
		{"linear", []float64{0.97, 1, 1.05, 1.2, 2.5}},
		{"logarithmic", []float64{0.5, 1, 3, 30, 700}},
	} {
		g := group{name: "a <load>"}
		for _, v := range c.values {
			g.bars = append(g.bars, bar{"x", "guard", v, v * 0.9, v * 1.1, number(v)})
		}
		text := plotSVG("a title", []group{g}, true)
		dec := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		}
		if !strings.Contains(text, c.scale) || !strings.Contains(text, "a &lt;load&gt;") {
			t.Errorf("not %s: %s", c.scale, text)
		}
		last := 0.0
		widths := regexp.MustCompile(`class="guard" x="190" y="\d+" width="([0-9.]+)"`).FindAllStringSubmatch(text, -1)
		for _, w := range widths {
			v := number64(t, w[1])
			if v < last || v > plotWidth-plotLeft-plotRight {
				t.Errorf("%s: widths %v", c.scale, widths)
			}
			last = v
		}
		if len(widths) != len(c.values) {
			t.Errorf("%d bars", len(widths))
		}
	}
}

func number64(t *testing.T, s string) float64 {
	t.Helper()
	v := math.NaN()
	if err := xml.Unmarshal([]byte("<v>"+s+"</v>"), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// docs/performance.md and its plots are what the newest result makes today.
func TestPerformancePageIsOfTheNewestResult(t *testing.T) {
	made := t.TempDir()
	names, err := Page("results", made)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(made, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../docs", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is stale (%v): go generate ./bench", name, err)
		}
	}
	for _, dir := range []string{"performance"} {
		there, err := os.ReadDir(filepath.Join("../docs", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range there {
			if !slices.Contains(names, filepath.Join(dir, e.Name())) {
				t.Errorf("docs/%s/%s is of no result: remove it", dir, e.Name())
			}
		}
	}
}
