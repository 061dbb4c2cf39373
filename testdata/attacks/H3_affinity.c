// SPDX-License-Identifier: Apache-2.0
//
// H3: affinity of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	cpu_set_t c;
	CPU_ZERO(&c);
	CPU_SET(0, &c);
	verdict(sched_setaffinity(t, sizeof c, &c));
}
