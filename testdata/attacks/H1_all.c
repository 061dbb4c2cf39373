// SPDX-License-Identifier: Apache-2.0
//
// H1: kill(-1) reaches the tree only: a process outside lives on. Without ptguard it would be
// everybody, so one child stands for all.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	signal(SIGTERM, SIG_IGN);
	if (tracer()) {
		kill(-1, SIGTERM);
		kill(0, SIGTERM);
		verdict(kill(number("ATTACK_RUNNER", 0), 0));
	}
	verdict(kill(t, SIGTERM));
}
