// SPDX-License-Identifier: Apache-2.0
//
// C6: a process that shares only the current directory (CLONE_FS) changes it.
#include "cfgh.h"

static int changing(void *arg)
{
	int *d = arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		(void)!fchdir(d[0]);
		(void)!fchdir(d[1]);
	}
	return 0;
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int d[2] = {open("denieD", O_PATH | O_DIRECTORY), open("denied", O_PATH | O_DIRECTORY)};
	must(d[0], "open");
	must(d[1], "open");
	must(chdir("denieD"), "chdir");
	pid_t pid = clone(changing, stack + sizeof stack, CLONE_FS | SIGCHLD, d);
	must(pid, "clone");
	while (race_more())
		race_won(is_secret(open("file", O_RDONLY)));
	kill(pid, SIGKILL);
	race_end();
}
