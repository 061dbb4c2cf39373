// SPDX-License-Identifier: Apache-2.0

// Package bench measures what protection costs. Nothing here is a test: a shared machine
// proves no speed.
package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

func TestMain(m *testing.M) {
	if err := ktest.Setup(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	code := m.Run()
	ktest.Cleanup()
	os.Exit(code)
}

// opens is how often the program opens in one run.
const opens = 20000

// BenchmarkOpen compares the protected open with the same call in a build that checks and then
// lets it continue, one run of each in turn, so that both meet the same machine:
//
//	go test ./bench -bench Open -benchtime 15x
//
// ratio is the median of the protected runs by that of the others; the aim is at most 1.2
// on amd64. The stops show that both cost one an open.
func BenchmarkOpen(b *testing.B) {
	program := ktest.Tracee(b, "openloop")
	builds := []string{ktest.PlainBinary(b), ktest.Binary(b)}
	box := ktest.NewBox(b, func(t testing.TB, b *ktest.Box) { b.Write(t, "work/file", "text") })
	took, stops := [2][]float64{}, [2]float64{}
	run := func(i int) float64 {
		argv := []string{builds[i], "run", "--trace", box.Trace, "--deny", box.Path("work/secret"), "--", program, "file", strconv.Itoa(opens)}
		r := box.Run(b, ktest.Cmd{Argv: argv})
		ns, err := strconv.ParseFloat(strings.TrimSpace(r.Stdout), 64)
		if err != nil {
			b.Fatalf("%v: %v", err, r)
		}
		stops[i] = float64(stopsOf(b, box.Trace)) / opens
		return ns
	}
	for b.Loop() {
		for i := range builds {
			took[i] = append(took[i], run(i))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	plain, protected := took[0][len(took[0])/2], took[1][len(took[1])/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(plain, "plain-ns/open")
	b.ReportMetric(protected, "protected-ns/open")
	b.ReportMetric(protected/plain, "ratio")
	b.ReportMetric(stops[0], "plain-stops/open")
	b.ReportMetric(stops[1], "protected-stops/open")
}

// stopsOf reads the stops from the last record of a trace, and removes it.
func stopsOf(b *testing.B, trace string) uint64 {
	b.Helper()
	data, err := os.ReadFile(filepath.Clean(trace))
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	var last struct{ End struct{ Stops uint64 } }
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || last.End.Stops == 0 {
		b.Fatalf("last record %s: %v", lines[len(lines)-1], err)
	}
	if err := os.Remove(trace); err != nil {
		b.Fatal(err)
	}
	return last.End.Stops
}
