// SPDX-License-Identifier: Apache-2.0
//
// A15, A16: an open waits in a FIFO; the handler of a signal with SA_RESTART makes it lead to the
// secret, and the kernel makes the call again.
#include "attack.h"

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

// restarted opens name in the calling thread, which the handler is to interrupt.
static _Noreturn void restarted(struct sigaction sa, const char *name)
{
	sa.sa_flags |= SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	must(mkfifo("fifo", 0600), "mkfifo");
	opener = pthread_self();
	static int tid;
	tid = gettid();
	start(interrupt, &tid);
	verdict_secret((int)syscall(SYS_open, name, O_RDONLY));
}
