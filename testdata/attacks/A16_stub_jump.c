// SPDX-License-Identifier: Apache-2.0
// A jump into each stub of the window, with a call of our own in the registers.
#include "attack.h"

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

int main(void)
{
	static const char name[] = "secret";
	for (stub = 0; stub < 256; stub++) {
		pid_t pid = fork();
		if (!pid) {
			uintptr_t at = syscall_at(stub);
			for (int fd = 3; fd < 10; fd++)
				close(fd);
			register long r10 __asm__("r10") = 0;
			long r;
			signal(SIGSEGV, SIG_DFL);
			__asm__ volatile("sub $128, %%rsp\ncall *%5\nadd $128, %%rsp" : "=a"(r) : "a"((long)SYS_openat), "D"((long)AT_FDCWD), "S"(name), "d"((long)O_RDONLY), "r"(at), "r"(r10) : "rcx", "r11", "memory");
			for (int fd = 3; fd < 10; fd++)
				if (is_secret(fd))
					_exit(42);
			_exit(1);
		}
		int st;
		must(waitpid(pid, &st, 0), "waitpid");
		if (WIFEXITED(st) && WEXITSTATUS(st) == 42)
			succeeded();
	}
	finish("REFUSED", "no stub opened it");
}
