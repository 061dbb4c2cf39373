// SPDX-License-Identifier: Apache-2.0
// A jump into the stub that this very task has just used: its frame is there still, its words
// are the old ones, and only the registers are new.
#include "attack.h"

void own_syscall(void);
__asm__(".globl own_syscall\nown_syscall: syscall\nret\n");

int main(void)
{
	static const char name[] = "secret";
	uintptr_t from, to;
	int have = window(&from, &to);
	for (int i = 0; i < (have ? 256 : 1); i++) {
		int first = open("secreT", O_RDONLY); // a fresh frame in one of the stubs
		close(first);
		uintptr_t at = have ? from + (uintptr_t)i * 48 : (uintptr_t)own_syscall;
		pid_t pid = fork();
		if (!pid) {
			register long r10 __asm__("r10") = 0;
			long r;
			close(open("secreT", O_RDONLY));
			__asm__ volatile("sub $128, %%rsp\ncall *%5\nadd $128, %%rsp" : "=a"(r) : "a"((long)SYS_openat), "D"((long)AT_FDCWD), "S"(name), "d"((long)O_RDONLY), "r"(at), "r"(r10) : "rcx", "r11", "memory");
			_exit(is_secret((int)r) ? 42 : 1);
		}
		int st;
		must(waitpid(pid, &st, 0), "waitpid");
		if (WIFEXITED(st) && WEXITSTATUS(st) == 42)
			succeeded();
	}
	finish("REFUSED", "no stub opened it");
}
