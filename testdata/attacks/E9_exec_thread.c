// SPDX-License-Identifier: Apache-2.0
// A thread that is not the leader executes; the new image opens the file.
#include "attack.h"

static void *execer(void *arg)
{
	execl("/proc/self/exe", "x", "run", NULL);
	return arg;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return is_secret(open("secret", O_RDONLY)) ? 42 : 1;
	pid_t pid = fork();
	if (!pid) {
		start(execer, NULL);
		for (;;)
			pause();
	}
	verdict_child(pid);
}
