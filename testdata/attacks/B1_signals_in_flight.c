// SPDX-License-Identifier: Apache-2.0
// Signals come while calls of a thread are carried out: a timer whose handler makes such
// calls itself, and SIGSTOP and SIGCONT from another process.
#include "inflight.h"

static char inner[64] = "denieD/";

static void handler(int sig)
{
	int e = errno;
	static __thread int depth;
	if (++depth < 4) {
		mkdir(inner, 0755);
		rmdir(inner);
		if (depth % 2)
			raise(sig);
	}
	depth--;
	errno = e;
}

int main(void)
{
	full_socket();
	for (int i = 0; race_more(); i++) {
		pid_t pid = fork();
		must(pid, "fork");
		if (!pid) {
			snprintf(inner + 7, sizeof inner - 7, "n%d", i);
			sigset_t all, none;
			sigfillset(&all);
			sigemptyset(&none);
			pthread_sigmask(SIG_SETMASK, &all, NULL); // the flippers take no signals
			flip(flying + 5, 'D', 'd');
			flip(inner + 5, 'D', 'd');
			struct sigaction sa = {.sa_handler = handler, .sa_flags = (i & 1 ? SA_RESTART : 0) | SA_NODEFER};
			sigaction(SIGALRM, &sa, NULL);
			struct itimerval every = {{0, 500}, {0, 500}};
			setitimer(ITIMER_REAL, &every, NULL);
			pthread_sigmask(SIG_SETMASK, &none, NULL);
			fly(i);
		}
		for (int n = 0; n < 8; n++) {
			soon(i + n);
			kill(pid, SIGSTOP);
			kill(pid, SIGCONT);
		}
		kill(pid, SIGKILL);
		wait_for(pid);
		race_won(landed(i));
	}
	race_end();
}
