// SPDX-License-Identifier: Apache-2.0

package resolve

import "golang.org/x/sys/unix"

// The kernel calls it newfstatat here.
const sysFstatat = unix.SYS_NEWFSTATAT
