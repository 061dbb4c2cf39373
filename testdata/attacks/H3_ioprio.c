// SPDX-License-Identifier: Apache-2.0
//
// H3: ioprio of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(syscall(SYS_ioprio_set, 1, t, (3 << 13)));
}
