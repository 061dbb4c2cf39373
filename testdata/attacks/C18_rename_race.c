// SPDX-License-Identifier: Apache-2.0
//
// C18: a folder that leads to the secret is exchanged for another while a name in it is
// renamed: the secret would come away under a name that no rule knows.
#include "cfgh.h"

int main(void)
{
	struct stat a, b;
	must(mkdir("x", 0755), "mkdir");
	must(symlink(".", "y"), "symlink");
	must(stat("secret", &b), "stat");
	start_swap("x", "y");
	while (race_more()) {
		close(open("x/secret", O_CREAT | O_EXCL | O_WRONLY, 0644)); // while x is the folder
		rename("x/secret", "moved");
		int won = !stat("moved", &a) && a.st_ino == b.st_ino;
		race_won(won);
		if (won)
			rename("moved", "secret");
	}
	race_end();
}
