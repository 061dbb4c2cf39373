// SPDX-License-Identifier: Apache-2.0
//
// H14: CLONE_PARENT makes a child of our parent.
#include "cfgh.h"

int main(void)
{
	int p[2];
	char c = 0;
	must(pipe(p), "pipe");
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		c = is_secret(open("secret", O_RDONLY)) ? 'w' : 'l';
		(void)!write(p[1], &c, 1);
		_exit(0);
	}
	must(pid, "clone");
	must(read(p[0], &c, 1), "read");
	errno = EPERM;
	verdict(c == 'w' ? 0 : -1);
}
