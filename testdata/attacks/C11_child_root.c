// SPDX-License-Identifier: Apache-2.0
//
// C11: the magic links of another process of the tree.
#include "cfgh.h"

int main(void)
{
	char name[4200];
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	must(pid, "fork");
	snprintf(name, sizeof name, "/proc/%d/root%s", pid, work("secret"));
	int won = is_secret(open(name, O_RDONLY)), e = errno;
	snprintf(name, sizeof name, "/proc/%d/cwd/secret", pid);
	won |= is_secret(open(name, O_RDONLY));
	kill(pid, SIGKILL);
	errno = e;
	if (won)
		succeeded();
	refused();
}
