// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"
	"ptguard/internal/ask"
	"ptguard/internal/landlock"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
	"ptguard/seals"
	"ptguard/tracer"
)

// runGroups are the headings of "ptguard run --help".
var runGroups = []kong.Group{
	{Key: "policy", Title: "Policy:"},
	{Key: "files", Title: "Files:"},
	{Key: "programs", Title: "Programs:"},
	{Key: "network", Title: "Network:"},
	{Key: "records", Title: "Records:"},
	{Key: "process", Title: "Process:"},
}

// runCmd is "ptguard run [flags] [--] CMD [ARG…]".
type runCmd struct {
	policyFlags

	Scope          string        `placeholder:"NAME" group:"policy" help:"Start CMD in this scope of the policy; none only turns scopes on (default none, and off if the policy has no scopes)."`
	KeepFD         []int         `name:"keep-fd" placeholder:"N" group:"process" help:"Leave inherited descriptor N open (repeatable; default only 0, 1 and 2)."`
	Timeout        time.Duration `placeholder:"D" group:"process" help:"Kill the tree after this time, such as 90s or 5m, and exit 124 (default none)."`
	Wait           string        `enum:"all,leader" default:"all" group:"process" help:"Wait for the whole tree, or kill what remains when CMD ends: all or leader (default ${default})."`
	AllowRaces     bool          `group:"process" help:"Run although another seccomp listener, a container manager's, leaves arguments in memory open to races (default off: exit status 125)."`
	AllowSetuid    bool          `group:"process" help:"Let set-uid programs work, when run as root (default off: no_new_privs)."`
	NewSession     bool          `group:"process" help:"Start CMD in a session of its own, without a terminal (default off)."`
	DieWithParent  bool          `group:"process" help:"Kill the tree when the program that started ptguard ends (default off)."`
	StartInScratch bool          `group:"process" help:"Start CMD in a temp folder of its own, removed at the end; the work folder stays what it is (default off)."`
	Backstop       string        `enum:"auto,require,off" default:"auto" group:"process" help:"Have Landlock refuse writing outside of what the policy lets the tree change, below ptguard: auto (where it can be had), require (else exit 125) or off (default ${default})."`
	FailOnDenial   bool          `group:"process" help:"Exit 120 where it would be 0 if anything was refused (default off)."`
	Audit          bool          `name:"audit" group:"policy" help:"Refuse nothing: record what would be refused. The guards hold (default off)."`

	Trace      string   `placeholder:"FILE|fd:N|unix:PATH|-" group:"records" help:"Write the trace there, for ptguard dump; - is standard error (default none)."`
	TraceSize  byteSize `placeholder:"SIZE" group:"records" help:"Begin a new file when the trace would exceed this size, such as 64M; the old one becomes FILE.1 (default no limit)."`
	TraceKeep  *int     `placeholder:"N" group:"records" help:"How many old files of the trace are kept with --trace-size, FILE.1 to FILE.N (default 5)."`
	TraceLevel string   `enum:"denials,decisions,all" default:"denials" group:"records" help:"What goes into the trace: denials, decisions or all (default ${default})."`
	Log        string   `placeholder:"FILE|fd:N|none" env:"PTGUARD_LOG" group:"records" help:"Where the live lines go (default standard error)."`
	Verbose    bool     `short:"v" group:"records" help:"Tell more at the start: variables that are not passed on, the temp folder (default off)."`
	Quiet      bool     `short:"q" group:"records" help:"No live lines, no summary (default off)."`

	Command []string `arg:"" passthrough:"" placeholder:"CMD" name:"cmd" help:"Program to run and its arguments."`
}

// Run is called by kong. It gives a *statusError, or does not return where the program
// died by a signal.
func (c *runCmd) Run() error {
	begin := time.Now()
	_, _ = resolve.New() // opens what all resolvers share, so that none waits for another to do it
	go foresee()
	tracer.Begin(&tracer.Config{AllowSetuid: c.AllowSetuid, Audit: c.Audit, Backstop: c.Backstop})
	command, err := commandOf(os.Args, len(c.Command))
	if err != nil {
		return err
	}
	if c.AllowSetuid && os.Geteuid() != 0 {
		return errors.New("--allow-setuid: only root can leave no_new_privs off; a filter of an unprivileged user needs it")
	}
	g, err := c.prepare(command)
	if err != nil {
		return err
	}
	defer func() { _ = g.log.Close() }() // nothing is left to tell anybody
	if c.Audit {
		g.live.Warn("AUDIT: nothing is enforced; what the policy would refuse is recorded and carried out")
	}
	for _, w := range g.warnings {
		g.live.Warn(w)
	}
	if c.DieWithParent {
		if err := dieWithParent(); err != nil {
			g.scratch.remove(g.live, nil)
			return err
		}
	}
	result, err := tracer.Run(&g.config)
	code, signal := c.outcome(result, err)
	g.scratch.remove(g.live, g.policy.Seals())
	g.finish(begin, result, code, signal)
	switch {
	case err != nil:
		return explain(err)
	case signal != 0:
		code = die(signal)
	}
	return &statusError{code: code}
}

// commandOf takes CMD and its arguments off the end of the command line, byte for byte:
// the parser knows how many words they are, and would not keep bytes that are no UTF-8. It
// also takes a misspelt flag for CMD, unless -- came before.
func commandOf(args []string, n int) ([]string, error) {
	at := len(args) - n
	command := args[at:]
	if n > 0 && command[0] == "--" {
		command = command[1:]
	} else if n > 0 && strings.HasPrefix(command[0], "-") && args[at-1] != "--" {
		return nil, unknownFlag(command[0], args)
	}
	if len(command) == 0 {
		return nil, errNoProgram
	}
	return command, nil
}

// unknownFlag is the error for a misspelt flag, or for one of run before the words of
// another command.
func unknownFlag(word string, args []string) error {
	command := "run"
	if len(args) > 1 && slices.Contains(commandNames(), args[1]) {
		command = args[1]
	}
	name, _, _ := strings.Cut(word, "=")
	likely := nearest(name, flagNames(command))
	switch {
	case likely != "":
		return fmt.Errorf("unknown flag %s (did you mean %s? a program of that name goes after --)", record.Escape(word), likely)
	case slices.Contains(flagNames("run"), name):
		return fmt.Errorf("%s is a flag of run, which %s does not take (see ptguard %s --help)", name, command, command)
	}
	return fmt.Errorf("unknown flag %s (see ptguard %s --help; a program of that name goes after --)", record.Escape(word), command)
}

// guarded is a run that is ready to start.
type guarded struct {
	config   tracer.Config
	policy   *rules.Policy
	machine  *machine
	sink     *record.Sink
	log      *record.Log
	live     *record.Live
	command  []string
	seals    []*seals.File
	scopes   *rules.Scopes
	warnings []string
	flags    []string // the policy's part of the command line
	audit    bool
	parts    []string // names that the trace will get when it is rotated
	scratch  *scratch // nil if the run has no temp folder of its own
}

// prepare does everything that can fail before anything runs.
func (c *runCmd) prepare(command []string) (_ *guarded, err error) {
	if c.Audit {
		c.KeepEnv = true // what is missing there could make the program fail
	}
	layers, files, err := c.sources()
	if err != nil {
		return nil, err
	}
	if c.Timeout < 0 {
		return nil, fmt.Errorf("--timeout %s: a time is not negative (0 is none)", c.Timeout)
	}
	work := c.workFolder(layers)
	m, err := newMachine(layers, work, os.Environ())
	if err != nil && work != c.Work {
		return nil, fmt.Errorf("--fence: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if c.TraceKeep != nil && c.TraceSize == 0 {
		return nil, fmt.Errorf("--trace-keep %d: a trace has old files only with --trace-size, such as --trace-size 64M", *c.TraceKeep)
	}
	for _, fd := range c.KeepFD {
		if err := c.mayKeep(fd); err != nil {
			return nil, fmt.Errorf("--keep-fd %d: %w", fd, err)
		}
	}
	g := &guarded{machine: m, command: command, warnings: m.warnings, flags: c.words(), audit: c.Audit}
	if rules.PrivateTmp(layers) || c.StartInScratch {
		if g.scratch, err = newScratch(m.facts.Cwd); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				g.scratch.remove(nil, nil)
			}
		}()
		if rules.PrivateTmp(layers) {
			m.facts.Tmp = nil
		}
		m.facts.Tmp, m.facts.PrivateTmp = append(m.facts.Tmp, g.scratch.dir), g.scratch.dir
	}
	if err := g.openRecords(c); err != nil {
		return nil, err
	}
	if g.seals, err = c.sealed(layers, m, &files); err != nil {
		return nil, err
	}
	g.warnings = append(g.warnings, placeless(g.seals)...)
	if err := m.protect(slices.Concat(files, g.records(), approvalsFile())); err != nil {
		return nil, err
	}
	if g.policy, g.scopes, err = m.bind(layers, command[0], c.Scope); err != nil {
		return nil, err
	}
	asking, more, err := c.asking(g.policy.Asking(), append([]string{m.facts.Work}, m.facts.Tmp...))
	if err != nil {
		return nil, err
	}
	if len(more) > 0 {
		if err := m.protect(more); err != nil {
			return nil, err
		}
		if g.policy, g.scopes, err = m.bind(layers, command[0], c.Scope); err != nil {
			return nil, err
		}
	}
	if err := boundBlindly(); err != nil {
		return nil, err
	}
	if t, ok := asking.Asker.(*ask.Terminal); ok {
		if err := t.Reachable(nil); err != nil {
			g.warnings = append(g.warnings, "what would be asked is refused: "+err.Error())
		}
	}
	for _, w := range g.scopes.Warnings(g.policy) {
		g.warnings = append(g.warnings, w.Pos+": "+w.Msg)
	}
	env := g.scratch.environ(g.policy.Env(os.Environ()), c.StartInScratch)
	if c.Verbose {
		g.tellEnv(env)
	}
	path, err := findProgram(command[0], env)
	if err != nil {
		return nil, err
	}
	g.config = tracer.Config{
		Path: path, Argv: command, Env: env, KeepFDs: c.KeepFD, AllowSetuid: c.AllowSetuid, AllowRaces: c.AllowRaces,
		WaitLeader: c.Wait == "leader", NewSession: c.NewSession, Backstop: c.Backstop,
		Policy: g.policy, Scopes: g.scopes, Scope: c.Scope, Asking: asking, Sink: g.sink, Live: g.live, Audit: c.Audit,
		OnStart: g.started,
	}
	if c.StartInScratch {
		g.config.Dir = g.scratch.dir
	}
	g.config.Timeout, g.config.TimeoutName = c.Timeout, "--timeout"
	if wall := g.policy.Limits().Wall; wall > 0 && (c.Timeout == 0 || wall < c.Timeout) {
		g.config.Timeout, g.config.TimeoutName = wall, "limits.wall"
	}
	return g, nil
}

// mayKeep tells whether a descriptor is one that ptguard was started with, and not one of the
// records'.
func (c *runCmd) mayKeep(fd int) error {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	switch {
	case err != nil:
		return err
	case flags&unix.FD_CLOEXEC != 0: // no exec has left it: it is ptguard's own
		return unix.EBADF
	}
	for _, to := range []string{c.Trace, c.Log} {
		if n, ok := record.Descriptor(to); ok && n == fd && fd > 2 {
			return errors.New("records go there, and the command could write its own")
		}
	}
	return nil
}

// sealed reads the seals of the run and adds their files to those that the tree must not
// change.
func (c *runCmd) sealed(layers []*rules.Source, m *machine, protected *[]string) ([]*seals.File, error) {
	files, places, err := loadSeals(c.Seals)
	if err != nil {
		return nil, err
	}
	*protected = append(*protected, places...)
	m.facts.Seals = bindSeals(files, m.facts)
	if len(files) == 0 {
		return nil, nil
	}
	return files, outOfReach(layers, m, c.Scope, files)
}

// openRecords opens the trace and the log before the program starts.
func (g *guarded) openRecords(c *runCmd) (err error) {
	if c.Quiet {
		c.Log = "none"
	}
	if g.log, err = record.OpenLog(c.Log); err != nil {
		return err
	}
	trace := c.Trace
	if trace == "none" {
		trace = ""
	}
	g.live = record.NewLive(g.log, record.LiveOptions{Colour: g.log.Colour(), Trace: trace, Audit: c.Audit})
	if trace == "" {
		trace = "none"
	}
	level, err := record.ParseLevel(c.TraceLevel)
	if err != nil {
		return err
	}
	keep := tracesKept
	if c.TraceKeep != nil {
		keep = *c.TraceKeep
	}
	g.sink, err = record.Open(trace, record.SinkOptions{Run: runID(), Level: level, Warn: g.live.Warn, MaxSize: int64(c.TraceSize), Keep: keep})
	if err != nil {
		return err
	}
	if path, _, _, ok := g.sink.File(); ok && c.TraceSize > 0 {
		for i := range keep {
			g.parts = append(g.parts, record.PartName(path, i+1))
		}
	}
	return nil
}

// tracesKept is the default of --trace-keep.
const tracesKept = 5

// runID is that of crypto/rand.Text, without the generator that its first use sets up.
func runID() string {
	var id [12]byte
	if n, err := unix.Getrandom(id[:], 0); err != nil || n < len(id) {
		return strings.ToLower(rand.Text()[:12])
	}
	for i := range id {
		id[i] = "abcdefghijklmnopqrstuvwxyz234567"[id[i]%32]
	}
	return string(id[:])
}

// records lists the files of the trace and the log, which the tree must not change.
func (g *guarded) records() []string {
	out := slices.Clone(g.parts)
	for _, file := range []func() (string, uint64, uint64, bool){g.sink.File, g.log.File} {
		if path, _, _, ok := file(); ok {
			out = append(out, path)
		}
	}
	return out
}

// started writes the first record, which names what is really active.
func (g *guarded) started(t tracer.Tier) {
	g.machine.lookups.forget()
	if !g.sink.Wants(record.KindStart) {
		return // the digests alone take half a millisecond
	}
	tier := tierText(t)
	start := &record.Start{
		Version: version, PolicyDigest: g.policy.Digest(), Tier: tier, Kernel: kernelRelease(),
		Command: g.command, Work: g.machine.facts.Work, Mode: g.policy.Mode(), Lifted: g.scopes.Lifted(g.policy),
		Cwd: g.machine.facts.Cwd, Flags: g.flags, Tmp: g.machine.facts.PrivateTmp, Audit: g.audit,
		SealDigests: sealDigests(g.seals), Scopes: scopeDigests(g.scopes), Scope: g.config.Scope,
	}
	if a := g.policy.Asking(); a.On {
		start.Ask = a.Via
		if start.Fence = a.Fence; a.Fenced && a.Fence == "" {
			start.Fence = "''"
		}
	}
	for _, kept := range g.config.Asking.Kept {
		start.Grants = append(start.Grants, kept.String())
	}
	g.sink.Put(&record.Record{Kind: record.KindStart, PID: os.Getpid(), Start: start}, nil)
}

// tierText names the protection of a run in the start record.
func tierText(t tracer.Tier) string {
	text := t.Name
	if !t.Sealed {
		text += ", range guard instead of mseal"
	}
	if !t.Stub {
		text += ", exit stops instead of the stub"
	}
	if t.Scoped {
		text += ", Landlock signal scope"
	}
	switch {
	case t.NoBackstop == "off":
		return text + ", Landlock write backstop off"
	case t.NoBackstop != "":
		return text + ", no Landlock write backstop (" + t.NoBackstop + ")"
	case t.Backstop != landlock.Changes:
		return text + ", Landlock write backstop without truncate (before Linux 6.2)"
	}
	return text + ", Landlock write backstop"
}

// finish writes the last record and the summary.
func (g *guarded) finish(begin time.Time, result tracer.Result, code int, signal unix.Signal) {
	wall := time.Since(begin)
	end := &record.End{Status: code, Stops: result.Stats.Stops, Decisions: result.Stats.Decisions, WallMS: wall.Milliseconds()}
	if signal != 0 {
		end.Signal = unix.SignalName(signal)
	}
	var own, tree unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &own)
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &tree)
	end.OwnCPUMS, end.TreeCPUMS = cpu(&own), cpu(&tree)
	if err := g.sink.Close(&record.Record{Kind: record.KindEnd, PID: os.Getpid(), End: end}); err != nil {
		g.live.Warn("close the trace: " + err.Error())
	}
	g.live.Summary(wall, g.sink.Stats().Lost)
	g.live.Flush(2 * time.Second)
}

func cpu(u *unix.Rusage) int64 {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Milliseconds()
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// outcome turns the end of a run into an exit status, or the signal to die of.
func (c *runCmd) outcome(result tracer.Result, err error) (code int, signal unix.Signal) {
	switch {
	case err != nil:
		return explain(err).code, 0
	case result.Over != nil:
		return exitFailed, 0
	case result.TimedOut:
		return exitTimeout, 0
	case result.Status.Signaled():
		return 128 + int(result.Status.Signal()), result.Status.Signal()
	}
	code = result.Status.ExitStatus()
	if code == 0 && c.FailOnDenial && result.Stats.Denials > 0 {
		code = exitDenied
	}
	return code, 0
}

// explain gives a failed start its exit status and, where one is known, what to do.
func explain(err error) *statusError {
	if exec, ok := errors.AsType[*tracer.ExecError](err); ok {
		code := exitCannotRun
		if exec.Errno == unix.ENOENT {
			code = exitNotFound
		}
		return &statusError{code: code, err: err}
	}
	if _, ok := errors.AsType[*tracer.RefusedError](err); ok {
		return &statusError{code: exitFailed, err: err, hint: "ptguard doctor shows what this machine can do"}
	}
	return &statusError{code: exitFailed, err: err}
}
