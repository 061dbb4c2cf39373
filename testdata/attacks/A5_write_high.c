// SPDX-License-Identifier: Apache-2.0
// The flag that makes an open a write, with junk above.
#include "attack.h"

int main(void)
{
	verdict(syscall(SYS_openat, 0xdeadbeefffffff9c, "../outside/file", 0xdeadbeef00000000 | O_WRONLY | O_APPEND, 0));
}
