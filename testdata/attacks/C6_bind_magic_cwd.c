// SPDX-License-Identifier: Apache-2.0
//
// C6, C11: bind below /proc/self/cwd while another thread changes between a folder of our own and the denied one.
#include "cfgh.h"

static int ok, bad;

static void *duping(void *arg)
{
	for (;;) {
		fchdir(ok);
		fchdir(bad);
	}
	return arg;
}

int main(void)
{
	const char *work = getenv("ATTACK_WORK");
	char name[64], there[4200];
	struct stat st;
	must(mkdir("mine", 0755), "mkdir");
	must(ok = open("mine", O_PATH | O_DIRECTORY), "open");
	must(bad = open("denied", O_PATH | O_DIRECTORY), "open");
	start(duping, NULL);
	for (int i = 0; race_more(); i++) {
		struct sockaddr_un u;
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		snprintf(name, sizeof name, "/proc/self/cwd/n%d", i);
		snprintf(there, sizeof there, "%s/denied/n%d", work, i);
		u = unix_name(name);
		bind(s, (struct sockaddr *)&u, sizeof u);
		close(s);
		race_won(!lstat(there, &st));
		unlink(there);
	}
	race_end();
}
