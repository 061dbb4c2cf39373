// SPDX-License-Identifier: Apache-2.0
//
// C15: spellings of the last component.
#include "cfgh.h"

int main(void)
{
	static const char *names[] = {"./secret", ".//secret", "denied/../secret", "denied//file", "denied/./file",
	                              "denied/sub/../file", "./././secret", "denieD/../denied/file"};
	int won = 0;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		won += is_secret(open(names[i], O_RDONLY));
	if (won)
		succeeded();
	refused();
}
