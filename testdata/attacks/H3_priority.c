// SPDX-License-Identifier: Apache-2.0
//
// H3: priority of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(setpriority(PRIO_PROCESS, (id_t)t, 10));
}
