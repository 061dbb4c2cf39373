// SPDX-License-Identifier: Apache-2.0
//
// H1: group of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(kill(-getpgid(t), 0) ? -1 : kill(t, SIGTERM));
}
