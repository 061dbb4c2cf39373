// SPDX-License-Identifier: Apache-2.0
//
// H1, C4: pidfd_send_signal on a number that flips between a child's /proc directory and that
// of a process outside. What was sent and has not come to the child has gone outside.
#include "cfgh.h"

static int own, other, fd = 100;
static volatile int *came;

static void *duping(void *arg)
{
	for (;;) {
		dup2(own, fd);
		dup2(other, fd);
	}
	return arg;
}

static void count(int sig)
{
	(void)sig;
	++*came;
}

int main(void)
{
	char path[64];
	int ready[2];
	char c;
	came = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(pipe(ready), "pipe");
	pid_t pid = fork();
	must(pid, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGRTMAX, count);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	(void)!read(ready[0], &c, 1);
	snprintf(path, sizeof path, "/proc/%d", pid);
	must(own = open(path, O_RDONLY | O_DIRECTORY), path);
	snprintf(path, sizeof path, "/proc/%d", number("ATTACK_RUNNER", 0));
	must(other = open(path, O_RDONLY | O_DIRECTORY), path);
	start(duping, NULL);
	int sent = 0;
	for (unsigned i = 1; race_more(); i++) {
		sent += !syscall(SYS_pidfd_send_signal, fd, SIGRTMAX, NULL, 0);
		if (i % 64)
			continue;
		// Queued signals are not lost: the time is only for a child that gets no processor.
		double until = seconds() + 1;
		while (*came < sent && seconds() < until)
			usleep(100);
		for (; sent > *came; sent--)
			race_won(1);
	}
	kill(pid, SIGKILL);
	race_end();
}
