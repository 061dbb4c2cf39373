// SPDX-License-Identifier: Apache-2.0
// The numbers that ptguard uses inside, called by the program: they would plant a descriptor.
// Bare, they are no calls; a memfd of its own stands for what they would give.
#include "attack.h"

static void *caller(void *arg)
{
	for (;;) {
		if (syscall(0x3ffff, 0, 0, 0) >= 0 || syscall(0x3fffe, 0, 0, 0) >= 0)
			succeeded();
	}
	return arg;
}

int main(void)
{
	if (getppid() == number("ATTACK_RUNNER", 0)) // bare
		verdict(memfd_create("gift", 0));
	start(caller, NULL);
	start(caller, NULL);
	for (int i = 0; i < 2000; i++) { // gifts for this thread: opens of an object without a name
		int p[2];
		char name[64];
		if (pipe(p))
			setup("pipe");
		snprintf(name, sizeof name, "/proc/self/fd/%d", p[0]);
		int fd = open(name, O_RDONLY | O_NONBLOCK);
		must(fd, "reopen a pipe");
		if (syscall(0x3ffff, 0, 0, 0) >= 0)
			succeeded();
		close(fd), close(p[0]), close(p[1]);
	}
	errno = ENOSYS;
	refused();
}
