// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The reader without the parser knows these tags: another one has a meaning for the parser that
// it would miss.
func TestQuickRunKnowsTheTags(t *testing.T) {
	known := []string{"arg", "default", "enum", "env", "group", "help", "name", "passthrough", "placeholder", "sep", "short", "xor"}
	key := regexp.MustCompile(`([a-z]+):"(?:[^"\\]|\\.)*"`)
	var look func(s reflect.Type)
	look = func(s reflect.Type) {
		for field := range s.Fields() {
			if field.Anonymous {
				look(field.Type)
				continue
			}
			for _, m := range key.FindAllStringSubmatch(string(field.Tag), -1) {
				if !slices.Contains(known, m[1]) {
					t.Errorf("%s: quickRun does not know the tag %s", field.Name, m[1])
				}
			}
		}
	}
	look(reflect.TypeFor[runCmd]())
}

// What is read without the parser must be what the parser reads, and be nothing that it
// refuses. Each flag of run is tried in every form, with good and bad values.
func TestQuickRun(t *testing.T) {
	t.Setenv("PTGUARD_LOG", "") // and put back at the end
	if _, ok := quickRun([]string{"run", "true"}); ok {
		t.Error("a flag that the environment sets is not left to the parser")
	}
	if err := os.Unsetenv("PTGUARD_LOG"); err != nil {
		t.Fatal(err)
	}

	exit := -1
	model, err := newParser(new(cli), &exit)
	if err != nil {
		t.Fatal(err)
	}
	lines := [][]string{
		{"run"},
		{"run", "--"},
		{"run", ""},
		{"run", "--", ""},
		{"run", "true"},
		{"run", "--", "true"},
		{"run", "--", "--"},
		{"run", "-"},
		{"run", "--", "--trace"},
		{"run", "true", "--", "-q"},
		{"run", "sh", "-c", "a=b", "--trace", "x"},
		{"run", "-qv", "true"},
		{"run", "-h"},
		{"run", "--help"},
		{"run", "-q", "--help"},
		{"run", "--no-such", "true"},
		{"run", "-q"},
		{"run", "-q", "--", "\xff\xfe"},
		{"run", "--trace", "\xff", "true"},
		{"run", "--write", "\xff", "true"},
		{"run", "-q", "-v", "true"},
		{"run", "--quiet", "--quiet", "true"},
		{"run", "-pfile", "true"},
		{"run", "-p=file", "true"},
		{"run", "--version", "true"},
		{"version"},
		{},
		{"run", "--policy", "a,b", "--policy", `c\d`, "x"},
		{"run", "--preset", "a,b", "x"},
		{"run", "--preset", `a\,b`, "x"},
		{"run", "--preset", "a", "--preset=b", "x"},
	}
	quick := 0
	var flags []string
	for _, node := range model.Model.Children {
		if node.Name != "run" {
			continue
		}
		for _, f := range node.Flags {
			names := []string{"--" + f.Name}
			if f.Short != 0 {
				names = append(names, "-"+string(f.Short))
			}
			flags = append(flags, names...)
			for _, name := range names {
				for _, value := range []string{"x", "", "a=b", "-", "all", "none", "a,b"} {
					lines = append(lines, []string{"run", name, value, "cmd", "arg"}, []string{"run", name + "=" + value, "cmd"}, []string{"run", name, value},
						[]string{"run", name, value, "--", "cmd"}, []string{"run", name, value, name, "y", "cmd"}, []string{"run", "-q", name + value, "cmd"})
				}
			}
		}
	}
	// And lines that are put together by chance, the same each time: flags repeated, cut short,
	// with and without values, before and after -- and the program.
	chance := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	pick := func(words []string) string { return words[chance.IntN(len(words))] }
	values := []string{"x", "y/z", "all", "auto", "strict", "a,b", `a\,b`, "a=b", "", " ", "-", "--", "-x", "5", "é", "\xff", "true", "false"}
	for range 1500 {
		line := []string{"run"}
		for range 1 + chance.IntN(4) {
			flag := pick(flags)
			switch chance.IntN(8) {
			case 0:
				line = append(line, flag)
			case 1, 2:
				line = append(line, flag+"="+pick(values))
			case 3:
				line = append(line, flag[:min(len(flag), 2+chance.IntN(len(flag)))], pick(values))
			case 4:
				line = append(line, pick([]string{"-q", "-v", "--quiet", "--audit", "--keep-env"}))
			default:
				line = append(line, flag, pick(values))
			}
		}
		line = append(line, pick([]string{"--", "cmd", "-", pick(flags)}))
		for range chance.IntN(3) {
			line = append(line, pick(append(values, flags...)))
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		got, ok := quickRun(line)
		if !ok {
			continue
		}
		quick++
		var c cli
		parser, err := newParser(&c, &exit)
		if err != nil {
			t.Fatal(err)
		}
		ctx, _, err := parse(parser, slices.Clone(line), &exit)
		if err != nil || ctx == nil || ctx.Command() != "run <cmd>" {
			t.Errorf("%q: read, but the parser says %v", line, err)
			continue
		}
		if len(got.Command) == len(c.Run.Command) { // the number is all that is used: see commandOf
			got.Command = c.Run.Command
		}
		if !reflect.DeepEqual(*got, c.Run) {
			t.Errorf("%q:\n   read %+v\n parser %+v", line, *got, c.Run)
		}
	}
	// The usual ones must not go by the parser, or it is all for nothing.
	for _, line := range []string{
		"run true", "run -- true", "run -q -- true", "run -p f.yaml -- true", "run --preset strict -- true", "run --trace t.jsonl --trace-level all -- true",
		"run --mode=strict --write out --backstop off make -j2",
	} {
		if _, ok := quickRun(strings.Fields(line)); !ok {
			t.Errorf("%s: left to the parser", line)
		}
	}
	if quick < 200 {
		t.Errorf("only %d of %d lines were read: this compares too little", quick, len(lines))
	}
}
