// SPDX-License-Identifier: Apache-2.0
//
// C3: `..` after a link is the parent of what the link leads to, not of the link.
#include "cfgh.h"

int main(void)
{
	must(mkdir("a", 0755), "mkdir");
	put("a/file", "ALLOWED", 0644);
	must(symlink("../denied/sub", "a/link"), "symlink");
	verdict_secret(open("a/link/../file", O_RDONLY)); // by its text: a/file
}
