// SPDX-License-Identifier: Apache-2.0
//
// C26: what is hidden gives itself away by no errno and in no listing (--hide {work}/denied).
#include "cfgh.h"

int main(void)
{
	struct stat st;
	char b[64];
	int seen = 0;
	DIR *d = opendir(".");
	if (!d)
		setup("opendir");
	for (struct dirent *e; (e = readdir(d));)
		seen |= !strcmp(e->d_name, "denied");
	seen |= !stat("denied", &st) || errno != ENOENT;
	seen |= !access("denied", F_OK) || errno != ENOENT;
	seen |= open("denied", O_RDONLY) >= 0 || errno != ENOENT;
	seen |= open("denied/x", O_RDONLY) >= 0 || errno != ENOENT;
	seen |= !chdir("denied") || errno != ENOENT;
	seen |= readlink("denied/file", b, 1) >= 0 || errno != ENOENT;
	seen |= !rename("denied/file", "x") || errno != ENOENT;
	if (seen)
		succeeded();
	refused();
}
