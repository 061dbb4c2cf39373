// SPDX-License-Identifier: Apache-2.0
//
// C15: O_CREAT through a dangling link that is exchanged for one that dangles outside.
#include "cfgh.h"

int main(void)
{
	struct stat st;
	must(symlink("mine", "x"), "symlink");
	must(symlink(outside("made"), "y"), "symlink");
	start_swap("x", "y");
	while (race_more()) {
		int fd = open("x", O_CREAT | O_WRONLY, 0644);
		int won = fd >= 0 && !fstat(fd, &st);
		if (won) {
			struct stat o;
			won = !lstat(outside("made"), &o) && o.st_ino == st.st_ino;
		}
		if (fd >= 0)
			close(fd);
		unlink("mine");
		race_won(won);
	}
	race_end();
}
