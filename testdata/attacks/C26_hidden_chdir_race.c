// SPDX-License-Identifier: Apache-2.0
//
// C26: chdir to a name that flips to a hidden folder (--hide {work}/denied).
#include "cfgh.h"

int main(void)
{
	static char name[4200];
	char now[4200];
	strcpy(name, work("denieD"));
	flip(&name[strlen(name) - 1], 'D', 'd');
	while (race_more())
		race_won(!chdir(name) && getcwd(now, sizeof now) && strstr(now, "/denied"));
	race_end();
}
