// SPDX-License-Identifier: Apache-2.0
//
// C13: execveat with an empty name, of an O_PATH descriptor of a program that must not run.
#include "cfgh.h"

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "again"))
		_exit(42);
	int fd = open("victim", O_PATH);
	must(fd, "open O_PATH");
	pid_t pid = fork();
	if (pid == 0) {
		syscall(SYS_execveat, fd, "", (char *[]){"v", "again", NULL}, NULL, AT_EMPTY_PATH);
		_exit(1);
	}
	verdict_child(pid);
}
