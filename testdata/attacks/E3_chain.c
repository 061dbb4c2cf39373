// SPDX-License-Identifier: Apache-2.0
// Four scripts, each the interpreter of the next, at their end the denied program.
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
	char line[512], name[16];
	snprintf(line, sizeof line, "#!%s/victim x\n", getenv("ATTACK_WORK"));
	script("s0", line);
	for (int i = 1; i < 4; i++) {
		snprintf(line, sizeof line, "#!%s/s%d\n", getenv("ATTACK_WORK"), i - 1);
		snprintf(name, sizeof name, "s%d", i);
		script(name, line);
	}
	pid_t pid = fork();
	if (!pid) {
		execl("./s3", "s3", NULL);
		_exit(1);
	}
	verdict_child(pid);
}
