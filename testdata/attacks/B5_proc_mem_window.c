// SPDX-License-Identifier: Apache-2.0
// /proc/self/mem writes where no mapping may: into the window.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	if (!window(&from, &to)) { // bare: read-only memory of our own
		from = (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		to = from + 4096;
	}
	int fd = open("/proc/self/mem", O_RDWR);
	if (fd < 0)
		refused();
	for (uintptr_t at = from; at < to; at += 4096)
		if (pwrite(fd, "\xcc", 1, (off_t)at) == 1)
			succeeded();
	refused();
}
