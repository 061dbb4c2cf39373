// SPDX-License-Identifier: Apache-2.0
// TIOCVHANGUP ends what everybody has open of a terminal, and its session, as vhangup(2) does.
#include "D6_terminal.h"
#include <signal.h>

int main(void)
{
	int s = terminal();
	signal(SIGHUP, SIG_IGN);
	_exit(ioctl(s, 0x5437) ? 1 : 42);
}
