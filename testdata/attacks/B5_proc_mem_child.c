// SPDX-License-Identifier: Apache-2.0
// /proc/PID/mem of another process of the tree, for writing.
#include "attack.h"

int main(void)
{
	static char name[] = "secreT", path[64];
	pid_t pid = fork();
	if (!pid)
		for (;;)
			if (is_secret(open(name, O_RDONLY)))
				_exit(42);
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	int fd = open(path, O_RDWR);
	int e = errno;
	if (fd < 0 || pwrite(fd, "t", 1, (off_t)(uintptr_t)(name + 5)) != 1) {
		kill(pid, SIGKILL);
		errno = e;
		refused();
	}
	verdict_child(pid);
}
