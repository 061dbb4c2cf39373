// SPDX-License-Identifier: Apache-2.0
//
// C3: `..` after a link that leads outside.
#include "cfgh.h"

int main(void)
{
	struct stat st;
	must(mkdir("outside", 0755), "mkdir");
	must(symlink(outside(""), "link"), "symlink");
	int fd = open("link/../outside/new", O_CREAT | O_WRONLY, 0644); // by its text: work/outside/new
	if (fd < 0)
		refused();
	verdict(lstat(outside("new"), &st));
}
