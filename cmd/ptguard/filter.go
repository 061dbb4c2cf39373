// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"ptguard/record"
	"ptguard/tracer"
)

// filterCmd is the hidden "ptguard filter --out FILE [flags of run] -- CMD": it writes the
// seccomp program of such a run and runs nothing. The harness measures with it what the filter
// costs by itself, and gives the C floor the same stops.
type filterCmd struct {
	runCmd

	Out string `required:"" placeholder:"FILE" help:"Where the program goes: struct sock_filter, in the machine's byte order."`
}

// Run is called by kong.
func (c *filterCmd) Run() error {
	command, err := commandOf(os.Args, len(c.Command))
	if err != nil {
		return err
	}
	g, err := c.prepare(command)
	if err != nil {
		return err
	}
	defer func() { _ = g.log.Close() }() // nothing was written
	defer g.scratch.remove(g.live, nil)
	filter, err := tracer.Filter(&g.config)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := binary.Write(&out, binary.NativeEndian, filter); err != nil {
		return err
	}
	if err := os.WriteFile(c.Out, out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", record.Escape(c.Out), err)
	}
	return nil
}
