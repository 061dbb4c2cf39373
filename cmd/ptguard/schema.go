// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"ptguard/record"
	"ptguard/rules"
	"ptguard/seals"
)

// schemaCmd is "ptguard schema policy|record|seals".
type schemaCmd struct {
	Of string `arg:"" enum:"policy,record,seals" help:"policy: a policy file; record: one line of a trace; seals: a seal file."`
}

// Run is called by kong.
func (c *schemaCmd) Run() error {
	var text []byte
	var err error
	switch c.Of {
	case "policy":
		text, err = rules.Schema()
	case "seals":
		text, err = seals.Schema()
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
