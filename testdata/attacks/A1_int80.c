// SPDX-License-Identifier: Apache-2.0
// The i386 entry: other numbers, the same process. open is 5 there.
#include "attack.h"

int main(void)
{
	char *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (low == MAP_FAILED)
		setup("mmap");
	strcpy(low, "secret");
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(5L), "b"(low), "c"((long)O_RDONLY), "d"(0L) : "memory", "r8", "r9", "r10", "r11");
	r = (int)r;
	if (r < 0) {
		errno = (int)-r;
		r = -1;
	}
	verdict_secret((int)r);
}
