// SPDX-License-Identifier: Apache-2.0
//
// C2: the current directory moves by permitted renames while relative names are used.
#include "cfgh.h"

static void *moving(void *arg)
{
	int *top = arg;
	for (;;) {
		renameat(*top, "a", *top, "deep/a");
		renameat(*top, "deep/a", *top, "a");
	}
	return NULL;
}

int main(void)
{
	int top = open(".", O_PATH | O_DIRECTORY);
	must(mkdir("a", 0755), "mkdir");
	must(mkdir("deep", 0755), "mkdir");
	put("deep/secret", "ALLOWED", 0644);
	must(chdir("a"), "chdir");
	start(moving, &top);
	while (race_more())
		race_won(is_secret(open("../secret", O_RDONLY)));
	race_end();
}
