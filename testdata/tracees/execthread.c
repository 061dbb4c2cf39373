// SPDX-License-Identifier: Apache-2.0
// A thread that is not the leader calls execve while the leader and others sit in pause.
#include <pthread.h>
#include <unistd.h>

static void *idle(void *arg)
{
	pause();
	return arg;
}

static void *run(void *arg)
{
	execl("/bin/sh", "sh", "-c", "echo from thread $$; exit 7", (char *)0);
	return arg;
}

int main(void)
{
	pthread_t t;
	for (int i = 0; i < 8; i++)
		pthread_create(&t, 0, idle, 0);
	pthread_create(&t, 0, run, 0);
	pause();
}
