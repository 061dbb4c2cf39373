// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestAdopted: a child that was seen before its parent's event shares descriptors with the
// parent as well, and what it took on itself meanwhile stays.
func TestAdopted(t *testing.T) {
	t.Parallel()
	l := &loop{}
	parent := stopped{task: &task{tid: 1, proc: &process{pid: 1}}}
	child := &task{tid: 2, proc: &process{pid: 2, adopted: true, sharesFiles: true}}
	child.proc.filtered, child.proc.fenced, child.proc.tookOn = true, true, true
	l.adopted(parent, child, unix.CLONE_FILES|unix.CLONE_FS)
	if p, c := parent.proc, child.proc; !p.sharesFiles || !p.sharesFS || !c.sharesFS || !c.filtered || !c.fenced || c.adopted {
		t.Errorf("parent %+v, child %+v", p, c)
	}
}
