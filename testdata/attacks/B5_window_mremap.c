// SPDX-License-Identifier: Apache-2.0
// The window is moved away, shrunk, or something is moved over it.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	void *own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mremap((void *)(to - 8192), 8192, 4096, 0) != MAP_FAILED || mremap((void *)from, to - from, to - from, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) != MAP_FAILED)
		succeeded();
	if (mremap((void *)from, to - from, 2 * (to - from), MREMAP_MAYMOVE) != MAP_FAILED)
		succeeded();
	if (mremap(own, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(to - 4096)) != MAP_FAILED)
		succeeded();
	refused();
}
