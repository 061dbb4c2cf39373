// SPDX-License-Identifier: Apache-2.0
// A thread flips a letter of the name that openat2(2) is given.
#include "attack.h"
#include <linux/openat2.h>

int main(void)
{
	static char name[] = "secreT";
	struct open_how how = {.flags = O_RDONLY};
	flip(name + 5, 'T', 't');
	while (race_more())
		race_won(is_secret((int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how)));
	race_end();
}
