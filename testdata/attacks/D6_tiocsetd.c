// SPDX-License-Identifier: Apache-2.0
// TIOCSETD gives a terminal another line discipline.
#include "D6_terminal.h"

int main(void)
{
	int s = terminal(), n_tty = 0;
	_exit(ioctl(s, TIOCSETD, &n_tty) ? 1 : 42);
}
