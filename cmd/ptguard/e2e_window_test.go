// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// TestWindowsAreUsedAgain: the window of a process that has ended serves the next one, which
// finds nothing in it that the other has left; and it does not where somebody may still have
// it: a child, or one of a process that was killed while it forked.
func TestWindowsAreUsedAgain(t *testing.T) {
	program := ktest.Tracee(t, "window")
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Copy(t, program, "work/window")
		b.Write(t, "work/short", "")
		for i := range 8 { // what is opened afterwards must not cover the mark
			b.Write(t, fmt.Sprintf("work/%s-mark%d", strings.Repeat("x", 50), i), "")
		}
	})
	// A process whose first stop comes before its parent's event gets a window of its own: on a busy
	// machine it takes more than one run to see all of them used again.
	again := false
	for tries := 0; !again && !t.Failed(); tries++ {
		if tries == 20 {
			t.Fatal("in 20 runs not all windows were used again")
		}
		r := b.Guard(t, nil, "sh", "-c", `
			./window own x*-mark1 mark1
			./window own short mark1
			./window fork x*-mark3 mark3 > fork; cat fork
			./window own short mark3
			./window kill x*-mark5 mark5
			./window own x*-mark6 mark5
			./window own short mark6
			./window send short mark7
			./window own short mark7
			while read n what; do [ $what != child ] || kill $n; done < fork`)
		var said [][]string
		for line := range strings.Lines(r.Stdout) {
			said = append(said, strings.Fields(line))
		}
		if r.Status != 0 || len(said) != 10 || said[3][1] != "child" {
			t.Fatal(r)
		}
		said = append(said[:3], said[4:]...)
		const first, next, forked, afterFork, killed, afterKill, last, sent, afterSent = 0, 1, 2, 3, 4, 5, 6, 7, 8
		for i, word := range []string{first: "found", next: "none", forked: "found", afterFork: "none", killed: "found", afterKill: "none", last: "none", sent: "found", afterSent: "none"} {
			if said[i][1] != word || said[i][0] == "0" {
				t.Errorf("process %d says %v, want %s", i, said[i], word)
			}
		}
		again = true
		for _, same := range [][2]int{{first, next}, {next, forked}, {afterKill, last}, {last, sent}, {sent, afterSent}} {
			again = again && said[same[0]][0] == said[same[1]][0]
		}
		for _, other := range [][2]int{{forked, afterFork}, {killed, afterKill}} {
			if said[other[0]][0] == said[other[1]][0] {
				t.Errorf("process %d has the window of process %d, which somebody may have: %v", other[1], other[0], said)
			}
		}
	}
}
