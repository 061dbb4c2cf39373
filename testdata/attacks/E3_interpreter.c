// SPDX-License-Identifier: Apache-2.0
// A script of ours names the denied program as its interpreter.
#include "attack.h"

// script writes an executable file.
static void script(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	must(fd, name);
	must(write(fd, text, strlen(text)), "write");
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42; // the denied image runs

	(void)argv;
	char line[512];
	snprintf(line, sizeof line, "#!%s/victim\n", getenv("ATTACK_WORK"));
	script("script", line);
	pid_t pid = fork();
	if (!pid) {
		execl("./script", "script", NULL);
		_exit(1);
	}
	verdict_child(pid);
}
