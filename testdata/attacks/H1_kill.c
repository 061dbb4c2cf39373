// SPDX-License-Identifier: Apache-2.0
//
// H1: kill of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(kill(t, 0) ? -1 : kill(t, SIGTERM));
}
