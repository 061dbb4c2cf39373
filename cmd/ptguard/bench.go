// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"

	"golang.org/x/sys/unix"

	"ptguard/bench"
	"ptguard/record"
	"ptguard/rules"
)

// benchCmd is "ptguard bench": what guarding costs here.
type benchCmd struct {
	Quick bool `xor:"plan" help:"The short plan, under a minute (default unless --full)."`
	Full  bool `xor:"plan" help:"Everything: all loads, presets, tiers and peers; about a quarter of an hour (default off)."`
	List  bool `help:"Name the loads and variants there are, and measure nothing (default off)."`

	Load    []string `placeholder:"NAME,…" help:"Only these loads; patterns, and start, micro and whole for a kind, work too (repeatable; default those of the plan)."`
	Variant []string `placeholder:"NAME,…" help:"Only these variants, and bare; NAME@0 is kept to cpu 0 (repeatable; default those of the plan)."`
	Rounds  int      `placeholder:"N" help:"How often each load runs in each variant (default the plan's, 3 to 9)."`
	CPUs    string   `name:"cpus" placeholder:"LIST" help:"Keep everything, tracer and tree alike, to these cpus, such as 0 or 0-1 (default all)."`

	From    string `placeholder:"FILE" help:"Measure nothing: show what --json wrote (default none)."`
	JSON    string `name:"json" placeholder:"FILE" help:"Write everything that was measured there; - is standard output (default none)."`
	Gobench string `name:"gobench" placeholder:"FILE" help:"Write Go benchmark text there, for benchstat; - is standard output (default none)."`
	HTML    string `name:"html" placeholder:"FILE" help:"Write a page with plots there; - is standard output (default none)."`
	Force   bool   `help:"Show figures, marked, also where bare runs vary too much (default off: they are left out, exit status 1)."`
	Quiet   bool   `short:"q" help:"Do not tell what is being measured (default off)."`
}

// exitNoisy is bench's own exit status: what was measured means too little to be told.
const exitNoisy = 1

// Run is called by kong.
func (c *benchCmd) Run() error {
	presets := rules.Presets()
	if c.List {
		return listLoads(os.Stdout, presets)
	}
	result, err := c.result(presets)
	if err != nil {
		return err
	}
	if err := c.write(result); err != nil {
		return err
	}
	if noisy := result.Noisy(); len(noisy) > 0 && !c.Force {
		return &statusError{
			code: exitNoisy,
			err: fmt.Errorf("bare runs varied too much, by more than %.0f %% between the quartiles: nothing is reported of %s",
				100*bench.NoiseLimit, strings.Join(noisy, ", ")),
			hint: "measure on an idle machine, or show them with --force",
		}
	}
	return nil
}

// result measures, or reads what was measured.
func (c *benchCmd) result(presets []string) (*bench.Result, error) {
	if c.From != "" {
		f, err := os.Open(c.From)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		defer f.Close()
		r, err := bench.Read(f)
		if err != nil {
			return nil, fmt.Errorf("--from %s: %w", record.Escape(c.From), err)
		}
		return r, nil
	}
	if c.Rounds < 0 {
		return nil, fmt.Errorf("--rounds %d: at least 1 (0 is the plan's)", c.Rounds)
	}
	o := &bench.Options{
		Version: version, Presets: presets, Quick: c.Quick, Full: c.Full, Loads: c.Load, Variants: c.Variant, Rounds: c.Rounds,
	}
	o.Quick = o.Quick || !c.Full && len(c.Load) == 0
	var err error
	if c.CPUs != "" {
		if o.CPUs, err = bench.ParseCPUs(c.CPUs); err != nil {
			return nil, fmt.Errorf("--cpus: %w", err)
		}
	}
	if o.Self, err = os.Executable(); err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	if p := newProgress(os.Stderr); !c.Quiet && p != nil {
		o.Progress = p.tell
		defer p.clear()
	}
	r, err := bench.Run(ctx, o)
	if errors.Is(err, context.Canceled) {
		return nil, errors.New("bench: interrupted; nothing is reported")
	}
	return r, err
}

// write gives the result in each form that was asked for; the table goes to standard output
// unless another form does.
func (c *benchCmd) write(r *bench.Result) error {
	table := true
	for _, form := range []struct {
		to    string
		write func(io.Writer) error
	}{
		{c.JSON, r.Write},
		{c.Gobench, func(w io.Writer) error { return r.GoBench(w, c.Force) }},
		{c.HTML, func(w io.Writer) error { return r.HTML(w, c.Force) }},
	} {
		switch form.to {
		case "":
			continue
		case "-":
			table = false
		}
		if err := writeTo(form.to, form.write); err != nil {
			return err
		}
	}
	if !table {
		return nil
	}
	return r.Table(os.Stdout, c.Force)
}

// writeTo writes a file, or standard output for "-".
func writeTo(name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(os.Stdout)
	}
	f, err := os.Create(name)
	if err != nil {
		return outputError(name, err)
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return outputError(name, err)
	}
	return nil
}

func listLoads(w io.Writer, presets []string) error {
	loads, variants := bench.List(presets)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "loads:")
	for _, l := range loads {
		fmt.Fprintf(t, "  %s\t%s\n", l.Name, l.Text)
	}
	fmt.Fprintln(t, "\t\nvariants:")
	for _, v := range variants {
		fmt.Fprintf(t, "  %s\t%s\n", v.Name, v.Text)
	}
	return t.Flush()
}

// progress is one line on a terminal that changes.
type progress struct{ f *os.File }

// newProgress is nil if f is no terminal.
func newProgress(f *os.File) *progress {
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return &progress{f}
}

func (p *progress) tell(text string) { fmt.Fprintf(p.f, "\r\x1b[Kptguard: %s", text) }
func (p *progress) clear()           { fmt.Fprint(p.f, "\r\x1b[K") }
