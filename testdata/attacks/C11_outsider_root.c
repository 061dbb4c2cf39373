// SPDX-License-Identifier: Apache-2.0
//
// C11: /proc/PID/root and cwd of a process outside lead to names that are allowed by their text.
#include "cfgh.h"

int main(void)
{
	char name[4200];
	int won = 0, e = 0;
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "/proc/%s/%s", getenv("ATTACK_RUNNER"), i ? "cwd" : "root/etc/passwd");
		int fd = open(name, O_RDONLY);
		e = errno;
		won |= fd >= 0;
	}
	errno = e;
	if (won)
		succeeded();
	refused();
}
