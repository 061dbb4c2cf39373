// SPDX-License-Identifier: Apache-2.0
// The x32 numbers. Where the kernel has no x32, a foreign number must still not be taken for openat.
#include "attack.h"

int main(void)
{
	long r = syscall(0x40000000 | SYS_openat, AT_FDCWD, "secret", O_RDONLY);
	if (r < 0 && errno == ENOSYS && getppid() == number("ATTACK_RUNNER", 0))
		r = syscall(SYS_openat, AT_FDCWD, "secret", O_RDONLY); // bare, no x32 in this kernel
	verdict_secret((int)r);
}
