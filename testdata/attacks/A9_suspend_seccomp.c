// SPDX-License-Identifier: Apache-2.0
// A tracer of its own with PTRACE_O_SUSPEND_SECCOMP.
#include "attack.h"
#include <sys/ptrace.h>
#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

int main(void)
{
	int st;
	pid_t pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(is_secret(open("secret", O_RDONLY)) ? 42 : 1);
	}
	waitpid(pid, &st, WUNTRACED);
	long r = ptrace(PTRACE_SEIZE, pid, 0, (void *)(long)PTRACE_O_SUSPEND_SECCOMP);
	int e = errno;
	kill(pid, SIGCONT);
	if (r) {
		kill(pid, SIGKILL);
		errno = e;
		refused();
	}
	for (;;) { // let every stop go on
		if (waitpid(pid, &st, __WALL) < 0)
			setup("waitpid");
		if (WIFEXITED(st))
			break;
		ptrace(PTRACE_CONT, pid, 0, 0);
	}
	if (WEXITSTATUS(st) == 42)
		succeeded();
	finish("REFUSED", "status %#x", st);
}
