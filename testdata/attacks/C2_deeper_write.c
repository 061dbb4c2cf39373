// SPDX-License-Identifier: Apache-2.0
//
// C2: a folder moves deeper and back by permitted renames while names are made through `..`
// of a descriptor within it: from the work folder itself `..` leads out of it.
#include "cfgh.h"

static void *moving(void *arg)
{
	for (;;) {
		rename("a", "deep/a");
		rename("deep/a", "a");
	}
	return arg;
}

int main(void)
{
	char name[64];
	struct stat st;
	must(mkdir("a", 0755), "mkdir");
	must(mkdir("deep", 0755), "mkdir");
	must(mkdir("outside", 0755), "mkdir");
	int a = open("a", O_PATH | O_DIRECTORY);
	must(a, "open a");
	start(moving, NULL);
	for (int i = 0; race_more(); i++) { // ../../outside from a is outside; from deep/a it is work/outside
		const char *base = i % 4 < 2 ? "n" : "m";
		snprintf(name, sizeof name, "../../outside/%s%d", base, i);
		if (i % 2)
			mkdirat(a, name, 0755);
		else
			close(openat(a, name, O_CREAT | O_WRONLY, 0644));
		race_won(!lstat(outside(name + 14), &st));
	}
	race_end();
}
