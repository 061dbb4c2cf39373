// SPDX-License-Identifier: Apache-2.0
// Names with bytes that records and patterns could take for something else.
#include "attack.h"

int main(void)
{
	static const char *const names[] = {"denied/a\n{\"allow\":true}", "denied/\033[2K", "denied/ ", "denied/*", "denied/\xff\xfe", "denied/a\\", "denied/\""};
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (open(names[i], O_WRONLY | O_CREAT, 0600) >= 0)
			succeeded();
	refused();
}
