// SPDX-License-Identifier: Apache-2.0

//go:build ptguard_counts

package tracer

import (
	"encoding/json"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// counting: this binary counts its stops, by call and by kind of event, and what it has
// allocated between the program's exec and the end, and writes them as JSON into the file
// that PTGUARD_COUNTS names. For tests; never a switch of the product.
const counting = true

// counts is what a run comes to.
var counts = struct {
	Calls   map[string]int // seccomp stops by call
	Events  map[string]int // all other stops
	Mallocs uint64
	GCs     uint32
}{Calls: map[string]int{}, Events: map[string]int{}}

var (
	atStart    runtime.MemStats
	countsFile *os.File // opened before ptguard enters a domain of its own
)

func init() {
	if name := os.Getenv("PTGUARD_COUNTS"); name != "" {
		var err error
		if countsFile, err = os.Create(name); err != nil {
			panic(err)
		}
	}
}

func countCall(info *syscallInfo) {
	if len(counts.Calls) == 0 {
		runtime.ReadMemStats(&atStart)
	}
	counts.Calls[native.SyscallName(uint32(info.Nr))]++
}

var eventNames = map[int]string{
	unix.PTRACE_EVENT_FORK: "fork", unix.PTRACE_EVENT_VFORK: "vfork", unix.PTRACE_EVENT_CLONE: "clone",
	unix.PTRACE_EVENT_EXEC: "exec", unix.PTRACE_EVENT_STOP: "stop",
}

func countStop(status unix.WaitStatus, setup bool) {
	switch event := int(status) >> 16; {
	case !status.Stopped():
		counts.Events["end"]++
	case setup:
		counts.Events["setup"]++
	case event == unix.PTRACE_EVENT_SECCOMP:
	case event != 0:
		counts.Events[eventNames[event]]++
	case status.StopSignal() == unix.SIGTRAP|0x80:
		counts.Events["syscall"]++
	default:
		counts.Events["signal"]++
	}
}

func writeCounts() {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	counts.Mallocs, counts.GCs = now.Mallocs-atStart.Mallocs, now.NumGC-atStart.NumGC
	if countsFile == nil {
		return
	}
	text, err := json.Marshal(counts)
	if err == nil {
		_, err = countsFile.Write(text)
	}
	if err != nil {
		panic(err)
	}
}
