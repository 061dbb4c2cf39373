// SPDX-License-Identifier: Apache-2.0
// A set-uid program of root's, started by another user.
#include "attack.h"

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return geteuid() == 0 ? 42 : 1;
	must(chmod("victiM", 04755), "chmod");
	pid_t pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		execl("./victiM", "x", "run", NULL);
		_exit(1);
	}
	verdict_child(pid);
}
