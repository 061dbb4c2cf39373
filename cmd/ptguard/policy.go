// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
)

// maxPolicy is the size of a policy file above which it is refused unread.
const maxPolicy = 1 << 20

// policyFlags are the rules that a command line can state.
type policyFlags struct {
	sealsFlag `group:"policy"`

	Policy []string `short:"p" placeholder:"FILE" sep:"none" group:"policy" help:"Policy file (repeatable; default $$PTGUARD_POLICY, else none)."`
	Preset []string `placeholder:"NAME" group:"policy" help:"Preset to start from, see ptguard policy list (repeatable; default what the files extend, else permissive)."`
	Mode   string   `placeholder:"MODE" group:"policy" help:"What holds where no rule decides: strict, permissive or open (default that of the preset)."`
	Work   string   `placeholder:"DIR" group:"files" help:"Work folder: readable and writable (default the current directory)."`
	Fence  *string  `placeholder:"DIR" group:"policy" help:"Only DIR, @runtime and what rules name are free, all else asks; an empty DIR is no folder at all (default no fence)."`
	Ask    string   `placeholder:"VIA" group:"policy" help:"Ask where nothing decides, instead of refusing: tty, exec:CMD or unix:PATH (default not to ask; tty with a fence)."`
	Read   []string `placeholder:"P" sep:"none" group:"files" help:"Allow reading P and all beneath (repeatable; default none)."`
	Write  []string `placeholder:"P" sep:"none" group:"files" help:"Allow reading and writing P and all beneath (repeatable; default none)."`
	Deny   []string `placeholder:"P" sep:"none" group:"files" help:"Refuse P and all beneath with EPERM, before every allow (repeatable; default none)."`
	Hide   []string `placeholder:"P" sep:"none" group:"files" help:"Let P and all beneath seem absent (repeatable; default none)."`

	AllowExec []string `placeholder:"G" sep:"none" group:"programs" help:"Only these programs may be executed (repeatable; default all that may be read)."`
	DenyExec  []string `placeholder:"G" sep:"none" group:"programs" help:"Programs that may not be executed, by path, glob or NAME (repeatable; default none)."`
	NoExec    bool     `group:"programs" help:"Nothing may be executed after CMD (default off)."`

	Connect []string `placeholder:"A" sep:"none" group:"network" help:"Allow connecting to A: [tcp|udp] HOST:PORT, unix PATH, unix @NAME, @dns or @tree; the first replaces the preset's list, @preset keeps it (repeatable; default loopback)."`
	Bind    []string `placeholder:"A" sep:"none" group:"network" help:"Allow binding A; the first replaces the preset's list, @preset keeps it (repeatable; default loopback)."`
	DenyNet []string `placeholder:"A" sep:"none" group:"network" help:"Refuse an address, before every allow (repeatable; default none)."`

	Env     []string `placeholder:"NAME[=VALUE]" sep:"none" group:"process" help:"Pass or set a variable (repeatable; default all in permissive, a short list in strict)."`
	KeepEnv bool     `group:"process" help:"Pass the whole environment in strict mode too (default off)."`

	Hardened   bool `group:"policy" xor:"hardened" help:"Refuse rarely used calls, too: NUMA, kcmp, pidfd_getfd and the like (default off; on in strict, hermetic and agent)."`
	NoHardened bool `group:"policy" xor:"hardened" help:"Leave the hardened profile of a preset off (default off)."`
}

func (f *policyFlags) values() rules.FlagValues {
	var hardened *bool
	if f.Hardened || f.NoHardened {
		hardened = &f.Hardened
	}
	return rules.FlagValues{
		Hardened: hardened,
		Mode:     f.Mode, Read: f.Read, Write: f.Write, Deny: f.Deny, Hide: f.Hide,
		AllowExec: f.AllowExec, DenyExec: f.DenyExec, NoExec: f.NoExec,
		Connect: f.Connect, Bind: f.Bind, DenyNet: f.DenyNet, Env: f.Env, KeepEnv: f.KeepEnv,
		Fence: f.Fence, Ask: f.Ask,
	}
}

// words gives the flags as words of a command line, for the trace: with them the same
// policy can be made again. Variables decide nothing and may be secret: they are left out.
func (f *policyFlags) words() []string {
	var out []string
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"--policy", f.files()},
		{"--preset", f.Preset},
		{"--mode", one(f.Mode)},
		{"--work", one(f.Work)},
		{"--read", f.Read},
		{"--write", f.Write},
		{"--deny", f.Deny},
		{"--hide", f.Hide},
		{"--allow-exec", f.AllowExec},
		{"--deny-exec", f.DenyExec},
		{"--connect", f.Connect},
		{"--bind", f.Bind},
		{"--deny-net", f.DenyNet},
		{"--seals", f.Seals},
		{"--ask", one(f.Ask)},
	} {
		for _, v := range list.values {
			out = append(out, list.flag+"="+v)
		}
	}
	if f.Fence != nil {
		out = append(out, "--fence="+*f.Fence)
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"--no-exec", f.NoExec}, {"--hardened", f.Hardened}, {"--no-hardened", f.NoHardened}} {
		if flag.on {
			out = append(out, flag.name)
		}
	}
	return out
}

func one(word string) []string {
	if word == "" {
		return nil
	}
	return []string{word}
}

// files are the policy files: those of -p, else the one of the environment.
func (f *policyFlags) files() []string {
	if named := os.Getenv("PTGUARD_POLICY"); len(f.Policy) == 0 && named != "" {
		return []string{named}
	}
	return f.Policy
}

// sources reads all layers in their order: presets, files, flags. read lists the files
// that were read, which the tree must not change.
func (f *policyFlags) sources() (layers []*rules.Source, read []string, err error) {
	names := f.files()
	var files []*rules.Source
	for _, name := range names {
		read = append(read, name)
		s, err := readPolicy(name)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, s)
	}
	flags, err := rules.FromFlags(f.values())
	if err != nil {
		return nil, nil, err
	}
	layers, err = rules.Layers(f.Preset, files, flags, func(name string) (*rules.Source, error) {
		read = append(read, name)
		return readExtended(name)
	})
	return layers, read, err
}

// readExtended reads a file that another one extends. A name that goes up from a folder is
// replaced by where it leads, so that a file has one name however often it is extended.
func readExtended(name string) (*rules.Source, error) {
	if name != filepath.Clean(name) {
		here, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the current directory: %w", errnoOf(err))
		}
		if o, err := resolve.Canonical(absolute(here, name)); err == nil && o.Errno == 0 && o.Path != "" {
			name = o.Path
		}
	}
	return readPolicy(name)
}

// readPolicy reads one policy file of a sane size: a regular file, a pipe or a device.
func readPolicy(name string) (*rules.Source, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO without a writer is empty, and does not wait
	if err != nil {
		return nil, fmt.Errorf("read policy %s: %w", record.Escape(name), errnoOf(err))
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read policy %s: %w", record.Escape(name), errnoOf(err))
	case info.IsDir():
		return nil, fmt.Errorf("read policy %s: is a directory", record.Escape(name))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxPolicy+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read policy %s: %w", record.Escape(name), errnoOf(err))
	case len(text) > maxPolicy:
		return nil, fmt.Errorf("read policy %s: larger than 1 MiB, which no policy is", record.Escape(name))
	}
	return rules.Read(name, text)
}

// checkCmd is "ptguard check POLICY…".
type checkCmd struct {
	Policy []string `arg:"" placeholder:"POLICY" help:"Policy files to check, each by itself."`
	Work   string   `placeholder:"DIR" help:"Work folder to check against (default the current directory)."`
}

// Run is called by kong. Warnings and errors are the output that was asked for; the status
// is 1 if any file has an error.
func (c *checkCmd) Run() error {
	bad := false
	for _, name := range c.Policy {
		if err := c.check(name); err != nil {
			bad = true
			if _, ok := errors.AsType[*rules.PosError](err); !ok {
				err = fmt.Errorf("%w", err)
			}
			fmt.Println("error: " + visible(err.Error()))
		}
	}
	if bad {
		return &statusError{code: 1}
	}
	return nil
}

func (c *checkCmd) check(name string) error {
	flags := policyFlags{Policy: []string{name}, Work: c.Work}
	layers, _, err := flags.sources()
	if err != nil {
		return err
	}
	m, err := newMachine(layers, c.Work, os.Environ())
	if err != nil {
		return err
	}
	p, scopes, err := rules.CompileScopes(layers, m.bound(), "")
	if err != nil {
		return err
	}
	for _, s := range layers {
		if err := checkTests(s, m); err != nil {
			return err
		}
	}
	warnings := scopes.Warnings(p)
	for _, w := range warnings {
		fmt.Println("warning: " + record.EscapeText(w.Pos+": "+w.Msg))
	}
	for _, lifted := range scopes.Lifted(p) {
		fmt.Println("note: lifts " + record.EscapeText(lifted))
	}
	plural := "s"
	if len(warnings) == 1 {
		plural = ""
	}
	fmt.Printf("%s: ok, mode %s, %d rules, %d warning%s\n", record.Escape(name), p.Mode(), len(p.Lines()), len(warnings), plural)
	return nil
}
