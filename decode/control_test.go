// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"
	"testing"
)

// cmsg builds one message of control data; pad is what lies between it and the next.
func cmsg(size uint64, level, kind uint32, data string) []byte {
	b := binary.NativeEndian.AppendUint64(nil, size)
	b = binary.NativeEndian.AppendUint32(b, level)
	b = binary.NativeEndian.AppendUint32(b, kind)
	b = append(b, data...)
	for len(b)%8 != 0 {
		b = append(b, 0xee)
	}
	return b
}

func TestReroutes(t *testing.T) {
	rights, info := cmsg(20, 1, 1, "\x05\x00\x00\x00"), cmsg(28, 0, 8, "123456789012") // SCM_RIGHTS, IP_PKTINFO
	options, routing, old := cmsg(24, 0, 7, "\x83\x07\x04abcd\x00"), cmsg(40, 41, 57, "012345678901234567890123"), cmsg(16, 41, 5, "")
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for name, c := range map[string]struct {
		control []byte
		want    bool
	}{
		"nothing":            {nil, false},
		"descriptors":        {rights, false},
		"packet information": {join(info, rights), false},
		"IP_RETOPTS":         {options, true},
		"after others":       {join(rights, info, options), true},
		"IPV6_RTHDR":         {join(info, routing), true},
		"IPV6_2292RTHDR":     {old, true},
		"cut":                {routing[:20], false},
		"header cut":         {join(rights, options[:15]), false},
		"too short a length": {join(cmsg(15, 1, 1, ""), options), false},
		"length of zero":     {join(cmsg(0, 1, 1, ""), options), false},
		"huge length":        {join(cmsg(^uint64(0)-3, 1, 1, ""), options), false},
		"last, not padded":   {options[:23+1], true},
		"other level":        {cmsg(24, 1, 7, "12345678"), false},
	} {
		if got := Reroutes(c.control); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
