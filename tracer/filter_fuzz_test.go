// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"ptguard/decode"
)

// Any number with any words under any policy: the filter stops exactly the calls for which
// the tracer finds a row, lets through only what is listed, and is not moved by the high
// halves that the kernel drops.
func FuzzFilter(f *testing.F) {
	type key struct {
		arch   *decode.Arch
		policy decode.Policy
	}
	machines := map[key]*bpf.VM{}
	loops := map[key]*loop{}
	numbers := map[*decode.Arch][]uint32{}
	for _, a := range []*decode.Arch{decode.AMD64, decode.ARM64} {
		for nr := range a.Names() {
			numbers[a] = append(numbers[a], nr)
		}
		slices.Sort(numbers[a])
	}
	get := func(t *testing.T, k key) (*bpf.VM, *loop) {
		if machines[k] == nil {
			program, err := compileFilter(k.arch, k.policy, true)
			if err != nil {
				t.Fatal(err)
			}
			vm, err := bpf.NewVM(program)
			if err != nil {
				t.Fatal(err)
			}
			l := &loop{policy: k.policy}
			for n, class := range k.arch.Classes() {
				nr := uint32(n)
				l.classes[nr] = class
			}
			machines[k], loops[k] = vm, l
		}
		return machines[k], loops[k]
	}
	const known = 64 // of policy: the number is an index, for most numbers are no call
	f.Add(uint32(257), false, uint8(0), uint64(0), uint64(0), uint64(0x241), uint64(0), uint64(0), uint64(0))
	f.Add(uint32(16), false, uint8(1), uint64(0), uint64(0xdeadbeef00005412), uint64(0), uint64(0), uint64(0), uint64(0))
	f.Add(uint32(0x40000101), false, uint8(2), uint64(1), uint64(1), uint64(0), uint64(0), uint64(0), uint64(0))
	f.Add(uint32(44), false, uint8(63), uint64(3), uint64(0), uint64(0), uint64(0), uint64(1)<<40, uint64(16))
	f.Add(uint32(41), true, uint8(known|32), uint64(2), uint64(3), uint64(0), uint64(0), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, nr uint32, arm bool, policy uint8, a0, a1, a2, a3, a4, a5 uint64) {
		k := key{decode.AMD64, decode.Policy{
			Reads: policy&1 != 0, ExecMap: policy&2 != 0, Blind: policy&4 != 0,
			Looks: policy&8 != 0, Lists: policy&16 != 0, Rules: policy&32 != 0,
		}}
		if arm {
			k.arch = decode.ARM64
		}
		if policy&known != 0 {
			nr = numbers[k.arch][nr%uint32(len(numbers[k.arch]))]
		}
		vm, l := get(t, k)
		args := [6]uint64{a0, a1, a2, a3, a4, a5}
		run := func(d data) uint32 {
			out, err := vm.Run(d.bytes())
			if err != nil {
				t.Fatal(err)
			}
			return uint32(out)
		}
		if foreign := run(data{nr: nr, arch: k.arch.Audit ^ 0x80000000, args: args}); foreign != retTrace {
			t.Fatalf("a foreign ABI: %#x", foreign)
		}
		got := run(data{nr: nr, arch: k.arch.Audit, args: args})
		name := k.arch.CallName(nr)
		found := name != ""
		want := uint32(retAllow)
		switch {
		case !found:
			want = retTrace
		case name == "clone3":
			want = retENOSYS
		case !l.classes[nr].Pass && l.rowFor(nr, &args) != nil:
			want = retTrace
		}
		if got != want {
			t.Fatalf("%s %q %d %#x %+v: filter %#x, want %#x", k.arch.Name, name, nr, args, k.policy, got, want)
		}
		if name == "sendto" { // its pointer counts whole
			return
		}
		for i := range args {
			args[i] ^= a0<<32 | 1<<63
		}
		if again := run(data{nr: nr, arch: k.arch.Audit, args: args}); again != got {
			t.Fatalf("%s %s%#x: %#x, and %#x with other high halves", k.arch.Name, name, args, got, again)
		}
	})
}
