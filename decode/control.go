// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Reroutes tells whether the control data of a message (cmsg(3)) makes the kernel send it
// elsewhere than its address says: by IP options or a routing header (ip(7), ipv6(7)). The
// walk ends where the kernel's does, or fails.
func Reroutes(control []byte) bool {
	for len(control) >= unix.SizeofCmsghdr {
		size := binary.NativeEndian.Uint64(control)
		level, kind := int32(binary.NativeEndian.Uint32(control[8:])), int32(binary.NativeEndian.Uint32(control[12:]))
		if size < unix.SizeofCmsghdr || size > uint64(len(control)) {
			return false // EINVAL
		}
		switch {
		case level == unix.IPPROTO_IP && kind == unix.IP_RETOPTS,
			level == unix.IPPROTO_IPV6 && (kind == unix.IPV6_RTHDR || kind == ipv6OldRthdr):
			return true
		}
		const align = 8 // sizeof(long)
		control = control[min(uint64(len(control)), (size+align-1)&^(align-1)):]
	}
	return false
}
