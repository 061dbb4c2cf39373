// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/landlock"
	"ptguard/internal/stack"
	"ptguard/record"
	"ptguard/rules"
)

// Config is one run.
type Config struct {
	Path        string   // the program, found and checked by the caller; as the program sees it
	Argv, Env   []string // argv[0] included
	KeepFDs     []int    // inherited descriptors from 3 on that stay open
	AllowSetuid bool     // leave no_new_privs off
	AllowRaces  bool     // run although arguments in memory cannot be protected
	WaitLeader  bool     // kill what remains when the program has exited
	Timeout     time.Duration
	TimeoutName string // what asked for it, for the message
	Dir         string // the program's first current directory; empty: ptguard's
	NewSession  bool   // start the program in a session of its own, without a terminal
	Backstop    string // BackstopAuto, BackstopRequire or BackstopOff

	// Audit: what the policy refuses is recorded and carried out. The guards hold.
	Audit bool

	// Policy holds in no scope; Scopes are nil if there are none. Scope is the one that the
	// program is started in, "" for none.
	Policy *rules.Policy
	Asking Asking
	Scopes *rules.Scopes
	Scope  string
	Sink   *record.Sink
	Live   *record.Live

	// OnStart is called on the tracer thread when everything is set up, before the program
	// runs.
	OnStart func(Tier)
}

// Tier is the protection that is really active.
type Tier struct {
	Name string
	// Sealed: mseal(2) keeps the window in its place; else the filter does.
	Sealed bool
	// Stub: a reissued call ends without a second stop.
	Stub bool
	// Scoped: Landlock keeps signals and /proc inside the tree.
	Scoped bool
	// Backstop is what Landlock refuses the tree outside of what the policy lets it change,
	// 0 if there is no backstop; NoBackstop says why.
	Backstop   landlock.Access
	NoBackstop string
}

// errListener: what a run would protect is not what was promised, so it does not begin.
var errListener = errors.New("another seccomp listener is active (a container manager's that intercepts system calls?), " +
	"and the kernel lets a process have but one: a program's threads could change arguments between ptguard's look and the kernel's; " +
	"run ptguard outside it, have it switched off, or accept that with --allow-races")

// protection names what keeps arguments from changing after the decision.
const (
	protection      = "race-free"
	plainProtection = "check-then-continue"
)

// Stats count what a run cost.
type Stats struct{ Stops, Decisions, Denials uint64 }

// Result is how a run ended.
type Result struct {
	Status   unix.WaitStatus // of the program itself
	TimedOut bool
	Over     *Limit // the limit of memory or cpu time that ended the tree, nil if none did
	Stats    Stats
}

// ExecError says that the program itself could not be executed (exit status 126 or 127).
type ExecError struct {
	Path  string
	Errno unix.Errno
}

func (e *ExecError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Errno) }

// Unwrap gives the errno.
func (e *ExecError) Unwrap() error { return e.Errno }

// Run launches the program and sees its tree through to the end, on an OS thread of its own.
// An error means that ptguard failed: nothing ran, or the tree was killed.
func Run(cfg *Config) (result Result, err error) {
	over := make(chan struct{})
	if runtime.GOMAXPROCS(0) == 1 {
		// On one CPU Go's monitor thread takes the only P away from each wait4 that lasts 20 us, and
		// never comes to rest: a sixth of what a stop costs there.
		runtime.GOMAXPROCS(2)
	}
	go func() {
		stack.Grow()
		runtime.LockOSThread() // for good: the thread ends up in a domain of its own
		result, err = run(cfg)
		close(over)
		select {} // ptguard is about to exit; a thread that ends first costs two that take its place
	}()
	<-over
	return result, err
}

func run(cfg *Config) (result Result, err error) {
	found := <-takeAhead(cfg)
	if found.err != nil {
		return result, found.err
	}
	// A child that we were started with (a shell's, before it executed us) is not of the tree.
	_, err = unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
	children := !errors.Is(err, unix.ECHILD)
	l := &loop{children: children, cfg: cfg, tasks: map[int]*task{}, scopes: map[scopeKey]*scope{}, tracer: unix.Gettid()}
	l.facts, l.resolve = found.facts, found.resolve
	if found.tried {
		l.trial = func() string { return found.trial }
	}
	classes := found.classes
	if copy(l.classes[:], classes) < len(classes) {
		return result, fmt.Errorf("bug: system call number %d is beyond the table", len(classes)-1)
	}
	for nr, class := range classes {
		if len(class.Rows) > 0 && class.Rows[len(class.Rows)-1].Special == decode.Affinity {
			l.affinity = append(l.affinity, uint32(nr))
		}
	}
	l.limits = cfg.Policy.Limits()
	needs := cfg.Scopes.Needs(cfg.Policy.Needs())
	l.facts.files = needs.Made
	near = newNearness()
	l.tier.Scoped = canScope()
	l.policy = l.filterPolicy(needs)
	// It takes as long to make as all that comes before it is loaded.
	filter := make(chan madeFilter, 1)
	go func(p decode.Policy) {
		program, err := runFilter(p)
		filter <- madeFilter{program, err}
	}(l.policy)
	domain, err := l.domain()
	if err != nil {
		return result, err
	}
	l.ipc = map[ipcObject]madeIPC{}
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &l.core); err != nil {
		return result, fmt.Errorf("read the limit on core dumps: %w", err)
	}
	l.sealsMove = cfg.Policy.Seals().Movable() || needs.Moves
	if domain, err = l.enterBackstop(domain); err != nil {
		return result, err
	}
	c, err := launch(cfg, l.policy.Cores, domain)
	if err != nil {
		return result, err
	}
	l.stage, l.cmd = c, c.pid
	if l.own, err = readCredentials(unix.Gettid()); err != nil {
		c.abandon()
		return result, err
	}
	l.rightsDiffer = cfg.AllowSetuid
	// What the tree makes gets the tree's umask, applied by hand (perform.go).
	unix.Umask(0)
	l.listener, l.carriers = &listener{fd: -1, gifts: map[int]gift{}}, newCarriers()
	signals, err := catchSignals()
	if err != nil {
		c.abandon()
		return result, err
	}
	// signals is closed by our end, which is near: its reader would have to be waited for.
	if err := c.seize(<-filter); err != nil {
		return result, err
	}
	return l.see(c, signals)
}

// see runs the loop to its end and turns a panic into a dead tree and an error.
func (l *loop) see(c *stage, signals *os.File) (result Result, err error) {
	defer func() {
		if bug := recover(); bug != nil {
			l.killTree()
			_ = unix.Kill(c.pid, unix.SIGKILL)
			err = fmt.Errorf("the tree was killed: %v\n%s", bug, debug.Stack())
		}
	}()
	first := &task{tid: c.pid, slot: -1, scope: l.startIn(l.cfg.Scope), proc: &process{pid: c.pid, core: l.core}}
	first.enter(&space{})
	l.book(first)
	go l.forwardSignals(signals)
	if l.cfg.Timeout > 0 {
		limit := time.AfterFunc(l.cfg.Timeout, func() {
			l.postNow(func() {
				result.TimedOut = true
				l.cfg.Live.Note("killed after " + l.cfg.Timeout.String() + " (" + l.cfg.TimeoutName + ")")
				l.killTree()
			})
		})
		defer limit.Stop()
	}
	done := make(chan struct{})
	if l.limits.Memory != 0 || l.limits.CPU != 0 {
		go l.watchLimits(l.limits, done)
	}
	defer l.endAsking()
	for _, g := range l.cfg.Asking.Kept {
		l.asking.grants.Add(g)
	}
	stopWatch := l.watch()
	l.run()
	stopWatch()
	close(done)
	if counting {
		writeCounts()
	}
	result.Status, result.Stats, result.Over = l.status, l.stats, l.over
	if l.failed != nil {
		return result, l.failed
	}
	if !l.started && !result.TimedOut {
		return result, l.startError(c)
	}
	return result, nil
}

// begin runs at the first stop of the filter, the program's exec about to be judged: what
// protects the run is known.
func (l *loop) begin() {
	if l.begun {
		return
	}
	l.begun = true
	if l.listener.fd = l.stage.listener(); l.listener.fd >= 0 {
		l.listener.near()
		go l.listener.serve()
	}
	tier := l.tier
	tier.Name = protection
	tier.Sealed, tier.Stub = !l.policy.Guard, hasStub
	if plain {
		tier.Name = plainProtection
		l.cfg.Live.Warn(plainWarning)
	}
	if l.listener.fd < 0 {
		if !l.cfg.AllowRaces {
			l.failed = errListener
			l.killTree()
			return
		}
		tier.Name = plainProtection
		l.cfg.Live.Warn("another seccomp listener is active: arguments in memory are not protected against the program's own threads (--allow-races)")
	}
	if l.cfg.OnStart != nil {
		l.cfg.OnStart(tier)
	}
}

// closeMemory runs when the program has been executed and has not run yet. The stage, which
// had to be traced and shared our memory, is gone from it: from now on nobody without
// privileges may look into us or take our descriptors (techniques K18).
func (l *loop) closeMemory() {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		panic("make ptguard non-dumpable: " + err.Error())
	}
	l.stage.free()
}

// startError tells why the program never came to run.
func (l *loop) startError(c *stage) error {
	err := c.failure()
	var stage *stageError
	if errors.As(err, &stage) && stage.Exec {
		return &ExecError{Path: l.cfg.Path, Errno: stage.Errno}
	}
	return err
}

// noteRemaining says, a second after the program has exited, who still runs.
func (l *loop) noteRemaining() {
	time.AfterFunc(time.Second, func() {
		l.post(func() {
			if text := l.remaining(); text != "" {
				l.cfg.Live.Note("waiting for " + text + "; Ctrl-C ends them")
			}
		})
	})
}

func (l *loop) remaining() string {
	first, n := 0, 0
	for _, t := range l.tasks {
		if t.tid != t.proc.pid {
			continue
		}
		if n++; first == 0 || t.tid < first {
			first = t.tid
		}
	}
	if n == 0 {
		return ""
	}
	_, comm, _, _ := identity(first, first)
	text := comm + "[" + strconv.Itoa(first) + "]"
	if n > 1 {
		text += " (+" + strconv.Itoa(n-1) + ")"
	}
	return text
}

// filterPolicy is what the run's filter is compiled from; near and l.tier.Scoped are set.
func (l *loop) filterPolicy(needs rules.Needs) decode.Policy {
	p := filterNeeds(needs, l.tier.Scoped)
	p.Guard = !canSeal()
	p.Scopes = l.cfg.Scopes != nil
	p.Cores = p.Rules && coresAreFiles()
	p.Near = near != nil
	return p
}

// Filter gives the seccomp program that a run of cfg would load, for those who measure what
// it costs by itself. Nothing is run.
func Filter(cfg *Config) ([]unix.SockFilter, error) {
	l := &loop{cfg: cfg}
	l.tier.Scoped = canScope()
	return runFilter(l.filterPolicy(cfg.Scopes.Needs(cfg.Policy.Needs())))
}

// madeFilter is what runFilter gave.
type madeFilter struct {
	program []unix.SockFilter
	err     error
}

// runFilter compiles the filter of a run.
func runFilter(p decode.Policy) ([]unix.SockFilter, error) {
	program, err := compileFilter(native, p, true)
	if err != nil {
		return nil, err
	}
	return assemble(program)
}

// filterNeeds says what the filter must send to us. Reading may run untraced only if no
// rule can refuse a read and Landlock keeps /proc of outsiders closed; a holder of
// CAP_SYS_ADMIN or CAP_PERFMON gets past Landlock there (mm_access), so for root it may not.
func filterNeeds(n rules.Needs, scoped bool) decode.Policy {
	guarded := scoped && os.Geteuid() != 0
	return decode.Policy{
		Reads:   n.Reads || n.DeviceReads || n.GuardReads && !guarded,
		ExecMap: n.ExecMap,
		Blind:   !capSysPtrace(),
		Looks:   n.Looks,
		Lists:   n.Lists,
		Rules:   n.Writes,

		Hardened: n.Hardened, Forks: n.Forks,
		NoUnix:    !slices.Contains(n.Families, "unix"),
		NoInet:    !slices.Contains(n.Families, "inet"),
		NoInet6:   !slices.Contains(n.Families, "inet6"),
		NoNetlink: !slices.Contains(n.Families, "netlink-route"),
		Seals:     n.Seals,
		Copies:    n.Copies,
		Strict:    n.Strict,
	}
}
