// SPDX-License-Identifier: Apache-2.0
//
// H1: tkill of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(syscall(SYS_tkill, t, SIGTERM));
}
