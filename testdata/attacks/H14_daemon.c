// SPDX-License-Identifier: Apache-2.0
//
// H14: a daemon (setsid, double fork) is guarded like the rest.
#include "cfgh.h"

int main(void)
{
	int p[2];
	char c = 0;
	must(pipe(p), "pipe");
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			c = is_secret(open("secret", O_RDONLY)) ? 'w' : 'l';
			(void)!write(p[1], &c, 1);
		}
		_exit(0);
	}
	must(read(p[0], &c, 1), "read");
	errno = EPERM;
	verdict(c == 'w' ? 0 : -1);
}
