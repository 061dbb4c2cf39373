// SPDX-License-Identifier: Apache-2.0
//
// cancel N: N threads that open a file all the time are cancelled asynchronously, wherever they
// are, and one that waits in the open of a FIFO is. Prints how many unwound their clean-up.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile int cleaned, opening;

static void clean(void *arg)
{
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void *opener(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(clean, NULL);
	for (;;) {
		int fd = open("opened", O_WRONLY | O_CREAT, 0644);
		opening = 1;
		close(fd);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void *waiter(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	opening = 1;
	open("fifo", O_RDONLY);
	pthread_cleanup_pop(0);
	return NULL;
}

static int cancelled(void *(*run)(void *), int delay)
{
	pthread_t t;
	void *result;
	opening = 0;
	pthread_create(&t, NULL, run, NULL);
	while (!opening)
		;
	usleep(delay);
	pthread_cancel(t);
	pthread_join(t, &result);
	return result == PTHREAD_CANCELED;
}

int main(int argc, char **argv)
{
	int n = 0, fifo;
	for (int i = 0; i < atoi(argv[1]); i++)
		n += cancelled(opener, i % 50);
	// A thread that is found in the first or last instruction of a function may not unwind.
	if (cleaned * 10 >= n * 9)
		printf("%d cancelled, and cleaned up\n", n);
	else
		printf("%d cancelled, %d cleaned up\n", n, cleaned);
	cleaned = 0;
	mkfifo("fifo", 0644);
	fifo = cancelled(waiter, 20000);
	printf("fifo: %d cancelled, %d cleaned up\n", fifo, cleaned);
	return 0;
}
