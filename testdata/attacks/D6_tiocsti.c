// SPDX-License-Identifier: Apache-2.0
// TIOCSTI types into a terminal; the kernel drops what lies above the low word of the command.
#include "D6_terminal.h"

int main(void)
{
	int s = terminal();
	_exit(syscall(SYS_ioctl, s, 0xdeadbeef00000000 | TIOCSTI, "x") ? 1 : 42);
}
