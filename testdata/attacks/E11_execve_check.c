// SPDX-License-Identifier: Apache-2.0
// AT_EXECVE_CHECK asks whether the program may be executed: there is no exec to wait for, and the answer is no.
#include "attack.h"

int main(void)
{
	char *args[] = {"x", NULL}, *env[] = {NULL};
	long r = syscall(SYS_execveat, AT_FDCWD, "victim", args, env, 0x10000);
	int e = errno;
	// What ptguard keeps for an exec must not be taken for the next call.
	if (is_secret(open("secret", O_RDONLY)) && getppid() != number("ATTACK_RUNNER", 0))
		succeeded();
	errno = e;
	verdict(r);
}
