// SPDX-License-Identifier: Apache-2.0
// The first line of a script is rewritten while it is executed.
#include "attack.h"

static char lines[2][512];
int main(int argc, char **argv)
{
	if (argc > 1) {
		char path[512] = "";
		(void)!readlink("/proc/self/exe", path, sizeof path - 1);
		return strstr(path, "/victim") ? 42 : 7;
	}
	(void)argv;
	snprintf(lines[0], 512, "#!%s/victiM x\n", getenv("ATTACK_WORK"));
	snprintf(lines[1], 512, "#!%s/victim x\n", getenv("ATTACK_WORK"));
	int fd = open("line", O_RDWR | O_CREAT, 0755);
	must(write(fd, lines[0], strlen(lines[0])), "write");
	close(fd);
	// A file that is open for writing cannot be executed: each is a new one, moved over
	// the last.
	pid_t w = fork();
	if (!w)
		for (int i = 0;; i ^= 1) {
			int f = open("new", O_WRONLY | O_CREAT | O_TRUNC, 0755);
			if (write(f, lines[i], strlen(lines[i])) < 0)
				_exit(1);
			close(f);
			rename("new", "line");
		}
	while (race_more()) {
		pid_t pid = vfork();
		if (!pid) {
			execl("./line", "line", NULL);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	kill(w, SIGKILL);
	race_end();
}
