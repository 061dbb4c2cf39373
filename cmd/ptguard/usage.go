// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"
	"ptguard/record"
)

// alias are words that people type for a command by custom.
var alias = map[string]string{"--version": "version", "-V": "version", "help": "--help"}

// runUsage is the first line of "ptguard run --help": the parser would put the flags last,
// where they would be the program's.
const runUsage = "ptguard run [flags] [--] CMD [ARG…]"

// usages are the usage lines of the commands whose flags come before their words.
var usages = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"run":   runUsage,
		"why":   "ptguard why [flags] ACCESS OBJECT…  or  ptguard why [flags] TRACE:SEQ",
		"learn": "ptguard learn [flags] [-o FILE] [--] CMD [ARG…]  or  ptguard learn [flags] --from TRACE",
	}
})

// missing says, by command, what is asked for where a word is missing.
var missing = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"check":  "check: which policy? usage: ptguard check [--work DIR] POLICY…",
		"why":    "why: which act? usage: ptguard why [flags] ACCESS OBJECT…, such as: ptguard why read ~/.ssh/id_rsa",
		"replay": "replay: which trace? usage: ptguard replay TRACE --policy P",
		"test":   "test: which policy? usage: ptguard test [--work DIR] POLICY…",
		"dump":   "dump: which trace? usage: ptguard dump [flags] TRACE",
		"report": "report: which trace? usage: ptguard report TRACE -o FILE.html",
		"policy": "policy show: which one? usage: ptguard policy show NAME…, with presets (see ptguard policy list) or policy files",
		"seals":  "seals explain: which path? usage: ptguard seals explain [--seals DIR] PATH…",
		"schema": "schema: of what? usage: ptguard schema policy|record|seals",
	}
})

var errNoProgram = errors.New("run: which program? usage: " + runUsage)

// help prints the parser's help with the usage lines put right.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if node := ctx.Selected(); node != nil && usages()[node.Name] != "" {
		if _, err := fmt.Fprintf(ctx.Stdout, "Usage: %s\n\n%s\n", usages()[node.Name], node.Help); err != nil {
			return err
		}
		options.NoAppSummary, options.Summary = true, false
		var text strings.Builder
		stdout := ctx.Stdout
		ctx.Stdout = &text
		err := kong.DefaultHelpPrinter(options, ctx)
		ctx.Stdout = stdout
		if at := strings.Index(text.String(), "\nArguments:"); err == nil && at >= 0 {
			_, err = fmt.Fprint(stdout, text.String()[at:])
		}
		return err
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// usageError puts a mistake of the command line into a sentence, with where to look.
func usageError(err error, args []string) error {
	command := ""
	if len(args) > 0 && slices.Contains(commandNames(), args[0]) {
		command = args[0]
	}
	text := err.Error()
	switch {
	case len(args) == 0:
		text = "which command? usage: ptguard COMMAND …, with one of " + strings.Join(commandNames(), ", ")
	case command == "run" && strings.HasPrefix(text, "expected \"<cmd>"):
		err = errNoProgram
		text = err.Error()
	case command == "report" && strings.HasPrefix(text, "missing flags") && len(args) > 1:
		text = "report: where does the page go? usage: ptguard report TRACE -o FILE.html"
	case missing()[command] != "" && (strings.HasPrefix(text, "expected \"<") || strings.HasPrefix(text, "missing flags") || strings.Contains(text, "<of>")):
		text = missing()[command]
	case strings.HasPrefix(text, "expected one of \"list\""): // seals and policy by themselves
		text = command + ": which command? usage: ptguard " + command + " " + strings.NewReplacer(`"`, "", ", ", "|").Replace(strings.TrimPrefix(text, "expected one of "))
	case command == "" && !strings.HasPrefix(args[0], "-"):
		text = "unknown command " + record.Escape(args[0])
		if word := nearest(args[0], commandNames()); word != "" {
			text += " (did you mean " + word + "?)"
		} else {
			text += "; to guard a program: ptguard run -- " + record.Escape(args[0])
		}
	case strings.HasSuffix(text, ` but got ""`) || strings.HasSuffix(text, `: invalid duration ""`):
		text = errEmpty(strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == ' ' })[0]).Error()
	case strings.Contains(text, "missing unit in duration"), strings.Contains(text, "expected duration"):
		text = badValue(text) + ": a time has its unit, such as 30s, 5m or 1h30m"
	case strings.Contains(text, "valid 64 bit int"):
		text = badValue(text) + ": a number is wanted"
	case strings.Contains(text, " must be one of ") && strings.Contains(text, " but got "):
		text = strings.ReplaceAll(strings.ReplaceAll(text, `","`, ", "), `"`, "")
	}
	look := "ptguard --help"
	if command != "" {
		look = "ptguard " + command + " --help"
	}
	return &statusError{code: exitFailed, err: errors.New(text), hint: "see " + look}
}

// badValue gives the flag and the value, as typed, of the parser's "FLAG: expected KIND but
// got VALUE…".
func badValue(text string) string {
	flag, rest, _ := strings.Cut(text, ":")
	_, value, _ := strings.Cut(rest, "got ")
	value, _, _ = strings.Cut(value, " (short flag)")
	value, _, _ = strings.Cut(value, ":")
	return flag + " " + strings.Trim(value, `" `)
}

func commandNames() []string {
	model, err := kong.New(&cli{})
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range model.Model.Children {
		if !n.Hidden {
			names = append(names, n.Name)
		}
	}
	return names
}

// runFlagNames are the long flags of run, with their dashes.
func runFlagNames() []string { return flagNames("run") }

// flagNames are the long flags of a command, with their dashes.
func flagNames(command string) []string {
	model, err := kong.New(&cli{})
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range model.Model.Leaves(true) {
		if n.Name == command {
			for _, f := range n.Flags {
				names = append(names, "--"+f.Name)
			}
		}
	}
	return names
}

// nearest is the word that a misspelt one is most likely to be, "" if none is near.
func nearest(word string, words []string) string {
	best, least := "", 1+len(word)/4
	for _, w := range words {
		if d := distance(word, w); d <= least && (best == "" || d < distance(word, best)) {
			best = w
		}
	}
	return best
}

// distance counts the letters to change, leave out, put in or swap.
func distance(a, b string) int {
	row := make([][]int, len(a)+1)
	for i := range row {
		row[i] = make([]int, len(b)+1)
		for j := range row[i] {
			switch {
			case i == 0:
				row[i][j] = j
			case j == 0:
				row[i][j] = i
			default:
				d := row[i-1][j-1]
				if a[i-1] != b[j-1] {
					d++
				}
				d = min(d, row[i-1][j]+1, row[i][j-1]+1)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d = min(d, row[i-2][j-2]+1)
				}
				row[i][j] = d
			}
		}
	}
	return row[len(a)][len(b)]
}
