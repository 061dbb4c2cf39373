// SPDX-License-Identifier: Apache-2.0
//
// C2: no links at all. A folder moves deeper and back by permitted renames while `..` is
// used from a descriptor within it: one level too many leads to the denied folder.
#include "cfgh.h"

static void *moving(void *arg)
{
	for (;;) {
		rename("a", "deep/a");
		rename("deep/a", "a");
	}
	return arg;
}

// From a/b, ../../secret is deep/secret (allowed) while a lies in deep, and the denied
// file otherwise.
int main(void)
{
	must(mkdir("a", 0755), "mkdir");
	must(mkdir("a/b", 0755), "mkdir");
	must(mkdir("deep", 0755), "mkdir");
	put("deep/secret", "ALLOWED", 0644);
	int b = open("a/b", O_PATH | O_DIRECTORY);
	must(b, "open a/b");
	start(moving, NULL);
	while (race_more())
		race_won(is_secret(openat(b, "../../secret", O_RDONLY)));
	race_end();
}
