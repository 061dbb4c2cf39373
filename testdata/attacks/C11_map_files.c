// SPDX-License-Identifier: Apache-2.0
//
// C11: a file mapped for reading is opened for writing through map_files.
#include "cfgh.h"

int main(void)
{
	char name[64];
	int fd = open(outside("file"), O_RDONLY);
	must(fd, "open");
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		setup("mmap");
	snprintf(name, sizeof name, "/proc/self/map_files/%lx-%lx", (long)p, (long)p + 4096);
	verdict(open(name, O_RDWR));
}
