// SPDX-License-Identifier: Apache-2.0
// MADV_DONTFORK: a child would lack the window and could map its own memory there. Whole, one
// page, and with a range around it.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	int r = madvise((void *)from, to - from, MADV_DONTFORK) && madvise((void *)(to - 4096), 4096, MADV_DONTFORK);
	if (r && madvise((void *)(from - 4096), to - from + 8192, MADV_DONTFORK) && madvise((void *)(uintptr_t)((to - 4096) | 0), 1, MADV_DONTFORK)) {
		pid_t pid = fork();
		if (!pid)
			_exit(mmap((void *)(to - 4096), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? 1 : 42);
		verdict_child(pid);
	}
	pid_t pid = fork();
	if (!pid)
		_exit(mmap((void *)(to - 4096), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED ? 1 : 42);
	verdict_child(pid);
}
