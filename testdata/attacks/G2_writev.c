// SPDX-License-Identifier: Apache-2.0
//
// G2: process_vm_writev to a child.
#include "cfgh.h"
#include <sys/uio.h>

int main(void)
{
	static char own[16] = "here", put_[16] = "there";
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	must(pid, "fork");
	struct iovec l = {put_, 16}, r = {own, 16};
	long n = process_vm_writev(pid, &l, 1, &r, 1, 0);
	int e = errno;
	kill(pid, SIGKILL);
	errno = e;
	verdict(n);
}
