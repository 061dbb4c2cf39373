// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
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

// exitUnmeasured is bench's own exit status: something was measured and means too little to be
// told, or was begun and failed.
const exitUnmeasured = 1

// Run is called by kong.
func (c *benchCmd) Run() error {
	presets := rules.Presets()
	if c.List {
		return listLoads(os.Stdout, presets)
	}
	if err := c.writable(); err != nil {
		return err
	}
	result, err := c.result(presets)
	var end endedBy
	if err != nil && !errors.As(err, &end) {
		return err
	}
	err = c.write(result)
	if end != 0 {
		_ = fail(errors.Join(errors.New(result.NotWhole()), err))
		return &statusError{code: die(syscall.Signal(end))}
	}
	if err != nil {
		return err
	}
	var wrong []error
	if text := result.NotWhole(); text != "" {
		wrong = append(wrong, errors.New(text))
	}
	hint := "the report says why"
	if noisy := result.Noisy(); len(noisy) > 0 && !c.Force {
		wrong = append(wrong, fmt.Errorf("bare runs varied too much, by more than %.0f %% between the quartiles: nothing is reported of %s",
			100*bench.NoiseLimit, strings.Join(noisy, ", ")))
		hint = "measure on an idle machine, or show them with --force"
	}
	if len(wrong) > 0 {
		return &statusError{code: exitUnmeasured, err: errors.Join(wrong...), hint: hint}
	}
	return nil
}

// endedBy is a signal that ended the measurement.
type endedBy syscall.Signal

func (e endedBy) Error() string { return "interrupted by " + unix.SignalName(syscall.Signal(e)) }

// untilSignal is a context that ends with the first signal that asks for an end. Later ones
// have no effect until stop.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan os.Signal, 1)
	for _, sig := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(sig) { // as nohup(1) has it
			signal.Notify(got, sig)
		}
	}
	go func() {
		select {
		case sig := <-got:
			cancel(endedBy(sig.(syscall.Signal))) //nolint:forcetypeassert // on Linux all are
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(got); cancel(nil) }
}

// result measures, or reads what was measured. The error is an endedBy where the measurement
// was ended, and then what was finished is there too.
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
	ctx, stop := untilSignal()
	defer stop()
	if p := newProgress(os.Stderr); !c.Quiet && p != nil {
		o.Progress = p.tell
		defer p.clear()
	}
	return bench.Run(ctx, o)
}

// writable looks whether the files can be written, before a quarter of an hour is spent.
func (c *benchCmd) writable() error {
	for _, name := range []string{c.JSON, c.Gobench, c.HTML} {
		if name == "" || name == "-" {
			continue
		}
		err := unix.Access(name, unix.W_OK)
		if errors.Is(err, unix.ENOENT) {
			err = unix.Access(filepath.Dir(name), unix.W_OK|unix.X_OK)
		}
		if err != nil {
			return outputError(name, err)
		}
	}
	return nil
}

// write gives the result in each form that was asked for; the table goes to standard output
// unless another form does.
func (c *benchCmd) write(r *bench.Result) error {
	table, failed := true, error(nil)
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
		failed = errors.Join(failed, writeTo(form.to, form.write))
	}
	if !table {
		return failed
	}
	return errors.Join(failed, r.Table(os.Stdout, c.Force))
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
