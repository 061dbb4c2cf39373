// SPDX-License-Identifier: Apache-2.0
// The name is flipped by a process that shares the memory but is no thread.
#include "attack.h"

static char stack[1 << 16] __attribute__((aligned(16)));
static char name[] = "secreT";
static struct flip f = {name + 5, 'T', 't'};
static int child(void *arg)
{
	flipper(arg);
	return 0;
}

int main(void)
{
	pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, &f);
	must(pid, "clone");
	while (race_more())
		race_won(is_secret(open(name, O_RDONLY)));
	kill(pid, SIGKILL);
	race_end();
}
