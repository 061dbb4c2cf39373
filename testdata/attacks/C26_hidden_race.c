// SPDX-License-Identifier: Apache-2.0
//
// C26: stat of a name that flips to a hidden one (--hide {work}/denied).
#include "cfgh.h"

int main(void)
{
	static char name[] = "denieD/file";
	struct stat st, ours;
	must(stat(name, &ours), "stat");
	flip(&name[5], 'D', 'd');
	while (race_more())
		race_won(!stat(name, &st) && st.st_ino != ours.st_ino);
	race_end();
}
