// SPDX-License-Identifier: Apache-2.0
// 200 threads, all alive at once, each opens and writes a file of its own.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 200 };
static pthread_barrier_t all;
static long sum;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	long i = (long)arg;
	char name[32];
	pthread_barrier_wait(&all);
	snprintf(name, sizeof name, "t%03ld", i);
	int fd = open(name, O_CREAT | O_WRONLY, 0644);
	if (fd >= 0 && write(fd, name, 4) == 4) {
		pthread_mutex_lock(&mu);
		sum += i;
		pthread_mutex_unlock(&mu);
	}
	close(fd);
	return 0;
}

int main(void)
{
	pthread_t t[N];
	pthread_barrier_init(&all, 0, N);
	for (long i = 0; i < N; i++)
		if (pthread_create(&t[i], 0, work, (void *)i))
			return 1;
	for (int i = 0; i < N; i++)
		pthread_join(t[i], 0);
	printf("sum %ld\n", sum);
	return 0;
}
