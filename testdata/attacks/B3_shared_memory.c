// SPDX-License-Identifier: Apache-2.0
// The name lies in shared memory that another process writes.
#include "attack.h"

int main(void)
{
	char *name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (name == MAP_FAILED)
		setup("mmap");
	strcpy(name, "secreT");
	pid_t pid = fork();
	if (!pid)
		flipper(&(struct flip){name + 5, 'T', 't'});
	while (race_more())
		race_won(is_secret(open(name, O_RDONLY)));
	kill(pid, SIGKILL);
	race_end();
}
