// SPDX-License-Identifier: Apache-2.0
// The denied program by another name: a hard link, and a rename.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42; // the denied image runs

	(void)argv;
	pid_t pid = fork();
	if (!pid) {
		if (link("victim", "other") == 0)
			execl("./other", "other", "run", NULL);
		if (rename("victim", "moved") == 0)
			execl("./moved", "moved", "run", NULL);
		_exit(1);
	}
	verdict_child(pid);
}
