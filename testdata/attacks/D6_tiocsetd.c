// SPDX-License-Identifier: Apache-2.0
// TIOCSETD gives a terminal another line discipline.
#include "attack.h"
#include <sys/ioctl.h>

static int terminal(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY);
	must(m, "posix_openpt");
	must(grantpt(m), "grantpt");
	must(unlockpt(m), "unlockpt");
	pid_t pid = fork();
	if (pid)
		verdict_child(pid);
	setsid();
	int s = open(ptsname(m), O_RDWR); // our controlling terminal
	if (s < 0)
		_exit(2);
	return s;
}

int main(void)
{
	int s = terminal(), n_tty = 0;
	_exit(ioctl(s, TIOCSETD, &n_tty) ? 1 : 42);
}
