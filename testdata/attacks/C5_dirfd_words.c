// SPDX-License-Identifier: Apache-2.0
//
// C5, A5: spellings of AT_FDCWD, and descriptors that are ignored beside an absolute name.
#include "cfgh.h"

int main(void)
{
	static const long words[] = {AT_FDCWD, 0xffffff9cl, 0x1234567fffffff9cl, (long)0xdeadbeefffffff9cul};
	int won = 0, d = open("denied", O_PATH | O_DIRECTORY);
	must(d, "open O_PATH");
	for (unsigned i = 0; i < 4; i++)
		won += is_secret((int)syscall(SYS_openat, words[i], "secret", O_RDONLY, 0));
	won += is_secret((int)syscall(SYS_openat, -5l, work("secret"), O_RDONLY, 0));
	won += is_secret((int)syscall(SYS_openat, 0xffffffff00000000l | 77, work("secret"), O_RDONLY, 0));
	won += is_secret((int)syscall(SYS_openat, 0xabcdef0000000000l | d, "file", (long)0xdeadbeef00000000ul | O_RDONLY, 0));
	if (won)
		succeeded();
	refused();
}
