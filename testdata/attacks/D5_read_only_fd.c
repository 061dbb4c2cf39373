// SPDX-License-Identifier: Apache-2.0
// A descriptor for reading becomes one for writing through /proc/self/fd.
#include "attack.h"

int main(void)
{
	char path[64];
	int fd = open("../outside/file", O_RDONLY);
	must(fd, "open");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	verdict(open(path, O_RDWR));
}
