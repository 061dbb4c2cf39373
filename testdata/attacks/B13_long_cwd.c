// SPDX-License-Identifier: Apache-2.0
// A relative name below a folder whose own name is longer than a path can be.
#include "attack.h"

int main(void)
{
	static char part[201];
	memset(part, 'd', 200);
	must(mkdir("denieD/deep", 0755), "mkdir");
	must(chdir("denieD/deep"), "chdir");
	for (int i = 0; i < 25; i++) {
		must(mkdir(part, 0755), "mkdir");
		must(chdir(part), "chdir");
	}
	static char up[4096];
	for (int i = 0; i < 27; i++)
		strcat(up, "../");
	strcat(up, "secret");
	verdict_secret(open(up, O_RDONLY));
}
