// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityNames: each test, folder and group of attacks that SECURITY.md calls a witness is
// there.
func TestSecurityNames(t *testing.T) {
	t.Parallel()
	page := text(t, "../../SECURITY.md")
	all, _ := readAttacks(t)
	files, err := filepath.Glob("e2e_*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var tests string
	for _, name := range files {
		tests += text(t, name)
	}
	shown := regexp.MustCompile(`(?m)^\|.*\| ([^|]*) \|$`).FindAllStringSubmatch(page, -1)
	if len(shown) < 15 {
		t.Fatalf("%d rows", len(shown))
	}
	for _, row := range shown {
		for word := range strings.SplitSeq(row[1], ", ") {
			switch {
			case word == "shown by", strings.HasPrefix(word, "tier "):
			case strings.HasPrefix(word, "`Test"):
				if !strings.Contains(tests, "func "+strings.Trim(word, "`")+"(") {
					t.Errorf("no test %s", word)
				}
			case strings.HasPrefix(word, "`"):
				name, _, _ := strings.Cut(strings.Trim(word, "`"), "` ")
				if _, err := os.Stat("../../" + name); err != nil {
					t.Error(err)
				}
			default:
				first, _, _ := strings.Cut(strings.TrimSuffix(word, "*"), "-")
				found := false
				for _, a := range all {
					found = found || a.id == first || strings.HasSuffix(word, "*") && strings.HasPrefix(a.id, first)
				}
				if !found {
					t.Errorf("no attack %q", word)
				}
			}
		}
	}
}
