// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// The answers of the filter (seccomp(2)).
const (
	retTrace  = unix.SECCOMP_RET_TRACE
	retAllow  = unix.SECCOMP_RET_ALLOW
	retENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// Offsets in struct seccomp_data. Arguments are 64 bits, little-endian on both
// architectures: the low word comes first.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// compileFilter makes the seccomp program for one architecture: fail closed (what is not
// on a list is TRACEd), numbers before arguments (the kernel's allow-cache needs that),
// arguments by their low 32 bits, and no test for what the policy cannot refuse.
//
// The numbers form a binary search tree over ranges of equal treatment, so a call costs
// about ten instructions; equal returns are shared (filter_returns.go). clone3 is answered by the filter itself: every thread start
// tries it, and a stop each would be a flood that says nothing.
//
// The magic number goes to our listener (see notify_unsafe.go), if there is one.
func compileFilter(a *decode.Arch, p decode.Policy, listen bool) ([]bpf.Instruction, error) {
	spans := numberSpans(a, p, listen)
	program := make([]bpf.Instruction, 0, treeSize(spans)+16)
	program = append(program,
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.Audit, SkipTrue: 1},
		bpf.RetConstant{Val: retTrace}, // foreign audit arch: refused and recorded
		bpf.LoadAbsolute{Off: offNr, Size: 4})
	if a.X32 != 0 {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: a.X32, SkipFalse: 1},
			bpf.RetConstant{Val: retTrace}) // x32, or a number of -1 that the program gave itself
	}
	if listen {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: magicNumber, SkipFalse: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
	}
	program = shareReturns(searchTree(program, spans))
	if len(program) > 4096 { // BPF_MAXINSNS
		return nil, fmt.Errorf("compile filter: %d instructions, the kernel takes 4096", len(program))
	}
	return program, nil
}

// span is a run of numbers from first on that share one body.
type span struct {
	first uint32
	body  []bpf.Instruction
}

// numberSpans lists the spans in ascending order; the last one reaches to the end.
func numberSpans(a *decode.Arch, p decode.Policy, listen bool) []span {
	trace := []bpf.Instruction{bpf.RetConstant{Val: retTrace}}
	spans := []span{{0, trace}}
	add := func(first uint32, body []bpf.Instruction) {
		last := &spans[len(spans)-1]
		switch {
		case slices.Equal(last.body, body):
		case last.first == first:
			last.body = body
			if n := len(spans); n > 1 && slices.Equal(spans[n-2].body, body) {
				spans = spans[:n-1]
			}
		default:
			spans = append(spans, span{first, body})
		}
	}
	next := uint32(0)
	for _, class := range a.Classes() {
		body := numberBody(class, p)
		if listen && opens(class.Rows) {
			body = slices.Concat(markTest, body)
		}
		add(next, body)
		next++
	}
	add(next, trace)
	return spans
}

// numberBody is what the filter does with one number.
func numberBody(c decode.Class, p decode.Policy) []bpf.Instruction {
	if c.Pass {
		return []bpf.Instruction{bpf.RetConstant{Val: retAllow}}
	}
	if len(c.Rows) == 0 {
		return []bpf.Instruction{bpf.RetConstant{Val: retTrace}}
	}
	var body []bpf.Instruction
	for _, row := range c.Rows {
		tests, traced := row.Conditions(p)
		switch {
		case !traced:
		case len(tests) == 0 && row.Name == "clone3":
			return []bpf.Instruction{bpf.RetConstant{Val: retENOSYS}}
		case len(tests) == 0:
			return []bpf.Instruction{bpf.RetConstant{Val: retTrace}}
		default:
			for _, test := range tests {
				body = append(body, testBody(test)...)
			}
		}
	}
	return append(body, bpf.RetConstant{Val: retAllow})
}

// testBody returns TRACE if the test holds and falls through if it does not. Each
// condition loads its own word, so nothing depends on what the accumulator held.
func testBody(t decode.Test) []bpf.Instruction {
	tail := []bpf.Instruction{bpf.RetConstant{Val: retTrace}}
	if t.And != nil {
		tail = testBody(*t.And)
	}
	skip := uint8(len(tail)) // when the condition is false
	low := bpf.LoadAbsolute{Off: offArgs + 8*uint32(t.Arg), Size: 4}
	high := bpf.LoadAbsolute{Off: offArgs + 8*uint32(t.Arg) + 4, Size: 4}
	var head []bpf.Instruction
	switch t.Op {
	case decode.AnyBit:
		head = []bpf.Instruction{low, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: t.Bits, SkipFalse: skip}}
	case decode.NoBit:
		head = []bpf.Instruction{low, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: t.Bits, SkipTrue: skip}}
	case decode.Equal:
		head = []bpf.Instruction{low, bpf.JumpIf{Cond: bpf.JumpEqual, Val: t.Bits, SkipFalse: skip}}
	case decode.NotEqual:
		head = []bpf.Instruction{low, bpf.JumpIf{Cond: bpf.JumpEqual, Val: t.Bits, SkipTrue: skip}}
	case decode.Masked:
		head = []bpf.Instruction{
			low,
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.Mask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: t.Bits, SkipFalse: skip},
		}
	case decode.High:
		head = []bpf.Instruction{
			high,
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.Mask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: t.Bits, SkipFalse: skip},
		}
	case decode.HighSet:
		head = []bpf.Instruction{high, bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: skip}}
	case decode.NonNull:
		head = []bpf.Instruction{
			low,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: 2},
			high,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: skip},
		}
	}
	return append(head, tail...)
}

// searchTree appends what finds the span of the number in the accumulator.
func searchTree(program []bpf.Instruction, spans []span) []bpf.Instruction {
	if len(spans) == 1 {
		return append(program, spans[0].body...)
	}
	mid := len(spans) / 2
	left := treeSize(spans[:mid])
	split := bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: spans[mid].first}
	if left <= 255 {
		split.SkipTrue = uint8(left)
		program = append(program, split)
	} else {
		split.SkipFalse = 1
		program = append(program, split, bpf.Jump{Skip: uint32(left)})
	}
	return searchTree(searchTree(program, spans[:mid]), spans[mid:])
}

// treeSize is how many instructions searchTree appends.
func treeSize(spans []span) int {
	if len(spans) == 1 {
		return len(spans[0].body)
	}
	mid := len(spans) / 2
	left, right := treeSize(spans[:mid]), treeSize(spans[mid:])
	if left > 255 {
		left++
	}
	return 1 + left + right
}

// assemble turns the program into what seccomp(2) takes.
func assemble(program []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assemble filter: %w", err)
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}
