// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PlainBinary is a ptguard that checks and then continues: what a racer must win against.
func PlainBinary(t testing.TB) string { t.Helper(); return TaggedBinary(t, "ptguard_plain") }

// TaggedBinary is a ptguard that is built with a build tag.
func TaggedBinary(t testing.TB, tag string) string {
	t.Helper()
	return build(t, tag, func(out string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-tags", tag, "-o", out, "./cmd/ptguard")
		cmd.Dir = ModuleRoot()
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		return cmd
	})
}

// Attack compiles testdata/attacks/NAME. A line "// cc: FLAGS" in it gives further flags.
func Attack(t testing.TB, name string) string {
	t.Helper()
	return build(t, "attack-"+strings.TrimSuffix(name, ".c"), func(out string) *exec.Cmd {
		src := filepath.Join(ModuleRoot(), "testdata", "attacks", name)
		args := []string{"-Wall", "-Werror", "-O2", "-pthread", "-o", out, src}
		text, _ := os.ReadFile(src) // gcc says what is wrong with it
		for line := range bytes.Lines(text) {
			if flags, ok := strings.CutPrefix(string(line), "// cc: "); ok {
				args = append(args, strings.Fields(flags)...)
			}
		}
		return exec.Command("gcc", args...)
	})
}
