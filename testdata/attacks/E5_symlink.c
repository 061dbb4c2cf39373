// SPDX-License-Identifier: Apache-2.0
// The denied program through links: a symlink, a linked folder, and ".." after it.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42; // the denied image runs

	(void)argv;
	pid_t pid = fork();
	if (!pid) {
		if (symlink("victim", "a") || symlink(".", "here") || symlink("denieD/sub", "far"))
			_exit(2);
		execl("./a", "a", "run", NULL);
		execl("here/victim", "a", "run", NULL);
		execl("far/../../victim", "a", "run", NULL);
		_exit(1);
	}
	verdict_child(pid);
}
