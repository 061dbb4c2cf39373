// SPDX-License-Identifier: Apache-2.0
//
// C26, C4: getdents64 on a number that flips between a folder without secrets and one that
// holds a hidden name.
#include "cfgh.h"

static int plain, other, fd = 100;

static void *duping(void *arg)
{
	for (;;) {
		dup2(plain, fd);
		dup2(other, fd);
	}
	return arg;
}

int main(void)
{
	char buffer[4096];
	must(mkdir("plain", 0755), "mkdir");
	must(plain = open("plain", O_RDONLY | O_DIRECTORY), "open");
	must(other = open(".", O_RDONLY | O_DIRECTORY), "open");
	start(duping, NULL);
	while (race_more()) {
		lseek(plain, 0, SEEK_SET);
		lseek(other, 0, SEEK_SET);
		memset(buffer, 0, sizeof buffer);
		long n = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
		race_won(n > 0 && memmem(buffer, (size_t)n, "denied", 7) != NULL);
	}
	race_end();
}
