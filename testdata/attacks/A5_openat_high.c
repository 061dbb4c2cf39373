// SPDX-License-Identifier: Apache-2.0
// Junk in the high words of dirfd and flags.
#include "attack.h"

int main(void)
{
	verdict_secret((int)syscall(SYS_openat, 0xdeadbeef00000000 | (uint32_t)AT_FDCWD, "secret", 0xdeadbeef00000000 | O_RDONLY, 0));
}
