// SPDX-License-Identifier: Apache-2.0
// The dynamic loader is given the denied program.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42; // the denied image runs

	(void)argv;
	pid_t pid = fork();
	if (!pid) {
		execl("/lib64/ld-linux-x86-64.so.2", "ld.so", "./victim", "run", NULL);
		_exit(1);
	}
	verdict_child(pid);
}
