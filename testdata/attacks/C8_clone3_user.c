// SPDX-License-Identifier: Apache-2.0
//
// C8: the same by clone3, whose flags lie in memory.
#include "cfgh.h"
#include <linux/sched.h>

int main(void)
{
	struct clone_args a = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof a);
	if (pid == 0)
		_exit(42);
	verdict_child(pid);
}
