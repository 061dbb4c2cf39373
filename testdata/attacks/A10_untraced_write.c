// SPDX-License-Identifier: Apache-2.0
// CLONE_UNTRACED again, by a task that shares memory and descriptors with its maker.
#include "attack.h"

static char stack[1 << 16] __attribute__((aligned(16)));
static int child(void *arg)
{
	(void)arg;
	return open("../outside/file", O_WRONLY) < 0 ? 1 : 42;
}

int main(void)
{
	verdict_child(clone(child, stack + sizeof stack, CLONE_UNTRACED | CLONE_VM | CLONE_FILES | SIGCHLD, NULL));
}
