// SPDX-License-Identifier: Apache-2.0
// userfaultfd(2) for faults of user mode only, which needs no right.
#include "attack.h"

int main(void)
{
	verdict(syscall(SYS_userfaultfd, O_CLOEXEC | 1)); // UFFD_USER_MODE_ONLY
}
