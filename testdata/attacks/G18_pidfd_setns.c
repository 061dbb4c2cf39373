// SPDX-License-Identifier: Apache-2.0
//
// G18: setns by pidfd.
#include "cfgh.h"

int main(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	must(fd, "pidfd_open");
	verdict(setns(fd, CLONE_NEWUTS));
}
