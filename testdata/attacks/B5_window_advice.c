// SPDX-License-Identifier: Apache-2.0
// Advice that drops, frees, wipes or poisons pages: the content must stay.
#include "attack.h"
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	int was = ((volatile char *)from)[0], changed = 0;
	if (getppid() == number("ATTACK_RUNNER", 0)) { // bare: private memory loses what was written
		char *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		*own = 1;
		madvise(own, 4096, MADV_DONTNEED);
		verdict(*(volatile char *)own ? -1 : 0);
	}
	static const int advice[] = {MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_WIPEONFORK, MADV_DONTDUMP, MADV_PAGEOUT, MADV_COLD, MADV_HUGEPAGE, 24, MADV_COLLAPSE};
	for (unsigned i = 0; i < sizeof advice / sizeof *advice; i++) {
		madvise((void *)from, to - from, advice[i]);
		changed |= ((volatile char *)from)[0] != was;
	}
	pid_t pid = fork();
	if (!pid)
		_exit(changed || ((volatile char *)from)[0] != was ? 42 : 1);
	verdict_child(pid);
}
