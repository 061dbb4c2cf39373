// SPDX-License-Identifier: Apache-2.0
// The denied program through a descriptor: execveat, and /proc/self/fd.
#include "attack.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		return 42; // the denied image runs

	(void)argv;
	pid_t pid = fork();
	if (!pid) {
		int fd = open("victim", O_PATH);
		char *args[] = {"x", "run", NULL}, *env[] = {NULL}, path[64];
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		syscall(SYS_execveat, fd, "", args, env, AT_EMPTY_PATH);
		execve(path, args, env);
		execve("/proc/self/root/proc/self/cwd/victim", args, env);
		_exit(1);
	}
	verdict_child(pid);
}
