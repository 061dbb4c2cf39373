// SPDX-License-Identifier: Apache-2.0
//
// C28: a knob below /proc/sys gets the value that it has.
#include "cfgh.h"

int main(void)
{
	char v[256];
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY);
	must(fd, "open");
	ssize_t n = read(fd, v, sizeof v);
	must(n, "read");
	close(fd);
	fd = open("/proc/sys/kernel/core_pattern", O_WRONLY);
	if (fd < 0)
		refused();
	verdict(write(fd, v, (size_t)n));
}
