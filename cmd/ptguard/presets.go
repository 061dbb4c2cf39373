// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"ptguard/record"
	"ptguard/rules"
)

// policyCmd is "ptguard policy list|show NAME".
type policyCmd struct {
	List policyListCmd `cmd:"" help:"List the presets."`
	Show policyShowCmd `cmd:"" help:"Show a preset or policy file as it holds here, each line with its origin."`
}

// policyListCmd is "ptguard policy list".
type policyListCmd struct{}

// Run is called by kong.
func (c *policyListCmd) Run() error {
	var out bytes.Buffer
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, name := range rules.Presets() {
		what, err := rules.PresetAbout(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(t, "%s\t%s\n", name, what)
	}
	_ = t.Flush() // into memory
	_, err := os.Stdout.Write(out.Bytes())
	return err
}

// policyShowCmd is "ptguard policy show NAME".
type policyShowCmd struct {
	Name []string `arg:"" placeholder:"NAME" help:"Presets and policy files, stacked as run stacks them."`
	Work string   `placeholder:"DIR" help:"Work folder (default the current directory)."`
	JSON bool     `name:"json" help:"One JSON object a line instead of a table (default off)."`
}

// Run is called by kong.
func (c *policyShowCmd) Run() error {
	flags := policyFlags{Work: c.Work}
	for _, name := range c.Name {
		if strings.ContainsAny(name, "/.") {
			flags.Policy = append(flags.Policy, name)
		} else {
			flags.Preset = append(flags.Preset, name)
		}
	}
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
	var out bytes.Buffer
	if c.JSON {
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		show := func(scope string, lines []rules.Line) {
			for _, l := range lines {
				line := map[string]any{"rule": l.Verb, "text": l.Text, "paths": l.Paths, "access": l.Access.Names(), "origin": l.Origin, "layer": l.Layer}
				if l.Reason != "" {
					line["reason"] = l.Reason
				}
				if scope != "" {
					line["scope"] = scope
				}
				_ = enc.Encode(line) // into memory
			}
		}
		show("", p.Lines())
		for _, name := range scopes.Names() {
			show(name, append(scopes.Named(name).EnteredBy(), scopes.Named(name).Added(p)...))
		}
	} else {
		for _, s := range p.Settings() {
			fmt.Fprintf(&out, "%s: %s\n", s.Name, record.EscapeText(s.Value))
		}
		table(&out, p.Lines())
		for _, name := range scopes.Names() {
			sc := scopes.Named(name)
			if name == rules.ScopeUser {
				fmt.Fprintf(&out, "\nscope %s, mode %s: of the above only what refuses holds, and:\n", name, sc.Policy.Mode())
			} else {
				fmt.Fprintf(&out, "\nscope %s, mode %s: all of the above, and:\n", name, sc.Policy.Mode())
			}
			table(&out, append(sc.EnteredBy(), sc.Added(p)...))
		}
	}
	_, err = os.Stdout.Write(out.Bytes())
	return err
}

// table shows rules, one a line.
func table(w io.Writer, lines []rules.Line) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nRULE\tWHAT\tACCESS\tORIGIN\tHERE")
	for _, l := range lines {
		here := strings.Join(l.Paths, " ")
		if here == l.Text {
			here = ""
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", l.Verb, record.Escape(l.Text), l.Access, record.Escape(l.Origin), record.Escape(here))
	}
	_ = t.Flush() // into memory
}
