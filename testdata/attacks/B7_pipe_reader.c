// SPDX-License-Identifier: Apache-2.0
// The kernel writes the name: a read(2) of a pipe into it, with no thread of ours that could be held.
#include "attack.h"

static char name[] = "secreT";
static int p[2];
static void *reader(void *arg)
{
	while (read(p[0], name + 5, 1) == 1)
		;
	return arg;
}

int main(void)
{
	if (pipe(p))
		setup("pipe");
	pid_t pid = fork();
	if (!pid)
		for (;;)
			if (write(p[1], "tTtT", 4) < 0)
				_exit(1);
	start(reader, NULL);
	while (race_more())
		race_won(is_secret(open(name, O_RDONLY)));
	kill(pid, SIGKILL);
	race_end();
}
