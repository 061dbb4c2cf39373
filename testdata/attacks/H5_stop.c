// SPDX-License-Identifier: Apache-2.0
//
// H5: stop of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(kill(t, SIGSTOP));
}
