// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// tiers are runs with a part of the protection left off: by a flag where there is one, else
// by a build of the source with a tag, which no product has.
func tiers() []*variant {
	out := []*variant{guard("no-backstop", "--backstop off: no Landlock under it", "--backstop", "off")}
	for _, b := range []struct{ tag, text string }{
		{"nostub", "a build without the stub: exit stops instead"},
		{"nomseal", "a build without mseal(2): the filter keeps the window in its place"},
		{"nolandlock", "a build without Landlock"},
		{"far", "a build that leaves a serial tree on the CPU that it is on (tracer/near.go)"},
		{"plain", "a build that checks and lets calls continue: not race-free"},
	} {
		out = append(out, tagged(b.tag, b.text))
	}
	return out
}

func tagged(tag, text string) *variant {
	binary := func(g *ground) string { return filepath.Join(g.root, "own", "ptguard-"+tag) }
	return &variant{
		name: tag, text: text, tracer: true, count: countRecords,
		argv: func(g *ground, l *load, command []string) []string { return guarded(g, l, binary(g), nil, command) },
		prepare: func(g *ground) error {
			source, err := findSource()
			if err != nil {
				return err
			}
			cmd := g.command("go", "build", "-tags", "ptguard_"+tag, "-o", binary(g), "./cmd/ptguard")
			cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
			if text, err := cmd.CombinedOutput(); err != nil {
				return &missingError{fmt.Sprintf("go cannot build it: %v: %.300s", err, text)}
			}
			return nil
		},
	}
}

// findSource gives the folder of ptguard's source: the current one or one above it.
func findSource() (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", &missingError{"no Go toolchain to build it with"}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module ptguard\n")) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", &missingError{"not started in ptguard's source, which it is built from"}
		}
		dir = filepath.Dir(dir)
	}
}
