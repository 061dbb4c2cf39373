// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptguard/record"
)

// TestForgotten: a stop that lasts from one look of the watchdog to the next, and that nothing
// is known to wait for, ends its process with a record. One that waits is left alone, and so
// is one that has been resumed in between and stopped again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	trace := filepath.Join(t.TempDir(), "trace")
	sink, err := record.Open(trace, record.SinkOptions{Run: "r"})
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	l := &loop{cfg: &Config{Sink: sink, Live: record.NewLive(&shown, record.LiveOptions{})}, tasks: map[int]*task{}}
	sleeper := func() (*exec.Cmd, *task) {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		l.tasks[pid] = &task{tid: pid, proc: &process{pid: pid}, inStop: true, stops: 1}
		return cmd, l.tasks[pid]
	}
	forgotten, _ := sleeper()
	waiting, w := sleeper()
	w.waits = "its turn"
	again, a := sleeper()
	l.findForgotten()
	a.stops++
	l.findForgotten()
	if err := forgotten.Wait(); forgotten.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("want it killed, got %v", err)
	}
	for _, cmd := range []*exec.Cmd{waiting, again} {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("another was ended too: %v", err)
		}
	}
	if err := sink.Close(nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var r record.Record
	if err := json.Unmarshal(text, &r); err != nil || r.Kind != record.KindDenial || r.Verdict != "kill" || r.PID != forgotten.Process.Pid || r.Comm != "sleep" {
		t.Errorf("want one record that names the process, got %q", text)
	}
}
