// SPDX-License-Identifier: Apache-2.0
//
// C11: /proc/PID/task/TID/cwd.
#include "cfgh.h"

int main(void)
{
	char name[128];
	snprintf(name, sizeof name, "/proc/%d/task/%d/cwd/../work/secret", getpid(), gettid());
	verdict_secret(open(name, O_RDONLY));
}
