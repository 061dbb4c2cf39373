// SPDX-License-Identifier: Apache-2.0

package resolve

import "golang.org/x/sys/unix"

const sysFstatat = unix.SYS_FSTATAT
