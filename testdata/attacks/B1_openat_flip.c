// SPDX-License-Identifier: Apache-2.0
// A thread flips a letter of the name that openat(2) is given.
#include "attack.h"

int main(void)
{
	static char name[] = "secreT";
	flip(name + 5, 'T', 't');
	while (race_more())
		race_won(is_secret((int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY)));
	race_end();
}
