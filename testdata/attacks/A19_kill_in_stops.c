// SPDX-License-Identifier: Apache-2.0
// Children are killed at random instants of their refused opens; none may slip through a lost stop.
#include "attack.h"

int main(void)
{
	volatile int *hit = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 300 && !*hit; i++) {
		pid_t pid = fork();
		must(pid, "fork");
		if (!pid)
			for (;;)
				if (is_secret(open("secret", O_RDONLY)))
					*hit = 1;
		struct timespec wait = {0, (i * 7919) % 900000};
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (*hit)
		succeeded();
	finish("REFUSED", "none of 300 children");
}
