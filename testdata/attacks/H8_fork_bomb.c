// SPDX-License-Identifier: Apache-2.0
//
// H8: 200 processes at once, each of which tries.
#include "cfgh.h"

int main(void)
{
	int won = 0, st, go[2];
	must(pipe(go), "pipe");
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();
		must(pid, "fork");
		if (pid == 0) {
			char c;
			close(go[1]);
			(void)!read(go[0], &c, 1);
			_exit(is_secret(open("secret", O_RDONLY)) ? 42 : 0);
		}
	}
	close(go[1]);
	while (wait(&st) > 0)
		won += !WIFEXITED(st) || WEXITSTATUS(st);
	errno = EPERM;
	verdict(won ? 0 : -1);
}
