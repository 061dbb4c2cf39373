// SPDX-License-Identifier: Apache-2.0
//
// C26: a thread watches the buffer of another one's getdents64 for a hidden name.
#include "cfgh.h"

static char buffer[4096];
static volatile int seen;

static void *watching(void *arg)
{
	for (;;)
		for (unsigned i = 0; i + 6 < sizeof buffer; i++)
			if (((volatile char *)buffer)[i] == 'd' && ((volatile char *)buffer)[i + 5] == 'd' && !memcmp(buffer + i, "denied", 7))
				seen = 1;
	return arg;
}

int main(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);
	must(fd, "open");
	start(watching, NULL);
	while (race_more()) {
		lseek(fd, 0, SEEK_SET);
		while (syscall(SYS_getdents64, fd, buffer, sizeof buffer) > 0)
			;
		for (volatile int i = 0; i < 3000; i++)
			;
		race_won(seen);
		seen = 0;
		memset(buffer, 0, sizeof buffer);
	}
	race_end();
}
