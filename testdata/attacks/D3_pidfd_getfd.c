// SPDX-License-Identifier: Apache-2.0
// pidfd_getfd(2) takes a descriptor from a process outside the tree.
#include "attack.h"

int main(void)
{
	int p = (int)syscall(SYS_pidfd_open, number("ATTACK_RUNNER", 1), 0);
	if (p < 0)
		refused();
	verdict(syscall(SYS_pidfd_getfd, p, 0, 0));
}
