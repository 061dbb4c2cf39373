// SPDX-License-Identifier: Apache-2.0
// CLONE_UNTRACED: a child that no tracer hears of.
#include "attack.h"

int main(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(is_secret(open("secret", O_RDONLY)) ? 42 : 1);
	verdict_child(pid);
}
