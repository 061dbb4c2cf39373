// SPDX-License-Identifier: Apache-2.0

package tracer

import "golang.org/x/net/bpf"

// farthest is how far a conditional jump can lead, from itself.
const farthest = 1 + 255

// shareReturns has jumps that lead to equal returns lead to one of them, and leaves out what
// nothing leads to any more. The program answers as before, with as many steps; but each
// instruction costs at the start of a run, where the kernel checks it, translates it twice and
// compiles it, and more than a third of the search tree were returns.
func shareReturns(program []bpf.Instruction) []bpf.Instruction {
	if len(program) > 1<<16 {
		return program // too long for any kernel
	}
	r := returns{program: program, kept: map[uint32][]int{}}
	next := make([][2]uint16, len(program)) // where an instruction leads; 0 is nowhere
	for i := len(program) - 1; i >= 0; i-- {
		switch in := program[i].(type) {
		case bpf.RetConstant:
		case bpf.Jump:
			next[i][0] = r.keep(i + 1 + int(in.Skip))
		case bpf.JumpIf:
			next[i] = [2]uint16{r.share(i, i+1+int(in.SkipTrue)), r.share(i, i+1+int(in.SkipFalse))}
		default:
			next[i][0] = r.keep(i + 1)
		}
	}
	reached := make([]bool, len(program))
	reached[0] = true
	place := make([]uint16, len(program)) // in the new program
	size := uint16(0)
	for i := range program { // jumps lead ahead only
		if !reached[i] {
			continue
		}
		place[i] = size
		size++
		for _, to := range next[i] {
			reached[to] = true // 0 is
		}
	}
	out := make([]bpf.Instruction, 0, size)
	for i, in := range program {
		if !reached[i] {
			continue
		}
		switch jump := in.(type) {
		case bpf.Jump:
			in = bpf.Jump{Skip: uint32(place[next[i][0]] - place[i] - 1)}
		case bpf.JumpIf:
			jump.SkipTrue = uint8(place[next[i][0]] - place[i] - 1)
			jump.SkipFalse = uint8(place[next[i][1]] - place[i] - 1)
			in = jump
		}
		out = append(out, in)
	}
	return out
}

// returns are the returns of a program that something behind leads to.
type returns struct {
	program []bpf.Instruction
	kept    map[uint32][]int // by what they return
}

// keep notes a return that has to stay.
func (r *returns) keep(at int) uint16 {
	if in, ok := r.program[at].(bpf.RetConstant); ok {
		r.kept[in.Val] = append(r.kept[in.Val], at)
	}
	return uint16(at)
}

// share gives where the jump at from, which leads to a place, may lead as well.
func (r *returns) share(from, to int) uint16 {
	in, ok := r.program[to].(bpf.RetConstant)
	if !ok {
		return uint16(to)
	}
	best := 0
	for _, at := range r.kept[in.Val] {
		if at <= from+farthest && at > best {
			best = at
		}
	}
	if best > 0 {
		return uint16(best)
	}
	return r.keep(to)
}
