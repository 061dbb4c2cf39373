// SPDX-License-Identifier: Apache-2.0
// With READ_IMPLIES_EXEC a mapping for reading is executable.
#include "attack.h"
#include <sys/personality.h>

int main(void)
{
	int fd = open("victim", O_RDONLY);
	if (fd < 0)
		refused();
	if (personality(READ_IMPLIES_EXEC) < 0)
		refused();
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		refused();
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long at;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx", &at) == 1 && at == (unsigned long)p && strstr(line, "r-xp"))
			succeeded();
	finish("REFUSED", "not executable");
}
