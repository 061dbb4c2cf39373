// SPDX-License-Identifier: Apache-2.0
//
// H1: pidfd of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	verdict(syscall(SYS_pidfd_send_signal, (int)syscall(SYS_pidfd_open, t, 0), SIGTERM, NULL, 0));
}
