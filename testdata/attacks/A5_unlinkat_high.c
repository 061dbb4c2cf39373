// SPDX-License-Identifier: Apache-2.0
// unlinkat(2) with AT_REMOVEDIR and junk.
#include "attack.h"

int main(void)
{
	verdict(syscall(SYS_unlinkat, 0xdeadbeefffffff9c, "denied/sub", 0xdeadbeef00000000 | AT_REMOVEDIR));
}
