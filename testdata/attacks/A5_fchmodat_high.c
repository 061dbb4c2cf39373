// SPDX-License-Identifier: Apache-2.0
// fchmodat(2) with junk in its dirfd and mode.
#include "attack.h"

int main(void)
{
	verdict(syscall(SYS_fchmodat, 0xdeadbeefffffff9c, "denied/file", 0xdeadbeef00000000 | 0600));
}
