// SPDX-License-Identifier: Apache-2.0
// The denied program is mapped executable.
#include "attack.h"

int main(void)
{
	int fd = open("victim", O_RDONLY);
	if (fd < 0)
		refused();
	verdict(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
}
