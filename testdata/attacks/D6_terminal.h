// SPDX-License-Identifier: Apache-2.0
//
// D6: ioctls of a terminal.
#include "attack.h"
#include <sys/ioctl.h>

// terminal goes on in a child of its own session and gives it a controlling terminal. The child
// ends with 42 if its act took effect.
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
