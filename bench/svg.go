// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The plots are written by hand: a few bars are less than a plotting library is, which would
// come with fonts and raster code into every ptguard.

// plotStyle are the colours, by class, in light and dark; a plot that stands alone has it
// inside, a page once.
const plotStyle = `.plot{--ink:#1b1f24;--soft:#57606a;--grid:#d5d9df;--guard:#0b5cad;--base:#8a94a0;--peer:#b5651d;--paper:#fff;font:12px system-ui,"DejaVu Sans",sans-serif}
@media (prefers-color-scheme:dark){.plot{--ink:#e6edf3;--soft:#9aa7b4;--grid:#2c3641;--guard:#7cc0ff;--base:#6b7785;--peer:#e0a060;--paper:#161c23}}
.plot text{fill:var(--ink)}.plot .s{fill:var(--soft)}.plot .t{font-weight:600}.plot line{stroke:var(--grid)}.plot .one{stroke:var(--soft)}
.plot .paper{fill:var(--paper)}.plot .guard{fill:var(--guard)}.plot .base{fill:var(--base)}.plot .peer{fill:var(--peer)}.plot .whisker{stroke:var(--ink);stroke-width:1.5}
`

// Measures of a plot in pixels.
const (
	plotWidth = 760
	plotLeft  = 190 // where bars begin
	plotRight = 120 // room for the figure behind the longest bar
	barHeight = 14
	barGap    = 4
	groupGap  = 14
	plotHead  = 46
)

// bar is one of a group.
type bar struct {
	name, class      string
	value, low, high float64
	text             string
}

// group is the bars of one load.
type group struct {
	name string
	bars []bar
}

// plotted are the variants that a plot compares; the tables have them all.
var plotted = []string{filterName, floorName, "open", defaultName, "strict", "hermetic", straceName, "proot", "bwrap"}

// groups gives a group of ratios to bare for each load of the kind that means something.
func (r *Result) groups(keep func(l *Load) bool, force bool) []group {
	var out []group
	for _, l := range r.Loads {
		if !keep(l) || l.Noisy() && !force {
			continue
		}
		g := group{name: l.Name}
		for _, row := range l.Rows() {
			if i := slices.Index(plotted, row.Series.Variant); i < 0 || math.IsNaN(row.Ratio) {
				continue
			}
			class := "guard"
			switch row.Series.Variant {
			case filterName, floorName:
				class = "base"
			case straceName, "proot", "bwrap":
				class = "peer"
			}
			g.bars = append(g.bars, bar{row.Series.Variant, class, row.Ratio, row.Low, row.High, number(row.Ratio) + " x"})
		}
		if len(g.bars) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// plotSVG draws the ratios of the groups as bars from 1 on: logarithmic where the greatest
// is beyond five times bare.
func plotSVG(title string, groups []group, alone bool) string {
	most := 1.2
	height := plotHead + 26
	for _, g := range groups {
		height += groupGap + len(g.bars)*(barHeight+barGap)
		for _, b := range g.bars {
			most = max(most, b.value, b.high)
		}
	}
	logarithmic := most > 5
	ticks := []float64{}
	if logarithmic {
		for _, t := range []float64{0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
			if t >= 1 && t < most*1.3 {
				ticks = append(ticks, t)
			}
		}
		most = max(most, ticks[len(ticks)-1])
	} else {
		step := 0.1
		for (most-1)/step > 8 {
			step *= 2.5
		}
		for t := 1.0; t < most+step; t += step {
			ticks = append(ticks, t)
		}
		most = max(most, ticks[len(ticks)-1])
	}
	x := func(v float64) float64 {
		at := (v - 1) / (most - 1)
		if logarithmic {
			at = math.Log(v) / math.Log(most)
		}
		return plotLeft + min(1, max(0, at))*(plotWidth-plotLeft-plotRight)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`, plotWidth, height, plotWidth, height, html.EscapeString(title))
	if alone {
		b.WriteString("<style>" + plotStyle + "</style>")
	}
	fmt.Fprintf(&b, `<rect class="paper" width="%d" height="%d"/>`, plotWidth, height)
	scale := "linear"
	if logarithmic {
		scale = "logarithmic"
	}
	fmt.Fprintf(&b, `<text class="t" x="8" y="18">%s</text><text class="s" x="8" y="36">times the bare run, %s; a whisker spans the quartiles</text>`, html.EscapeString(title), scale)
	for _, t := range ticks {
		class := ""
		if t == 1 {
			class = ` class="one"`
		}
		fmt.Fprintf(&b, `<line%s x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="s" x="%.1f" y="%d" text-anchor="middle">%s</text>`, class, x(t), x(t), plotHead, height-22, x(t), height-8, trim(t))
	}
	y := plotHead
	for _, g := range groups {
		y += groupGap / 2
		fmt.Fprintf(&b, `<text class="t" x="8" y="%d">%s</text>`, y+barHeight-3, html.EscapeString(g.name))
		for _, r := range g.bars {
			width := max(1, x(r.value)-plotLeft)
			fmt.Fprintf(&b, `<text class="s" x="%d" y="%d" text-anchor="end">%s</text>`, plotLeft-6, y+barHeight-3, html.EscapeString(r.name))
			fmt.Fprintf(&b, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="1"><title>%s, %s: %s</title></rect>`,
				r.class, plotLeft, y, width, barHeight, html.EscapeString(g.name), html.EscapeString(r.name), html.EscapeString(r.text))
			if r.high > r.low {
				fmt.Fprintf(&b, `<line class="whisker" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x(r.low), x(r.high), float64(y)+barHeight/2, float64(y)+barHeight/2)
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`, max(x(r.value), x(r.high))+5, y+barHeight-3, html.EscapeString(r.text))
			y += barHeight + barGap
		}
		y += groupGap / 2
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func trim(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// plot is one picture of a report.
type plot struct{ file, title, svg string }

// plots are the pictures of the report, those with nothing to show left out.
func (r *Result) plots(force, alone bool) []plot {
	crowd := func(l *Load) bool {
		return strings.HasSuffix(l.Name, "-"+shapeThreads) || strings.HasSuffix(l.Name, "-"+shapeProcesses)
	}
	var out []plot
	for _, p := range []struct {
		file, title string
		keep        func(l *Load) bool
	}{
		{"whole.svg", "Whole programs", func(l *Load) bool { return l.Kind == KindWhole }},
		{"calls.svg", "Single calls, one thread", func(l *Load) bool { return l.Kind == KindMicro && !crowd(l) }},
		{"crowd.svg", "Single calls, 8 threads and 200 processes", crowd},
		{"start.svg", "The start of a run", func(l *Load) bool { return l.Kind == KindStart }},
	} {
		if groups := r.groups(p.keep, force); len(groups) > 0 {
			out = append(out, plot{p.file, p.title, plotSVG(p.title, groups, alone)})
		}
	}
	return out
}
