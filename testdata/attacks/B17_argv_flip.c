// SPDX-License-Identifier: Apache-2.0
// A thread flips an argument between one that is allowed and one that is not.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], "secret") ? 7 : 42;
	static char word[] = "secreT";
	flip(word + 5, 'T', 't');
	while (race_more()) {
		pid_t pid = vfork(); // the flipper goes on meanwhile
		if (!pid) {
			execl("./victiM", "victiM", word, NULL);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	race_end();
}
