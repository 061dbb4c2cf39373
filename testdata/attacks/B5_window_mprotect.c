// SPDX-License-Identifier: Apache-2.0
// The window is made writable, or unreadable, or executable where it is not.
#include "attack.h"

int main(void)
{
	uintptr_t from, to;
	window_or_own(&from, &to);

	if (!mprotect((void *)(to - 4096), 4096, PROT_READ | PROT_WRITE) || !mprotect((void *)from, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		succeeded();
	if (!mprotect((void *)from, 4096, PROT_NONE) || !syscall(SYS_pkey_mprotect, to - 4096, 4096, PROT_READ | PROT_WRITE, -1))
		succeeded();
	refused();
}
