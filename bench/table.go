// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// Row is what is told of one series.
type Row struct {
	Series *Series
	// Median and P95 are nanoseconds a call (a run, of a whole program).
	Median, P95 float64
	// Ratio is the median over the rounds of the value by the bare one; Low and High are its
	// quartiles. NaN where there is nothing to compare with.
	Ratio, Low, High float64
	// Floor is the same by the C floor.
	Floor float64
	// Stops are the median of one call (or run), StopNS what each added to the bare run. NaN if
	// unknown.
	Stops, StopNS float64
	// CPU is the tracer's own time, nanoseconds a call (or run). NaN if unknown.
	CPU float64
}

// Rows computes what is told of a load's series; of one that failed, only that.
func (l *Load) Rows() []Row {
	out := make([]Row, 0, len(l.Series))
	for _, s := range l.Series {
		nan := math.NaN()
		row := Row{Series: s, Median: nan, P95: nan, Ratio: nan, Low: nan, High: nan, Floor: nan, Stops: nan, StopNS: nan, CPU: nan}
		if len(s.NS) > 0 {
			calls := float64(s.Calls)
			row.Median, row.P95 = median(s.NS), quantile(s.NS, 0.95)
			if bare := l.series(base(s.Variant)); bare != nil {
				ratios := paired(s.NS, bare.NS)
				row.Ratio, row.Low, row.High = median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75)
				// Where the start is most of it, or stops are few, they are not what took the time.
				if len(s.Stops) > 0 && l.Kind != KindStart && median(s.Stops) >= calls/2 {
					row.StopNS = (row.Median - median(bare.NS)) / (median(s.Stops) / calls)
				}
			}
			if floor := l.series(floorOf(s.Variant)); floor != nil && floor != s && s.Variant != base(s.Variant) {
				row.Floor = median(paired(s.NS, floor.NS))
			}
			if len(s.Stops) > 0 {
				row.Stops = median(s.Stops) / calls
			}
			if len(s.CPU) > 0 {
				row.CPU = median(s.CPU) / calls
			}
		}
		out = append(out, row)
	}
	return out
}

// columns are the headings of a table, and cells a row of it.
var columns = []string{"variant", "median", "p95", "to bare", "quartiles", "to floor", "stops", "a stop", "tracer cpu", "peak"}

func (r Row) cells() []string {
	peak := ""
	if r.Series.PeakKiB > 0 {
		peak = fmt.Sprintf("%.1f MiB", float64(r.Series.PeakKiB)/1024)
	}
	quartiles := ""
	if !math.IsNaN(r.Low) && r.Series.Variant != bareName {
		quartiles = number(r.Low) + "–" + number(r.High)
	}
	return []string{
		r.Series.Variant, duration(r.Median), duration(r.P95), number(r.Ratio), quartiles, number(r.Floor), count(r.Stops), duration(r.StopNS), duration(r.CPU), peak,
	}
}

// duration is nanoseconds in the unit that reads well, three digits; empty for NaN.
func duration(ns float64) string {
	switch abs := math.Abs(ns); {
	case math.IsNaN(ns):
		return ""
	case abs < 1e3:
		return digits(ns) + " ns"
	case abs < 1e6:
		return digits(ns/1e3) + " µs"
	case abs < 1e9:
		return digits(ns/1e6) + " ms"
	}
	return digits(ns/1e9) + " s"
}

func digits(v float64) string {
	switch abs := math.Abs(v); {
	case abs < 10:
		return fmt.Sprintf("%.2f", v)
	case abs < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// number is a ratio; empty for NaN.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return digits(v)
}

// count is a number of stops, whole where it is.
func count(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v >= 100 || math.Abs(v-math.Round(v)) < 0.005:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Table writes the report for a terminal. Loads whose bare runs vary too much are named and
// left out; with force they are shown, marked.
func (r *Result) Table(out io.Writer, force bool) error {
	w := &strings.Builder{}
	m := r.Machine
	fmt.Fprintf(w, "ptguard %s on Linux %s, %s, %d cpus", r.Version, m.Kernel, m.Arch, m.CPUs)
	if r.CPUs != "" {
		fmt.Fprintf(w, ", all kept to cpu %s", r.CPUs)
	}
	fmt.Fprintf(w, "; uid %d; %s, %.0f s\n", m.UID, r.Plan, r.Seconds)
	if text := r.NotWhole(); text != "" {
		fmt.Fprintln(w, text)
	}
	for _, l := range r.Loads {
		if l.Noisy() && !force {
			continue
		}
		mark := ""
		if l.Noisy() {
			mark = fmt.Sprintf("   ! bare runs vary by %.0f %%: these figures mean little", 100*l.noise())
		}
		fmt.Fprintf(w, "\n%s: %s; %d rounds%s\n", l.Name, l.Text, l.rounds(), mark)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, c := range columns {
			fmt.Fprintf(t, "  %s\t", c)
		}
		fmt.Fprintln(t)
		var failed []*Series
		for _, row := range l.Rows() {
			if row.Series.Failed != "" {
				failed = append(failed, row.Series)
				continue
			}
			for _, c := range row.cells() {
				fmt.Fprintf(t, "  %s\t", c)
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		for _, s := range failed {
			fmt.Fprintf(w, "  %s  failed: %s\n", s.Variant, s.Failed)
		}
	}
	if verdicts := r.Verdicts(); len(verdicts) > 0 {
		fmt.Fprint(w, "\ntargets:\n")
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, v := range verdicts {
			state := "met"
			if !v.Met {
				state = "missed " + v.Off
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", v.Text, v.Limit, v.Value, state)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(r.Missing) > 0 {
		fmt.Fprintln(w, "\nleft out:")
		for _, x := range r.Missing {
			fmt.Fprintf(w, "  %s: %s\n", x.What, x.Why)
		}
	}
	_, err := io.WriteString(out, w.String())
	return err
}
