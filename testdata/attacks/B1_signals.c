// SPDX-License-Identifier: Apache-2.0
// A timer interrupts the opens at all instants; its handler opens flipped names, too, and is
// interrupted itself, deeper than ptguard keeps frames.
#include "attack.h"
#include <sys/time.h>

static char name[] = "secreT", inner[] = "secreT";
static __thread int depth;

static void handler(int sig)
{
	int e = errno;
	if (++depth < 14) {
		race_won(is_secret(open(inner, O_RDONLY)));
		if (depth % 2)
			raise(sig);
	}
	depth--;
	errno = e;
}

int main(void)
{
	sigset_t none;
	sigemptyset(&none);
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NODEFER};
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_flags = SA_NODEFER;
	sigaction(SIGUSR1, &sa, NULL);
	flip(name + 5, 'T', 't');
	flip(inner + 5, 'T', 't');
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	struct itimerval every = {{0, 700}, {0, 700}};
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; race_more(); i++) {
		race_won(is_secret(open(name, O_RDONLY)));
		if (i % 16 == 0)
			raise(SIGUSR1);
	}
	race_end();
}
