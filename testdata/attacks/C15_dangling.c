// SPDX-License-Identifier: Apache-2.0
//
// C15: O_CREAT follows a dangling link and makes its target.
#include "cfgh.h"

int main(void)
{
	struct stat st;
	must(symlink(outside("made"), "x"), "symlink");
	must(symlink("x", "y"), "symlink");
	if (open("y", O_CREAT | O_WRONLY, 0644) < 0)
		refused();
	verdict(lstat(outside("made"), &st));
}
