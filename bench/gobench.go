// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"strings"
)

// GoBench writes every run as a line of Go's benchmark format, for benchstat; with
// "benchstat -col /variant FILE" the variants are beside each other.
func (r *Result) GoBench(w io.Writer, force bool) error {
	m := r.Machine
	if _, err := fmt.Fprintf(w, "goos: linux\ngoarch: %s\npkg: ptguard/bench\ncpu: %s\nkernel: %s\nptguard: %s\n", m.Arch, m.CPU, m.Kernel, r.Version); err != nil {
		return err
	}
	if text := r.NotWhole(); text != "" {
		if _, err := fmt.Fprintf(w, "incomplete: %s\n", text); err != nil {
			return err
		}
	}
	for _, l := range r.Loads {
		if l.Noisy() && !force {
			continue
		}
		for _, s := range l.Series {
			for i, ns := range s.NS {
				line := fmt.Sprintf("Benchmark%s/variant=%s %d %.1f ns/op", goName(l.Name), s.Variant, s.Calls, ns)
				if i < len(s.Stops) {
					line += fmt.Sprintf(" %.2f stops/op", s.Stops[i]/float64(s.Calls))
				}
				if i < len(s.CPU) {
					line += fmt.Sprintf(" %.1f tracer-ns/op", s.CPU[i]/float64(s.Calls))
				}
				if _, err := fmt.Fprintln(w, line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// goName is a load's name as Go writes names: open-read-8t is OpenRead8t. A dash and a number
// at the end would be read as GOMAXPROCS.
func goName(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
