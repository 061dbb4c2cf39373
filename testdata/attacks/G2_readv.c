// SPDX-License-Identifier: Apache-2.0
//
// G2: process_vm_readv of a process outside.
#include "cfgh.h"
#include <sys/uio.h>

int main(void)
{
	static char own[16] = "here", got[16];
	pid_t pid = target();
	struct iovec l = {got, 16}, r = {own, 16};
	long n = process_vm_readv(pid, &l, 1, &r, 1, 0);
	if (n < 0 && errno == EFAULT)
		succeeded(); // it looked there
	verdict(n);
}
