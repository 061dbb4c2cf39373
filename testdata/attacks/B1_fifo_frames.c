// SPDX-License-Identifier: Apache-2.0
// Twelve opens of FIFOs wait in handlers nested in each other; then all are restarted or ended in
// turn, while their names are changed.
#include "attack.h"

static char names[16][16];
static int depth;

static void handler(int sig)
{
	(void)sig;
	int mine = ++depth;
	for (int i = 0; i < mine; i++)
		strcpy(names[i], "secret");
	if (mine < 12) {
		strcpy(names[mine], "fifo");
		if (is_secret(open(names[mine], O_RDONLY)))
			succeeded();
	}
}

static void *interrupt(void *arg)
{
	for (int i = 0; i < 400; i++) {
		usleep(5000);
		pthread_kill(*(pthread_t *)arg, i % 2 ? SIGUSR1 : SIGUSR2);
	}
	finish("REFUSED", "depth %d", depth);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_NODEFER};
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	must(mkfifo("fifo", 0600), "mkfifo");
	pthread_t self = pthread_self();
	start(interrupt, &self);
	strcpy(names[0], "fifo");
	for (int i = 0; i < 50; i++)
		if (is_secret(open(names[0], O_RDONLY)))
			succeeded();
	pause();
	finish("REFUSED", "depth %d", depth);
}
