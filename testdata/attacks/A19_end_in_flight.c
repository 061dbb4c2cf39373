// SPDX-License-Identifier: Apache-2.0
// The process of a thread ends while a call of that thread is carried out: by exit_group of
// a sibling, by SIGKILL of one thread, of the process, or of one that was stopped.
#include "inflight.h"

static int round_at;
static pid_t leader;

static void *ender(void *arg)
{
	soon(round_at);
	if (round_at % 4 == 0)
		syscall(SYS_exit_group, 0);
	if (round_at % 4 == 1)
		syscall(SYS_tgkill, leader, leader, SIGKILL);
	return arg;
}

int main(void)
{
	full_socket();
	for (int i = 0; race_more(); i++) {
		pid_t pid = fork();
		must(pid, "fork");
		if (!pid) {
			round_at = i;
			leader = getpid();
			flip(flying + 5, 'D', 'd');
			start(ender, NULL);
			fly(i);
		}
		if (i % 4 > 1)
			soon(i + 1);
		if (i % 4 == 3)
			kill(pid, SIGSTOP);
		if (i % 4 > 1)
			kill(pid, SIGKILL);
		wait_for(pid);
		race_won(landed(i));
	}
	race_end();
}
