// SPDX-License-Identifier: Apache-2.0
// Starts a child with CLONE_UNTRACED and prints what its open of argv[1] for writing gave.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static char stack[65536] __attribute__((aligned(16)));

static int child(void *path)
{
	return open(path, O_WRONLY) < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
	int st, p = clone(child, stack + sizeof stack, CLONE_UNTRACED | SIGCHLD, argv[argc - 1]);
	if (p < 0) {
		perror("clone");
		return 1;
	}
	waitpid(p, &st, 0);
	puts(WEXITSTATUS(st) ? strerrorname_np(WEXITSTATUS(st)) : "ok");
	return 0;
}
