// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// A mistake of the command line is one sentence in the user's words, and says where to look.
func TestUsageError(t *testing.T) {
	for _, c := range []struct{ args, text, hint string }{
		{"", "which command? usage: ptguard COMMAND …", "see ptguard --help"},
		{"run", "run: which program?", "see ptguard run --help"},
		{"rnu -- x", "unknown command rnu (did you mean run?)", "see ptguard --help"},
		{"make test", "unknown command make; to guard a program: ptguard run -- make", "see ptguard --help"},
		{"dump", "dump: which trace?", "see ptguard dump --help"},
		{"check", "check: which policy?", "see ptguard check --help"},
		{"report", "report: which trace?", "see ptguard report --help"},
		{"report x", "report: where does the page go?", "see ptguard report --help"},
		{"schema", "schema: of what?", "see ptguard schema --help"},
		{"schema polcy", "schema: of what?", "see ptguard schema --help"},
		{"dump --frob x", "unknown flag --frob", "see ptguard dump --help"},
		{"run --timeout 1 x", "--timeout 1: a time has its unit, such as 30s, 5m or 1h30m", "see ptguard run --help"},
		{"run --timeout -5s x", "--timeout -5s: a time has its unit", "see ptguard run --help"},
		{"policy show", "policy show: which one?", "see ptguard policy --help"},
		{"seals", "seals: which command? usage: ptguard seals list|check|explain", "see ptguard seals --help"},
		{"policy", "policy: which command? usage: ptguard policy list|show", "see ptguard policy --help"},
		{"seals explain", "seals explain: which path?", "see ptguard seals --help"},
		{"run --timeout soon x", "--timeout soon: a time has its unit", "see ptguard run --help"},
		{"dump --pid x y", "--pid x: a number is wanted", "see ptguard dump --help"},
		{"run --keep-fd x y", "--keep-fd x: a number is wanted", "see ptguard run --help"},
		{"run --wait= x", "--wait: an empty value", "see ptguard run --help"},
		{"run --timeout= x", "--timeout: an empty value", "see ptguard run --help"},
		{"run --trace-keep= x", "--trace-keep: an empty value", "see ptguard run --help"},
		{"run --wait some x", "--wait must be one of all, leader but got some", "see ptguard run --help"},
	} {
		parser, err := kong.New(&cli{})
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Fields(c.args)
		_, err = parser.Parse(args)
		if err == nil {
			t.Errorf("%q is no mistake", c.args)
			continue
		}
		var got *statusError
		if !errors.As(usageError(err, args), &got) || got.code != exitFailed || got.hint != c.hint || !strings.HasPrefix(got.err.Error(), c.text) || strings.Contains(got.err.Error(), "\n") {
			t.Errorf("%q: %+v", c.args, got)
		}
	}
}

func TestUnknownFlag(t *testing.T) {
	for word, want := range map[string]string{
		"--wirte": "did you mean --write?", "--writes=x": "did you mean --write?", "--conect": "did you mean --connect?", "--rea": "did you mean --read?",
		"--frobnicate": "see ptguard run --help", "-z": "see ptguard run --help",
	} {
		if err := unknownFlag(word, []string{"ptguard", "run", word}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", word, err, want)
		}
	}
	for _, c := range []struct{ command, word, want string }{
		{"learn", "--frm", "did you mean --from?"},
		{"why", "--timeout", "--timeout is a flag of run, which why does not take (see ptguard why --help)"},
		{"why", "--frob", "see ptguard why --help"},
	} {
		if err := unknownFlag(c.word, []string{"ptguard", c.command, c.word}); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.command, c.word, err, c.want)
		}
	}
	if names := runFlagNames(); !slices.Contains(names, "--write") || !slices.Contains(names, "--fail-on-denial") {
		t.Errorf("flags of run: %v", names)
	}
}
