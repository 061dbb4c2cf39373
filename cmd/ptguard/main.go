// SPDX-License-Identifier: Apache-2.0

// Command ptguard runs a program of any language under a guard that sees, and can refuse,
// each file, program and address that its process tree touches.
//
// Rules of this package: nothing is written to standard output but what a command was
// asked for; every line to standard error begins with "ptguard:"; errors are lower case
// without a full stop and say what to do; the exit codes are those of exit.go.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"ptguard/bench"
	"ptguard/internal/probe"
	"ptguard/record"
)

type cli struct {
	Run     runCmd     `cmd:"" help:"Run CMD guarded."`
	Check   checkCmd   `cmd:"" help:"Check policy files: errors, and rules that can never fire."`
	Policy  policyCmd  `cmd:"" help:"List the presets, or show what one says here."`
	Seals   sealsCmd   `cmd:"" help:"Show and check the organisation's seals, which no policy opens."`
	Dump    dumpCmd    `cmd:"" help:"Show a denial trace."`
	Why     whyCmd     `cmd:"" help:"Ask what a policy says of one act, and why."`
	Learn   learnCmd   `cmd:"" help:"Propose a policy from what a program asks for."`
	Replay  replayCmd  `cmd:"" help:"Ask another policy what a trace's run asked."`
	Test    testCmd    `cmd:"" help:"Run the test table of policy files."`
	Doctor  doctorCmd  `cmd:"" help:"Show what this machine can do, tried for real."`
	Grants  grantsCmd  `cmd:"" help:"Show or take back the answers that were kept with always."`
	Events  eventsCmd  `cmd:"" help:"List every system call: its audit event, what it needs, how it is judged."`
	Report  reportCmd  `cmd:"" help:"Make one HTML page of a trace, to look at."`
	Schema  schemaCmd  `cmd:"" help:"Print the JSON Schema of policy files, seal files or records."`
	Bench   benchCmd   `cmd:"" help:"Measure what guarding costs here, against bare runs and peers."`
	Filter  filterCmd  `cmd:"" hidden:"" help:"Write the seccomp program of a run, for ptguard bench."`
	Version versionCmd `cmd:"" help:"Show the version."`
}

func main() {
	probe.ChildMain(os.Args)
	if code, ours := bench.ProgramMain(os.Args); ours {
		os.Exit(code)
	}
	os.Exit(run(os.Args[1:]))
}

// run parses the command line, runs the command and gives the exit status.
func run(args []string) int {
	if c, ok := quickRun(args); ok {
		return ended(c.Run())
	}
	var c cli
	exit := -1
	if len(args) > 0 && alias[args[0]] != "" {
		args = append([]string{alias[args[0]]}, args[1:]...)
	}
	if len(args) == 1 && args[0] == "version" {
		return ended(new(versionCmd).Run()) // nothing that needs the parser
	}
	parser, err := newParser(&c, &exit)
	if err != nil {
		return fail(err)
	}
	ctx, code, err := parse(parser, args, &exit)
	switch {
	case ctx == nil && err == nil:
		return code // --help
	case err != nil:
		return fail(usageError(err, args))
	}
	return ended(ctx.Run())
}

func newParser(c *cli, exit *int) (*kong.Kong, error) {
	parser, err := kong.New(c,
		kong.Name("ptguard"),
		kong.Description("An audit hook for any program: run it guarded, see and refuse what its whole process tree touches.\n\nTo begin: ptguard run -- CMD"),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: false, WrapUpperBound: 100}),
		kong.ExplicitGroups(runGroups),
		kong.Help(help),
		kong.Exit(func(code int) { *exit = code; panic(exitNow{}) }),
	)
	if err == nil && parser.Model.HelpFlag != nil {
		parser.Model.HelpFlag.Help = "Show this help."
	}
	return parser, err
}

// ended gives the exit status of a command that has run.
func ended(err error) int {
	if err != nil {
		return fail(err)
	}
	return 0
}

// exitNow unwinds kong's --help, which wants to exit where it stands.
type exitNow struct{}

func parse(parser *kong.Kong, args []string, exit *int) (ctx *kong.Context, code int, err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exitNow); !ok {
				panic(r)
			}
			ctx, code, err = nil, *exit, nil
		}
	}()
	ctx, err = parser.Parse(args)
	if err == nil {
		err = emptyValue(ctx)
	}
	return ctx, 0, err
}

// emptyValue refuses an empty text as the value of a flag: it would be as if the flag were not
// there, or a name of nothing, and comes from a variable of a script that is not set. Where it
// means something, the flag's type is a pointer.
func emptyValue(ctx *kong.Context) error {
	for _, p := range ctx.Path {
		if p.Flag == nil {
			continue
		}
		empty := false
		switch v := p.Flag.Target.Interface().(type) {
		case string:
			empty = v == ""
		case []string:
			empty = len(v) == 0 || slices.Contains(v, "")
		default:
			empty = p.Flag.Target.Kind() == reflect.Slice && p.Flag.Target.Len() == 0
		}
		if empty {
			return errEmpty("--" + p.Flag.Name)
		}
	}
	return nil
}

func errEmpty(flag string) error {
	return errors.New(flag + ": an empty value (leave the flag out for its default)")
}

// fail prints an error, with each of its lines marked as ours, and gives the status it asks for.
func fail(err error) int {
	var status *statusError
	if errors.As(err, &status) {
		if status.err == nil {
			return status.code
		}
		err = status.err
	}
	text := strings.ReplaceAll(visible(strings.TrimRight(err.Error(), "\n")), "\n", "\nptguard:   ")
	fmt.Fprintf(os.Stderr, "ptguard: error: %s\n", text)
	if status != nil {
		if status.hint != "" {
			fmt.Fprintf(os.Stderr, "ptguard: hint: %s\n", record.EscapeText(status.hint))
		}
		return status.code
	}
	return exitFailed
}

// visible makes text of several lines safe on a terminal: the names of files in it can hold
// anything.
func visible(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = record.EscapeText(lines[i])
	}
	return strings.Join(lines, "\n")
}
