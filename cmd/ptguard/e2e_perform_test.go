// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"strings"
	"testing"

	"ptguard/internal/ktest"
)

// TestPerform: what ptguard does on behalf of a program comes out as if the program had
// done it: owner, mode, times, links, errno and events. The expected values are those of
// the bare run.
func TestPerform(t *testing.T) {
	t.Parallel()
	sameBlocks(t, "perform", "plain", "077")
	sameBlocks(t, "perform", "plain", "022", "own")
	sameBlocks(t, "perform", "limit", "022", "own", "truncate")
	sameBlocks(t, "perform", "limit-ignored", "022", "own", "truncate")
	if !root() {
		return
	}
	// The rights that a root program gave up, in directories where they matter.
	sameBlocks(t, "perform", "setuid", "022", "own")
	sameBlocks(t, "perform", "thread", "022", "sticky")
	for _, who := range []string{"groups", "fsgid", "no-owner", "keep-caps"} {
		sameBlocks(t, "perform", who, "0", "setgid")
		sameBlocks(t, "perform", who, "022", "setgid", "ch")
	}
	for _, who := range []string{"euid", "back", "fsuid", "no-caps", "no-dac"} {
		sameBlocks(t, "perform", who, "022", "sticky", "link")
	}
	sameBlocks(t, "perform", "groups", "0", "acl")
}

// TestOpens: an open that ptguard issues anew gives the descriptor that the program's own
// would have given.
func TestOpens(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"flags", "resolve", "magic", "dropped", "waits", "crowd", "places", "deep"} {
		sameBlocks(t, "opens", part)
	}
}

// sameBlocks runs a tracee bare and guarded and compares what they say block by block, to
// show only those that differ: a block is a line with the indented ones after it.
func sameBlocks(t *testing.T, tracee string, args ...string) {
	t.Run(strings.Join(args, " "), func(t *testing.T) {
		t.Parallel()
		b := ktest.NewBox(t, nil)
		argv := append([]string{ktest.Tracee(t, tracee)}, args...)
		bare := b.Bare(t, argv...)
		if bare.Status != 0 || bare.Signal != 0 || bare.Stderr != "" {
			t.Fatalf("bare: %v", bare)
		}
		b.Reset(t)
		guarded := b.Guard(t, []string{"--write", "/dev/shm"}, argv...) // another file system
		b.NoProcessLeft(t)
		if guarded.Status != 0 || guarded.Signal != 0 || guarded.Stderr != "" {
			t.Errorf("guarded: %v", guarded)
		}
		want, got := blocks(bare.Stdout), blocks(guarded.Stdout)
		if len(want) != len(got) || len(want) < 3 {
			t.Errorf("%d blocks bare, %d guarded", len(want), len(got))
		}
		shown := 0
		for i := range min(len(want), len(got)) {
			if want[i] != got[i] && shown < 10 {
				t.Errorf("bare:\n%q\nguarded:\n%q", want[i], got[i])
				shown++
			}
		}
	})
}

func blocks(text string) []string {
	return strings.Split(strings.ReplaceAll(text, "\n  ", "\x00"), "\n")
}
