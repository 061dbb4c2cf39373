// SPDX-License-Identifier: Apache-2.0
//
// B17, E1: a program is executed by a descriptor that the exec closes, so that its name leads
// nowhere afterwards, while a thread flips an argument.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], "secret") ? 7 : 42;
	static char word[] = "secreT";
	int fd = open("victiM", O_PATH | O_CLOEXEC);
	must(fd, "open");
	flip(word + 5, 'T', 't');
	while (race_more()) {
		pid_t pid = vfork(); // the flipper goes on meanwhile
		if (!pid) {
			char *args[] = {"victiM", word, NULL}, *env[] = {NULL};
			syscall(SYS_execveat, fd, "", args, env, AT_EMPTY_PATH);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	race_end();
}
