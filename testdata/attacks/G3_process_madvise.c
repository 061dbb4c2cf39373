// SPDX-License-Identifier: Apache-2.0
//
// G3: process_madvise of a process outside.
#include "cfgh.h"
#include <sys/uio.h>

int main(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec v = {p, 4096};
	int fd = (int)syscall(SYS_pidfd_open, target(), 0);
	verdict(syscall(SYS_process_madvise, fd, &v, 1, MADV_COLD, 0));
}
