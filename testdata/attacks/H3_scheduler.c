// SPDX-License-Identifier: Apache-2.0
//
// H3: scheduler of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(sched_setscheduler(t, SCHED_IDLE, &(struct sched_param){0}));
}
