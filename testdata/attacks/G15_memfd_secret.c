// SPDX-License-Identifier: Apache-2.0
//
// G15: memory that ptguard could not read.
#include "cfgh.h"

int main(void)
{
	long r = syscall(SYS_memfd_secret, 0);
	unless_absent(r);
	verdict(r);
}
