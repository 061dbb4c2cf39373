// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	_ "embed" // the floor's source
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed floor/floor.c
var floorSource string

// prepareFloor compiles the C floor, and has the filter written that gives it the stops of a
// default run.
func prepareFloor(g *ground) error {
	if err := prepareFilter(g); err != nil {
		return err
	}
	out := filepath.Join(g.root, "own", "floor")
	if _, err := os.Stat(out); err == nil {
		return nil
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return &missingError{"no gcc to build it with"}
	}
	source := out + ".c"
	if err := os.WriteFile(source, []byte(floorSource), 0o600); err != nil {
		return err
	}
	if text, err := g.command(gcc, "-O2", "-o", out, source).CombinedOutput(); err != nil {
		return &missingError{fmt.Sprintf("gcc cannot build it: %v: %.300s", err, text)}
	}
	return nil
}

func countFloor(g *ground) (stops, cpu float64, err error) {
	data, err := os.ReadFile(g.stops())
	if err != nil {
		return 0, -1, err
	}
	stops, err = strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
	return stops, -1, err
}

// countRecords reads the last record of a guarded run's trace, and removes the trace.
func countRecords(g *ground) (stops, cpu float64, err error) {
	end, err := lastRecord(g.trace())
	if err != nil {
		return 0, -1, err
	}
	return float64(end.End.Stops), float64(end.End.OwnCPUMS) * 1e6, os.Remove(g.trace())
}

// endRecord is what the harness wants of a trace's end record.
type endRecord struct {
	Kind string `json:"kind"`
	End  struct {
		Stops    uint64 `json:"stops"`
		Denials  uint64 `json:"denials"`
		OwnCPUMS int64  `json:"own_cpu_ms"`
	} `json:"end"`
}

func lastRecord(name string) (endRecord, error) {
	var r endRecord
	data, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil || r.Kind != "end" || r.End.Stops == 0 {
		return r, fmt.Errorf("no end in the trace: %.200s", lines[len(lines)-1])
	}
	return r, nil
}

// firstTier reads the protection that a trace's first record names, and removes the trace.
func firstTier(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	var r struct {
		Start struct {
			Tier string `json:"tier"`
		} `json:"start"`
	}
	if json.Unmarshal(line, &r) != nil || os.Remove(name) != nil {
		return ""
	}
	return r.Start.Tier
}
