// SPDX-License-Identifier: Apache-2.0
//
// G3: kcmp of two processes outside.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(syscall(SYS_kcmp, t, t, 1 /* KCMP_VM */, 0, 0));
}
