// SPDX-License-Identifier: Apache-2.0
// LD_PRELOAD of a denied library into an allowed program.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42; // the denied image runs

	(void)argv;
	// The program itself is no library; that the loader maps the file at all is what shows.
	pid_t pid = fork();
	if (!pid) {
		int p[2];
		if (pipe(p))
			_exit(2);
		pid_t inner = fork();
		if (!inner) {
			dup2(p[1], 2);
			setenv("LD_PRELOAD", "./victim", 1);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		close(p[1]);
		char text[512] = "";
		ssize_t n = 0, r;
		while ((r = read(p[0], text + n, sizeof text - 1 - (size_t)n)) > 0)
			n += r;
		waitpid(inner, NULL, 0);
		// "cannot dynamically load executable" is said after its pages are mapped.
		_exit(strstr(text, "dynamically load") ? 42 : 1);
	}
	verdict_child(pid);
}
