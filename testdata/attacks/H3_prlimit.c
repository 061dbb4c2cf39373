// SPDX-License-Identifier: Apache-2.0
//
// H3: prlimit of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(prlimit(t, RLIMIT_CPU, &(struct rlimit){1000, 1000}, NULL));
}
