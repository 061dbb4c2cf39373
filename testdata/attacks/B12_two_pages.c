// SPDX-License-Identifier: Apache-2.0
// The name crosses from private into shared memory.
#include "attack.h"

int main(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		setup("mmap");
	if (mmap(page + 4096, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		setup("mmap");
	strcpy(page + 4096 - 3, "secret");
	verdict_secret(open(page + 4096 - 3, O_RDONLY));
}
