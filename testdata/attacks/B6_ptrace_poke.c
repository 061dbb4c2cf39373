// SPDX-License-Identifier: Apache-2.0
// A tracer of its own writes into another process of the tree.
#include "attack.h"
#include <sys/ptrace.h>

int main(void)
{
	static char name[8] = "secreT";
	int st;
	pid_t pid = fork();
	if (!pid)
		for (;;)
			if (is_secret(open(name, O_RDONLY)))
				_exit(42);
	if (ptrace(PTRACE_ATTACH, pid, 0, 0)) {
		int e = errno;
		kill(pid, SIGKILL);
		errno = e;
		refused();
	}
	waitpid(pid, &st, 0);
	long word;
	memcpy(&word, "secret\0", 8);
	ptrace(PTRACE_POKEDATA, pid, name, (void *)word);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	verdict_child(pid);
}
