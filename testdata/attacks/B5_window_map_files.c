// SPDX-License-Identifier: Apache-2.0
// The window's object through /proc/self/map_files, writable, or to punch a hole into.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	char path[128];
	uintptr_t a = from, b = to;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "memfd:ptguard") && sscanf(line, "%lx-%lx", &a, &b) == 2)
			break;
	snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", a, b);
	int fd = open(path, O_RDWR);
	if (fd < 0)
		refused();
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0 || pwrite(fd, "x", 1, 0) == 1 ||
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
		succeeded();
	refused();
}
