// SPDX-License-Identifier: Apache-2.0
// The denied program is mapped for reading and then made executable.
#include "attack.h"

int main(void)
{
	int fd = open("victim", O_RDONLY);
	if (fd < 0)
		refused();
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		refused();
	verdict(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}
