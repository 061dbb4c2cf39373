// SPDX-License-Identifier: Apache-2.0
// The window is unmapped, whole or in part, or with what lies around it.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	if (munmap((void *)from, to - from) == 0 || munmap((void *)(to - 4096), 4096) == 0 || munmap((void *)(from + 16384), 4096) == 0)
		succeeded();
	verdict(munmap((void *)(from - (1 << 20)), to - from + (2 << 20)));
}
