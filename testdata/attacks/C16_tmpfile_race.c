// SPDX-License-Identifier: Apache-2.0
//
// C16: linkat of an unnamed file below a folder that is exchanged for a link outside.
#include "cfgh.h"

int main(void)
{
	char n[64], to[64];
	struct stat st;
	must(mkdir("x", 0755), "mkdir");
	must(symlink(outside(""), "y"), "symlink");
	int fd = open(".", O_TMPFILE | O_RDWR, 0644);
	must(fd, "O_TMPFILE");
	snprintf(n, sizeof n, "/proc/self/fd/%d", fd);
	start_swap("x", "y");
	for (int i = 0; race_more(); i++) {
		snprintf(to, sizeof to, "x/t%d", i);
		linkat(AT_FDCWD, n, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
		race_won(!lstat(outside(to + 2), &st));
	}
	race_end();
}
