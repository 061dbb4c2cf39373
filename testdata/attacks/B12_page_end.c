// SPDX-License-Identifier: Apache-2.0
// The name ends with the last byte before a hole.
#include "attack.h"

int main(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		setup("mmap");
	must(munmap(page + 4096, 4096), "munmap");
	strcpy(page + 4096 - 7, "secret");
	verdict_secret(open(page + 4096 - 7, O_RDONLY));
}
