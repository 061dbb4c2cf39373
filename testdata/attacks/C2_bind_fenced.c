// SPDX-License-Identifier: Apache-2.0
//
// C2, G20: bind below a folder that another process, which has put itself under Landlock,
// exchanges for a link to ../outside. ptguard does not make the changes of such a process.
#include "cfgh.h"
#include <linux/landlock.h>

static void fence(void)
{
	struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	must(fd, "landlock_create_ruleset");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(syscall(SYS_landlock_restrict_self, fd, 0), "landlock_restrict_self");
}

int main(void)
{
	must(mkdir("x", 0755), "mkdir");
	must(symlink(outside(""), "y"), "symlink");
	pid_t pid = fork();
	must(pid, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fence();
		for (;;)
			exchange("x", "y");
	}
	for (int i = 0; race_more(); i++) {
		char name[64];
		snprintf(name, sizeof name, "x/s%d", i);
		struct sockaddr_un a = unix_name(name);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		must(s, "socket");
		bind(s, (struct sockaddr *)&a, sizeof a);
		close(s);
		snprintf(name, sizeof name, "s%d", i);
		race_won(access(outside(name), F_OK) == 0);
	}
	kill(pid, SIGKILL);
	race_end();
}
