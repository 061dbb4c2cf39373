// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"ptguard/record"
	"ptguard/rules"
)

// schemaCmd is "ptguard schema policy|record".
type schemaCmd struct {
	Of string `arg:"" enum:"policy,record" help:"policy: a policy file; record: one line of a trace."`
}

// Run is called by kong.
func (c *schemaCmd) Run() error {
	var text []byte
	var err error
	switch c.Of {
	case "policy":
		text, err = rules.Schema()
	case "record":
		text, err = record.Schema()
	}
	if err != nil {
		return err
	}
	if _, err := os.Stdout.Write(text); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
