// SPDX-License-Identifier: Apache-2.0
// A thread flips the pointer to the argument, not its text.
#include "attack.h"

static char *volatile args[3];
static void *pointers(void *arg)
{
	for (;;) {
		args[1] = "plain";
		for (volatile int i = 0; i < 300; i++)
			;
		args[1] = "secret";
		for (volatile int i = 0; i < 300; i++)
			;
	}
	return arg;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], "secret") ? 7 : 42;
	args[0] = "victiM", args[1] = "plain";
	start(pointers, NULL);
	while (race_more()) {
		pid_t pid = vfork();
		if (!pid) {
			execv("./victiM", (char *const *)args);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	race_end();
}
