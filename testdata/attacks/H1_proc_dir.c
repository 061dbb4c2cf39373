// SPDX-License-Identifier: Apache-2.0
//
// H1: proc_dir of ptguard.
#include "cfgh.h"

int main(void)
{
	pid_t t = target();
	char n[64];
	snprintf(n, sizeof n, "/proc/%d", t);
	verdict(syscall(SYS_pidfd_send_signal, open(n, O_RDONLY | O_DIRECTORY), SIGTERM, NULL, 0));
}
