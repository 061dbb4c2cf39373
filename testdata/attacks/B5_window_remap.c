// SPDX-License-Identifier: Apache-2.0
// A mapping of the program's own with MAP_FIXED over the window, a part of it, or a range around it.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	for (int i = 0; i < 4; i++) {
		uintptr_t at = i == 0 ? from : i == 1 ? to - 4096 : i == 2 ? from + 65536 : from - 65536;
		size_t size = i == 3 ? to - from + 131072 : 4096;
		if (mmap((void *)at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			succeeded();
	}
	refused();
}
