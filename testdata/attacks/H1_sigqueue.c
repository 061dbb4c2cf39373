// SPDX-License-Identifier: Apache-2.0
//
// H1: sigqueue of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(sigqueue(t, SIGTERM, (union sigval){.sival_int = 1}));
}
