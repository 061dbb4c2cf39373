// SPDX-License-Identifier: Apache-2.0
//
// C17: a hard link is made to a name that is exchanged between a file of our own and a link
// to the secret: the new name would give what the old one does not.
#include "cfgh.h"

int main(void)
{
	must(symlink("secreT", "x"), "symlink");
	must(symlink("secret", "y"), "symlink");
	start_swap("x", "y");
	while (race_more()) {
		unlink("l");
		linkat(AT_FDCWD, "x", AT_FDCWD, "l", AT_SYMLINK_FOLLOW);
		struct stat a, b;
		race_won(!stat("l", &a) && !stat("secret", &b) && a.st_ino == b.st_ino);
	}
	race_end();
}
