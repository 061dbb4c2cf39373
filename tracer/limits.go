// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"ptguard/internal/readfile"
	"ptguard/record"
	"ptguard/rules"
)

// The limits of a tree that no rlimit expresses: RLIMIT_NPROC counts all processes of a
// user, RLIMIT_AS address space, which Go, the JVM and sanitizers reserve freely. Processes
// are counted here; memory and cpu time are sampled.

// sampleEvery is the time between two looks at the tree's memory and cpu time.
const sampleEvery = 200 * time.Millisecond

// Limit names a limit that ended the tree.
type Limit struct {
	Name   string // memory or cpu, as in the policy
	Reason string // one sentence
}

// mayFork decides a call that makes a process, by flags of clone(2). At the limit the
// answer is EAGAIN, as fork(2) has it for RLIMIT_NPROC. A call that was let go counts until
// its child is there or its caller stops again.
func (l *loop) mayFork(s stopped, flags uint64) bool {
	limit := l.limits.Processes
	if limit == 0 || flags&unix.CLONE_THREAD != 0 {
		return true
	}
	n := 0
	for _, t := range l.tasks {
		if t.tid == t.proc.pid {
			n++
		}
		if t.forking {
			n++
		}
	}
	if n < limit {
		s.forking = true
		return true
	}
	r := l.newRecord(s, record.KindDenial)
	r.Syscall, r.Event, r.Verdict, r.Errno = native.SyscallName(uint32(l.number)), "os.fork", "deny", "EAGAIN"
	r.Rule, r.Layer, r.Reason = "limits processes", "limit", fmt.Sprintf("the tree has %d processes, which is its limit", n)
	r.Hint = "raise limits.processes in the policy"
	l.put(s, r, unix.EAGAIN, false)
	return false
}

// wait is wait4(2) for any of the tree. Where cpu time is limited, what a process has used is
// noted before its end is taken, for afterwards nobody can tell: a parent that ignores SIGCHLD
// does not get it, and short children end between two looks.
func (l *loop) wait(options uintptr) (tid int, status unix.WaitStatus, err error) {
	if l.limits.CPU == 0 {
		return wait(options)
	}
	for {
		pid, ends, err := peek(options)
		if err != nil || pid == 0 {
			return 0, 0, err
		}
		if !ends {
			if status, ok := takeStop(pid); ok {
				return pid, status, nil
			}
			continue // it has been killed meanwhile
		}
		if cpu, err := cpuTime(pid); err == nil { // else a thread, whose process knows
			l.endedCPU.Add(int64(cpu))
		}
		status, err := takeEnd(pid)
		return pid, status, err
	}
}

// usage is what one look at a process shows.
type usage struct {
	cpu    time.Duration // its own
	memory int64         // resident and swapped bytes
}

// watchLimits looks at the tree until it ends, and kills it once it is over a limit.
func (l *loop) watchLimits(limits rules.Limits, ended <-chan struct{}) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		pids := make(chan []int, 1)
		var used time.Duration // by those that have ended
		l.postNow(func() {
			var out []int
			used = time.Duration(l.endedCPU.Load())
			for _, t := range l.tasks {
				if t.tid == t.proc.pid {
					out = append(out, t.tid)
				}
			}
			pids <- out
		})
		var now []int
		select {
		case <-ended:
			return
		case now = <-pids:
		}
		if over := measure(now, used, limits); over != nil {
			l.postNow(func() { l.overLimit(over) })
			return
		}
	}
}

// overLimit ends the tree.
func (l *loop) overLimit(over *Limit) {
	l.over = over
	l.cfg.Live.Warn("killed: " + over.Reason + " (limits." + over.Name + ")")
	l.cfg.Sink.Put(&record.Record{
		Kind: record.KindWarning, PID: os.Getpid(), Verdict: "kill",
		Rule: "limits " + over.Name, Layer: "limit", Reason: over.Reason,
	}, nil)
	l.killTree()
}

// measure gives the limit that these processes are over, nil if none. ended is what those used
// that had ended when the others were listed: one that ends since then is not missed for long.
func measure(pids []int, ended time.Duration, limits rules.Limits) *Limit {
	cpu, memory := ended, int64(0)
	for _, pid := range pids {
		u, err := usageOf(pid)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL):
			continue // it has ended
		case err != nil:
			return &Limit{sampled(limits), fmt.Sprintf("what process %d uses cannot be found out: %v", pid, err)}
		}
		cpu, memory = cpu+u.cpu, memory+u.memory
	}
	if limits.CPU > 0 && cpu > limits.CPU {
		return &Limit{"cpu", fmt.Sprintf("the tree has used %s of cpu time, its limit is %s", cpu.Round(10*time.Millisecond), limits.CPU)}
	}
	if limits.Memory > 0 && memory > limits.Memory {
		// Pages that processes share were counted for each: look again, exactly.
		if exact := proportional(pids); exact > limits.Memory {
			return &Limit{"memory", fmt.Sprintf("the tree uses %s of memory, its limit is %s", bytesText(exact), bytesText(limits.Memory))}
		}
	}
	return nil
}

// sampled names the limit that looks are taken for.
func sampled(l rules.Limits) string {
	if l.Memory > 0 {
		return "memory"
	}
	return "cpu"
}

// usageOf asks a process's clock, and reads /proc/PID/stat and /proc/PID/status (proc(5)). A
// process that is gone is EINVAL, fs.ErrNotExist or ESRCH.
func usageOf(pid int) (u usage, err error) {
	if u.cpu, err = cpuTime(pid); err != nil {
		return u, err
	}
	stat, err := readfile.All(procPath(pid, "stat"))
	if err != nil {
		return u, err
	}
	_, rest, _ := bytes.Cut(stat, []byte(")")) // a name may hold one, too
	if at := bytes.LastIndexByte(rest, ')'); at >= 0 {
		rest = rest[at+1:]
	}
	fields := strings.Fields(string(rest)) // fields[0] is the state, the third field
	number := func(n int) int64 {
		if len(fields) <= n-3 {
			err = errors.New("/proc/PID/stat is too short")
			return 0
		}
		v, wrong := strconv.ParseInt(fields[n-3], 10, 64)
		if wrong != nil {
			err = wrong
		}
		return v
	}
	u.memory = number(24)*int64(os.Getpagesize()) + kilobytes(statusField(pid, "VmSwap"))
	return u, err
}

// proportional adds up what is the processes' own, a shared page by its share
// (/proc/PID/smaps_rollup: Pss, SwapPss); where that cannot be read, what is resident.
func proportional(pids []int) int64 {
	var sum int64
	for _, pid := range pids {
		text, err := readfile.All(procPath(pid, "smaps_rollup"))
		if err != nil {
			if u, err := usageOf(pid); err == nil { // else it has ended
				sum += u.memory
			}
			continue
		}
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && (name == "Pss" || name == "SwapPss") {
				sum += kilobytes(value)
			}
		}
	}
	return sum
}

// kilobytes reads "123 kB" as bytes.
func kilobytes(text string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
	return n << 10
}

// bytesText words a number of bytes.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
