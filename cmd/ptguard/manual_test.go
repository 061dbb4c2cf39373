// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptguard/decode"
	"ptguard/rules"
)

// TestManualIsComplete: the manual names every command, flag of run and guard, and its
// example policy is one.
func TestManualIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/manual.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(text)
	for _, flag := range runFlagNames() {
		if flag != "--help" && !strings.Contains(manual, "`"+flag+"`") && !strings.Contains(manual, "`"+flag+" ") {
			t.Errorf("no flag %s", flag)
		}
	}
	for _, command := range commandNames() {
		if !strings.Contains(manual, "\n    ptguard "+command) {
			t.Errorf("no command %s", command)
		}
	}
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z0-9_, -]+) \| E`).FindAllStringSubmatch(manual, -1) {
		listed = append(listed, strings.Split(row[1], ", ")...)
	}
	for i := range decode.Rows {
		if a := decode.Rows[i].Const; a != nil && a.Guard != "" && !slices.Contains(listed, a.Guard) {
			t.Errorf("no guard %s", a.Guard)
		}
	}
	_, example, _ := strings.Cut(manual, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if _, err := rules.Read("manual.md", []byte(example)); err != nil {
		t.Errorf("the example: %v", err)
	}
}
