// SPDX-License-Identifier: Apache-2.0
// process_vm_writev(2) of a process into itself: into the window.
#include "attack.h"
#include <sys/uio.h>

int main(void)
{
	uintptr_t at, end;
	if (!window(&at, &end)) // bare: memory of our own
		at = (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec from = {"t", 1}, to = {(void *)at, 1};
	verdict(process_vm_writev(getpid(), &from, 1, &to, 1, 0));
}
