// SPDX-License-Identifier: Apache-2.0
// Syscall user dispatch: the kernel sends SIGSYS before any filter, and the handler makes the call.
#include "attack.h"
#include <sys/prctl.h>

static volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static int got = -1;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	got = (int)syscall(SYS_openat, AT_FDCWD, "secret", O_RDONLY);
	if (got < 0)
		refused();
	verdict_secret(got);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGSYS, &sa, NULL);
	must(prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L, &selector), "user dispatch");
	selector = SYSCALL_DISPATCH_FILTER_BLOCK;
	syscall(SYS_openat, AT_FDCWD, "secreT", O_RDONLY);
	selector = SYSCALL_DISPATCH_FILTER_ALLOW;
	setup("no SIGSYS");
}
