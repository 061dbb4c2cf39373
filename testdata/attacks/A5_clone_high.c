// SPDX-License-Identifier: Apache-2.0
// A new user namespace by clone(2), with junk above its flags.
#include "attack.h"

int main(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, 0xdeadbe0000000000 | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		_exit(42);
	verdict_child(pid);
}
