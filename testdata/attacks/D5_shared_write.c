// SPDX-License-Identifier: Apache-2.0
// A shared writable mapping of a file outside the writable roots.
#include "attack.h"

int main(void)
{
	int fd = open("../outside/file", O_RDWR);
	if (fd < 0)
		refused();
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		refused();
	p[0] = 'o';
	succeeded();
}
