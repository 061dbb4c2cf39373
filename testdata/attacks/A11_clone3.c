// SPDX-License-Identifier: Apache-2.0
// clone3(2), whose flags lie in memory.
#include "attack.h"

int main(void)
{
	uint64_t args[8] = {CLONE_UNTRACED, 0, 0, 0, SIGCHLD, 0, 0, 0};
	pid_t pid = (pid_t)syscall(SYS_clone3, args, sizeof args);
	if (!pid)
		_exit(is_secret(open("secret", O_RDONLY)) ? 42 : 1);
	verdict_child(pid);
}
