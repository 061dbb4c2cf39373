// SPDX-License-Identifier: Apache-2.0
//
// C8: the same by clone.
#include "cfgh.h"

int main(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(42);
	verdict_child(pid);
}
