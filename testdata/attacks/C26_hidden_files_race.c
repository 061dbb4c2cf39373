// SPDX-License-Identifier: Apache-2.0
//
// C26: stat of a hidden name (--hide {work}/denied), from a descriptor that a process which shares
// only the descriptors (CLONE_FILES) points to a folder without that name in between.
#include "cfgh.h"

enum { FD = 100 };

static int duping(void *arg)
{
	int *d = arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		dup2(d[0], FD);
		dup2(d[1], FD);
	}
	return 0;
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int d[2] = {open("denieD", O_PATH | O_DIRECTORY), open(".", O_PATH | O_DIRECTORY)};
	must(d[0], "open");
	must(d[1], "open");
	must(dup2(d[0], FD), "dup2");
	pid_t pid = clone(duping, stack + sizeof stack, CLONE_FILES | SIGCHLD, d);
	must(pid, "clone");
	struct stat st;
	while (race_more())
		race_won(!fstatat(FD, "denied", &st, 0));
	kill(pid, SIGKILL);
	race_end();
}
