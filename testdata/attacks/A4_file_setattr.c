// SPDX-License-Identifier: Apache-2.0
// file_setattr(2) of Linux 6.17 sets inode flags by name.
#include "attack.h"

int main(void)
{
	struct { uint64_t xflags; uint32_t extsize, nextents, projid, cowextsize; } a = {0x40, 0, 0, 0, 0}; // FS_XFLAG_NOATIME
	verdict(syscall(469, AT_FDCWD, "denied/file", &a, sizeof a, 0));
}
