// SPDX-License-Identifier: Apache-2.0
// process_vm_writev(2) into another process of the tree.
#include "attack.h"
#include <sys/uio.h>

int main(void)
{
	static char name[] = "secreT";
	pid_t pid = fork();
	if (!pid)
		for (;;)
			if (is_secret(open(name, O_RDONLY)))
				_exit(42);
	struct iovec from = {"t", 1}, to = {name + 5, 1};
	if (process_vm_writev(pid, &from, 1, &to, 1, 0) < 0) {
		int e = errno;
		kill(pid, SIGKILL);
		errno = e;
		refused();
	}
	verdict_child(pid);
}
