// SPDX-License-Identifier: Apache-2.0
//
// H4: the files of /proc/PID of ptguard.
#include "cfgh.h"

int main(void)
{
	static const char *files[] = {"mem", "environ", "maps", "auxv", "fd", "fdinfo", "root/etc/passwd", "cwd/secreT", "exe", "oom_score_adj", "timerslack_ns", "task"};
	char n[128];
	pid_t t = target();
	int won = 0;
	for (unsigned i = 0; i < 11; i++) {
		snprintf(n, sizeof n, "/proc/%d/%s", t, files[i]);
		int fd = open(n, i >= 9 ? O_WRONLY : O_RDONLY);
		if (fd >= 0) {
			fprintf(stderr, "opened %s\n", n);
			won = 1;
		}
	}
	if (won)
		succeeded();
	refused();
}
