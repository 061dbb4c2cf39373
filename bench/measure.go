// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runLimit ends a run that hangs.
const runLimit = 2 * time.Minute

// sample is what one run showed.
type sample struct {
	ns         float64 // a call
	stops, cpu float64 // -1: not known
	peak       int64   // KiB, 0 if not watched
	word       string  // what the load's check said
	wall       time.Duration
}

// meter makes the runs. All are started from one thread, whose cpus the runs inherit.
type meter struct {
	g    *ground
	cpus unix.CPUSet // where the harness itself may run
}

func newMeter(g *ground) (*meter, error) {
	m := &meter{g: g}
	runtime.LockOSThread()
	if err := unix.SchedGetaffinity(0, &m.cpus); err != nil {
		return nil, fmt.Errorf("read the cpus of the harness: %w", err)
	}
	return m, nil
}

func (m *meter) pin(cpus []int) error {
	set := m.cpus
	if cpus != nil {
		set.Zero()
		for _, c := range cpus {
			set.Set(c)
		}
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run on cpus %v: %w", cpus, err)
	}
	return nil
}

// run runs the load once in a variant. watch has the tracer's memory looked at meanwhile,
// which costs a little: not in runs that count.
func (m *meter) run(ctx context.Context, l *load, v *variant, calls int, watch bool) (s sample, err error) {
	g := m.g
	if l.before != nil {
		if err := l.before(g, calls); err != nil {
			return s, fmt.Errorf("lay out %s: %w", l.name, err)
		}
	}
	if err := m.pin(v.cpus); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, m.pin(nil)) }()
	out, err := os.Create(filepath.Join(g.root, "own", "output"))
	if err != nil {
		return s, err
	}
	defer out.Close()
	argv := v.argv(g, l, l.argv(g, calls))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(g.root, "work", l.dir), g.env
	cmd.Stdout, cmd.Stderr = out, out
	// The tree ends with the harness: ptguard and the floor take theirs with them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	from := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	pid := cmd.Process.Pid
	stop := context.AfterFunc(ctx, func() { _ = unix.Kill(-pid, unix.SIGKILL) })
	peak := make(chan int64, 1)
	over := make(chan struct{})
	if watch && v.tracer {
		go func() { peak <- watchMemory(pid, over) }()
	} else {
		peak <- 0
	}
	for { // without reaping: its times can still be read
		err = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	s.wall = time.Since(from)
	close(over)
	s.cpu = -1
	if v.tracer {
		s.cpu = runtimeOf(pid)
	}
	stop()
	_ = unix.Kill(-pid, unix.SIGKILL) // what it left behind; the number is taken until Wait
	waited := cmd.Wait()
	s.peak = <-peak
	s.stops = -1
	text, _ := os.ReadFile(out.Name())
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return s, fmt.Errorf("not through after %v", runLimit)
	}
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if err != nil {
		return s, err
	}
	if waited != nil {
		return s, fmt.Errorf("%w: %s", waited, lastLines(text))
	}
	s.ns = float64(s.wall.Nanoseconds())
	if l.kind == KindMicro {
		var r loadResult
		if err := json.Unmarshal(text, &r); err != nil || r.Calls < calls || r.NS <= 0 {
			return s, fmt.Errorf("the load said %q", lastLines(text))
		}
		s.ns, s.word = float64(r.NS)/float64(r.Calls), "called"
	}
	if v.count != nil {
		stops, cpu, err := v.count(g)
		if err != nil {
			return s, err
		}
		s.stops = stops
		if cpu >= 0 {
			s.cpu = cpu
		}
	}
	if watch && l.check != nil {
		s.word, err = l.check(g)
	}
	return s, err
}

// lastLines is the end of a program's output, on one line.
func lastLines(text []byte) string {
	s := strings.TrimSpace(string(text))
	if len(s) > 300 {
		s = "…" + s[len(s)-300:]
	}
	return strings.ReplaceAll(s, "\n", " | ")
}

// runtimeOf is how long the first thread of a process that has ended, but is not waited for,
// was on a cpu, in nanoseconds (/proc/PID/schedstat); -1 if the kernel does not say. Of a
// tracer with one thread that is all; ptguard tells its own.
func runtimeOf(pid int) float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/schedstat")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return ns
}

// watchMemory looks at the most memory that a process had resident until over is closed, in
// KiB. The kernel keeps the maximum, so only what comes after the last look is missed.
func watchMemory(pid int, over <-chan struct{}) (peak int64) {
	name := "/proc/" + strconv.Itoa(pid) + "/status"
	for pause := 500 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if text, err := os.ReadFile(name); err == nil {
			if _, rest, found := bytes.Cut(text, []byte("\nVmHWM:")); found {
				if n, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64); err == nil {
					peak = max(peak, n)
				}
			}
		}
		select {
		case <-over:
			return peak
		case <-time.After(pause):
		}
	}
}
