// SPDX-License-Identifier: Apache-2.0
// The name lies in a mapped file that another process changes with pwrite(2).
#include "attack.h"

int main(void)
{
	int fd = open("name", O_RDWR | O_CREAT, 0600);
	must(fd, "open");
	must(write(fd, "secreT", 7), "write");
	const char *name = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (name == MAP_FAILED)
		setup("mmap");
	pid_t pid = fork();
	if (!pid)
		for (;;)
			if (pwrite(fd, "t", 1, 5) + pwrite(fd, "T", 1, 5) != 2)
				_exit(1);
	while (race_more())
		race_won(is_secret(open(name, O_RDONLY)));
	kill(pid, SIGKILL);
	race_end();
}
