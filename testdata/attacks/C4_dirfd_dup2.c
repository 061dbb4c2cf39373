// SPDX-License-Identifier: Apache-2.0
//
// C4: the descriptor of a folder is re-pointed by dup2 while names are opened from it.
#include "cfgh.h"

static int ok, bad, fd = 100;

static void *duping(void *arg)
{
	for (;;) {
		dup2(ok, fd);
		dup2(bad, fd);
	}
	return arg;
}

int main(void)
{
	must(ok = open("denieD", O_PATH | O_DIRECTORY), "open");
	must(bad = open("denied", O_PATH | O_DIRECTORY), "open");
	start(duping, NULL);
	while (race_more())
		race_won(is_secret(openat(fd, "file", O_RDONLY)));
	race_end();
}
