// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"

	"golang.org/x/sys/unix"

	"ptguard/internal/probe"
)

// doctorCmd is "ptguard doctor": it tries what a run needs and says what is active.
type doctorCmd struct {
	JSON bool `name:"json" help:"One JSON object instead of a table (default off)."`
}

// Run is called by kong. The error is a statusError where no guarded run is possible.
func (c *doctorCmd) Run() error {
	r := examine(probe.All())
	if r.Possible {
		r.guarded(probe.Guarded())
	}
	var err error
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(r)
	} else {
		err = r.write(os.Stdout, wantsColour(os.Stdout))
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return r.status()
}

// exitNoRuns is doctor's own exit status: a required probe failed.
const exitNoRuns = 1

// status is the first required thing that is missing as an error, for later ones often
// follow from it; nil if guarded runs are possible.
func (r report) status() error {
	for _, e := range r.Probes {
		if e.Required && !e.OK {
			return &statusError{code: exitNoRuns, err: fmt.Errorf("no guarded run is possible here: %s", e.Detail), hint: e.Fix}
		}
	}
	return nil
}

// report is the answer of doctor, and its JSON form.
type report struct {
	Version string `json:"version"`
	Kernel  string `json:"kernel"`
	Arch    string `json:"arch"`
	// Possible: every required probe is ok.
	Possible bool `json:"possible"`
	// Tier is what the first record of a guarded run named, which was made to find out; empty
	// if none is possible.
	Tier        string `json:"tier"`
	TierMeaning string `json:"tier_meaning"`
	// SignalScope: Landlock keeps the tree's signals inside the tree.
	SignalScope bool `json:"landlock_signal_scope"`
	// Backstop: Landlock can keep the tree's writes where the policy may allow them.
	Backstop bool          `json:"landlock_write_backstop"`
	Probes   []examination `json:"probes"`
}

// examination is one probe and what it showed.
type examination struct {
	Name     string `json:"name"`
	Use      string `json:"use"`
	Since    string `json:"since,omitempty"` // first kernel, "5.3"
	Required bool   `json:"required"`
	OK       bool   `json:"ok"`
	Detail   string `json:"detail"`
	Fix      string `json:"fix,omitempty"`
}

func examine(probes []probe.Probe) report {
	r := report{
		Version:  version,
		Kernel:   probe.Kernel(),
		Arch:     runtime.GOARCH,
		Possible: true,
	}
	for _, p := range probes {
		got := p.Try()
		r.Probes = append(r.Probes, examination{p.Name, p.Use, p.Since, p.Required, got.OK, got.Detail, got.Fix})
		if p.Required && !got.OK {
			r.Possible = false
		}
		switch p.Name {
		case "landlock-signal":
			r.SignalScope = got.OK
		case "landlock-files":
			r.Backstop = got.OK
		}
	}
	return r
}

// guarded notes what a guarded run showed. Only if there was none is no run possible; what
// else it finds wrong leaves less protection, and the tier says so.
func (r *report) guarded(tier string, got probe.Result) {
	r.Probes = append(r.Probes, examination{
		"guarded-run", "a program looks from inside whether all of it holds: skip, rewrite, window, listener", "", tier == "", got.OK, got.Detail, got.Fix,
	})
	r.Tier, r.TierMeaning = tier, meaningOf(tier)
	r.Possible = r.Possible && tier != ""
}

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// write prints the report for people.
func (r report) write(w io.Writer, colour bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "ptguard %s on Linux %s, %s\n\n", r.Version, r.Kernel, r.Arch)

	// The escape sequences would count as width, so the states are painted afterwards.
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, e := range r.Probes {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", e.state(), e.Name, e.kernel(), e.Use)
	}
	_ = t.Flush()
	for i, line := range strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n") {
		e := r.Probes[i]
		b.WriteString("  " + e.paint(line, colour) + "\n")
		if !e.OK {
			b.WriteString("      " + probe.Result{Detail: e.Detail, Fix: e.Fix}.Sentence() + "\n")
		}
	}

	b.WriteString("\nactive in a run:\n")
	if r.Possible {
		fmt.Fprintf(&b, "  %s: %s\n", r.Tier, r.TierMeaning)
		if r.SignalScope {
			b.WriteString("  Landlock signal scope: the tree can signal nothing outside itself\n")
		} else {
			b.WriteString("  no Landlock signal scope: the tree can signal other processes of its user\n")
		}
		if r.Backstop {
			b.WriteString("  Landlock write backstop: the tree itself can write only where the policy may allow it\n")
		} else {
			b.WriteString("  no Landlock write backstop: ptguard alone keeps writes out\n")
		}
		b.WriteString("\nguarded runs are possible\n")
	} else {
		b.WriteString("  nothing: no guarded run is possible here\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e examination) state() string {
	switch {
	case e.OK:
		return "ok"
	case e.Required:
		return "missing"
	}
	return "missing (not needed)"
}

func (e examination) kernel() string {
	if e.Since == "" {
		return "any"
	}
	return e.Since + "+"
}

// paint colours the state at the beginning of line.
func (e examination) paint(line string, colour bool) string {
	if !colour {
		return line
	}
	c := yellow
	switch {
	case e.OK:
		c = green
	case e.Required:
		c = red
	}
	return c + e.state() + plain + strings.TrimPrefix(line, e.state())
}

// wantsColour: only on a terminal, and not against NO_COLOR or a dumb one.
func wantsColour(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
