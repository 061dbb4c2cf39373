// SPDX-License-Identifier: Apache-2.0
//
// C26: stat through a folder that is exchanged for a link to a hidden one (--hide
// {work}/denied).
#include "cfgh.h"

int main(void)
{
	struct stat st, ours;
	must(mkdir("x", 0755), "mkdir");
	put("x/file", "ALLOWED", 0644);
	must(symlink("denied", "y"), "symlink");
	must(stat("x/file", &ours), "stat");
	start_swap("x", "y");
	while (race_more())
		race_won(!stat("x/file", &st) && st.st_ino != ours.st_ino);
	race_end();
}
