// SPDX-License-Identifier: Apache-2.0
// A vfork child opens while a thread of its parent flips the name.
#include "attack.h"

static char name[] = "secreT";

int main(void)
{
	flip(name + 5, 'T', 't');
	while (race_more()) {
		volatile int won = 0;
		pid_t pid = vfork();
		if (!pid) {
			for (int i = 0; i < 8; i++)
				won |= is_secret((int)syscall(SYS_open, name, O_RDONLY));
			_exit(0);
		}
		must(pid, "vfork");
		waitpid(pid, NULL, 0);
		race_won(won);
	}
	race_end();
}
