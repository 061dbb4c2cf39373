// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"
	"golang.org/x/sys/unix"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
)

// learnCmd is "ptguard learn [flags] [-o FILE] -- CMD" and "ptguard learn --from TRACE".
type learnCmd struct {
	policyFlags
	From    string `placeholder:"TRACE" group:"records" help:"Learn from this trace instead of running anything."`
	Out     string `short:"o" placeholder:"FILE" group:"policy" help:"Write the policy there; one that exists is added to (default standard output)."`
	Enforce bool   `group:"policy" help:"Keep the policy in force while recording (default off: nothing is refused but by guards)."`

	Command []string `arg:"" optional:"" passthrough:"" placeholder:"CMD" name:"cmd" help:"Program to run and its arguments."`
}

// Run is called by kong. The status is that of CMD, or 125.
func (c *learnCmd) Run() error {
	if c.Out != "" {
		if _, err := os.Stat(c.Out); err == nil && len(c.Policy) == 0 {
			c.Policy = []string{c.Out} // what it grants already need not be asked for again
		}
	}
	out, err := c.target()
	if err != nil {
		return err
	}
	trace, status := c.From, 0
	switch {
	case c.From != "" && len(c.Command) > 0:
		return errors.New("learn: either --from TRACE or a program to run, not both")
	case c.From == "" && len(c.Command) == 0:
		return errors.New("learn: which program? usage: ptguard learn [flags] [-o FILE] -- CMD [ARG…], or --from TRACE")
	case c.From == "":
		command, err := commandOf(os.Args, len(c.Command))
		if err != nil {
			return err
		}
		if err := c.writable(); err != nil {
			return err
		}
		file, err := namelessFile()
		if err != nil {
			return err
		}
		defer file.Close()
		trace = "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
		if status, err = c.record(file, command); err != nil {
			return err
		}
	}
	if err := c.propose(trace, out); err != nil {
		return err
	}
	if status != 0 {
		return &statusError{code: status}
	}
	return nil
}

// target is the file of -o as it is at one moment; the zero value is none.
type target struct {
	name string // absolute
	path string // where it leads, canonical
	text string // "" if it is not there
}

// target looks at the file of -o.
func (c *learnCmd) target() (t target, err error) {
	if c.Out == "" {
		return t, nil
	}
	here, err := os.Getwd()
	if err != nil {
		return t, fmt.Errorf("find the current directory: %w", errnoOf(err))
	}
	return targetAt(absolute(here, c.Out))
}

func targetAt(name string) (target, error) {
	fail := func(err error) (target, error) {
		return target{}, fmt.Errorf("write policy %s: %w", record.Escape(name), errnoOf(err))
	}
	o, err := resolve.Canonical(name)
	switch {
	case err != nil:
		return fail(err)
	case o.Exists && o.Stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return fail(errors.New("not a regular file"))
	}
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fail(err)
	}
	return target{name, o.Path, string(text)}, nil
}

// writable tells, before CMD runs, whether the policy can be written where it should go.
func (c *learnCmd) writable() error {
	if c.Out == "" {
		return nil
	}
	name := c.Out
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if err := unix.Access(filepath.Dir(name), unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("write policy %s: %w", record.Escape(c.Out), err)
	}
	return nil
}

// namelessFile is for a trace that only this process and the ptguard it starts can get at, and
// that the summary of that one names to nobody: it is not there any more when people read it.
func namelessFile() (*os.File, error) {
	file, err := os.CreateTemp("", "ptguard-learn-")
	if err != nil {
		return nil, fmt.Errorf("make a file for the trace: %w", errnoOf(err))
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("take away the name of the trace: %w", errnoOf(err))
	}
	return file, nil
}

// record runs CMD in a ptguard of its own and gives its status. The signals of the terminal
// reach both; what they mean is for CMD to say.
func (c *learnCmd) record(trace *os.File, command []string) (status int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find ptguard itself: %w", err)
	}
	args := []string{"run", "--trace", "fd:3", "--trace-level", "decisions"}
	if c.Enforce {
		fmt.Fprintln(os.Stderr, "ptguard: learning, with the policy in force")
	} else {
		args = append(args, "--audit", "--quiet")
		fmt.Fprintln(os.Stderr, "ptguard: learning: what the policy would refuse is recorded and carried out")
	}
	for _, v := range c.Env {
		args = append(args, "--env="+v)
	}
	if c.KeepEnv {
		args = append(args, "--keep-env")
	}
	cmd := exec.Command(self, append(append(append(args, c.words()...), "--"), command...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{trace} // 3, which CMD does not inherit
	signal.Ignore(unix.SIGINT, unix.SIGQUIT)
	defer signal.Reset(unix.SIGINT, unix.SIGQUIT)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, fmt.Errorf("run ptguard: %w", err)
	}
	ws, _ := exit.Sys().(unix.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	if status = exit.ExitCode(); status == exitFailed || status == exitNotFound || status == exitCannotRun {
		if info, err := trace.Stat(); err != nil || info.Size() == 0 {
			return 0, &statusError{code: status} // it has said why
		}
	}
	return status, nil
}

// propose reads the trace, makes the proposal, checks it, and writes it to out, which is as it
// was before CMD ran: what CMD made of it is nothing that a person stated.
func (c *learnCmd) propose(trace string, out target) error {
	records, err := decisionsOf(trace)
	if err != nil {
		return err
	}
	var start *record.Record
	for i := range records {
		if records[i].Kind == record.KindStart {
			start = &records[i]
		}
	}
	q, err := c.policyOf(start, trace, "")
	if err != nil {
		return err
	}
	otherBase := c.From != "" && c.given() // adopt gives
	if !c.given() && start != nil {
		if err := c.adopt(start.Start); err != nil {
			return err
		}
	}
	l := newLesson(q)
	l.otherBase = otherBase
	for i := range records {
		l.hear(&records[i])
	}
	additions := l.grants()
	text, err := c.write(out.text, start, additions)
	if err != nil {
		return err
	}
	if err := l.check(c.name(), text); err != nil {
		return err
	}
	// Paths of the policy are as typed; the trace of another folder has changed folder.
	changed := false
	if out.name != "" {
		now, err := targetAt(out.name)
		changed = err != nil || now != out
	}
	switch {
	case out.name == "" || changed:
		if _, err := io.WriteString(os.Stdout, text); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	default:
		if err := replaceFile(out.name, text); err != nil {
			return err
		}
	}
	if err := l.report(os.Stderr, out.name != "" && !changed, c.Out, text != out.text); err != nil || !changed {
		return err
	}
	return fmt.Errorf("write policy %s: it was changed while the command ran, and is left as it is; the proposal is on standard output", record.Escape(c.Out))
}

// adopt takes over what a proposal from a trace builds on: the presets, the mode and the
// policy files of that run.
func (c *learnCmd) adopt(s *record.Start) error {
	var run policyFlags
	if err := run.parse(s.Flags); err != nil {
		return err
	}
	c.Preset, c.Mode = run.Preset, run.Mode
	for _, file := range run.Policy {
		if !filepath.IsAbs(file) {
			file = record.Unescape(s.Cwd) + "/" + file
		}
		c.Policy = append(c.Policy, file)
	}
	return nil
}

func (c *learnCmd) name() string {
	if c.Out == "" {
		return "proposal"
	}
	return c.Out
}

// write makes the text: the old policy with additions, or a new one.
func (c *learnCmd) write(old string, start *record.Record, additions []addition) (string, error) {
	if old != "" {
		return mergePolicy(c.Out, old, additions)
	}
	var b strings.Builder
	b.WriteString(rules.SchemaLine + "\n")
	if start != nil && start.Start != nil {
		// As in the trace: secrets are masked.
		fmt.Fprintf(&b, "# Proposed by ptguard learn from: %s\n", record.EscapeText(shellquote.Join(start.Start.Command...)))
	}
	b.WriteString("ptguard: 1\n")
	extends := append([]string{}, c.Preset...)
	for _, file := range c.files() {
		if !filepath.IsAbs(file) && !strings.HasPrefix(file, "./") && !strings.HasPrefix(file, "../") {
			file = "./" + file
		}
		extends = append(extends, file)
	}
	if len(extends) > 0 {
		words := make([]string, len(extends))
		for i, e := range extends {
			words[i] = yamlWord(e)
		}
		fmt.Fprintf(&b, "extends: [%s]\n", strings.Join(words, ", "))
	}
	if c.Mode != "" {
		fmt.Fprintf(&b, "mode: %s\n", c.Mode)
	}
	section := ""
	for _, a := range additions {
		if a.section != section {
			section = a.section
			b.WriteString(section + ":\n")
		}
		fmt.Fprintf(&b, "  %s:\n", a.list)
		tier := ""
		for _, item := range a.items {
			if item.tier != tier {
				tier = item.tier
				if tier != "" {
					fmt.Fprintf(&b, "    # %s\n", tier)
				}
			}
			b.WriteString("    - " + item.text + "\n")
		}
	}
	return b.String(), nil
}

// replaceFile writes a policy so that a reader sees the old or the new one whole.
func replaceFile(name, text string) error {
	mode := os.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
		if info, err := os.Stat(name); err == nil {
			mode = info.Mode().Perm()
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".ptguard-learn-*")
	if err != nil {
		return fmt.Errorf("write policy %s: %w", record.Escape(name), errnoOf(err))
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the error that led here is the one to tell
		return fmt.Errorf("write policy %s: %w", record.Escape(name), errnoOf(err))
	}
	return nil
}
