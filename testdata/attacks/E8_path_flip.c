// SPDX-License-Identifier: Apache-2.0
// A thread flips a letter of the name of the program to execute.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1) {
		char path[512] = "";
		(void)!readlink("/proc/self/exe", path, sizeof path - 1);
		return strstr(path, "/victim") ? 42 : 7;
	}
	(void)argv;
	static char name[] = "./victiM";
	flip(name + 7, 'M', 'm');
	while (race_more()) {
		pid_t pid = vfork();
		if (!pid) {
			execl(name, "x", "run", NULL);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	race_end();
}
