// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// BenchmarkStart compares the start and end of a guarded program that does nothing with the
// bare one, one run of each in turn:
//
//	go test ./bench -run '^$' -bench Start -benchtime 200x
//
// The aim is that the median of the guarded runs is at most 5 ms above that of the bare ones,
// on an idle machine. cpu is what a run costs, threads that wait for nothing included; it
// depends less on who else runs.
func BenchmarkStart(b *testing.B) {
	ptguard := ktest.Binary(b)
	dir := b.TempDir()
	commands := [][]string{{"/bin/true"}, {ptguard, "run", "--", "/bin/true"}, {ptguard, "run", "--preset", "strict", "--", "/bin/true"}}
	var wall, cpu [3][]float64
	peak := int64(0)
	for b.Loop() {
		for i, argv := range commands {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir, cmd.Env = dir, os.Environ()
			begin := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %v %s", argv, err, out)
			}
			wall[i] = append(wall[i], time.Since(begin).Seconds()*1000)
			used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			cpu[i] = append(cpu[i], (cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()*1000)
			peak = max(peak, used.Maxrss)
		}
	}
	median := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	b.ReportMetric(0, "ns/op")
	bare := median(wall[0])
	b.ReportMetric(bare, "bare-ms")
	b.ReportMetric(median(wall[1])-bare, "guarded-more-ms")
	b.ReportMetric(median(wall[2])-bare, "strict-more-ms")
	b.ReportMetric(median(cpu[1])-median(cpu[0]), "guarded-more-cpu-ms")
	b.ReportMetric(float64(peak)/1024, "peak-MiB")
}
