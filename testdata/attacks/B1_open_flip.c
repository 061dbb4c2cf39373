// SPDX-License-Identifier: Apache-2.0
// A thread flips one letter of the name that open(2) is given.
#include "attack.h"

int main(void)
{
	static char name[] = "secreT";
	flip(name + 5, 'T', 't');
	while (race_more())
		race_won(is_secret((int)syscall(SYS_open, name, O_RDONLY)));
	race_end();
}
