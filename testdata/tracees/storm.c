// SPDX-License-Identifier: Apache-2.0
//
// storm threads|forks|files N TRIES: N threads at once, or N processes alive at once, open
// "secret" TRIES times each; files: "plain" is opened until no descriptor is left, then closed
// again, N times, with TRIES of "secret" in between. It prints what came of all opens.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct { long opened, refused, other, started; } *sum;
static int tries;
static pthread_barrier_t all;

static void open_secret(void)
{
	for (int i = 0; i < tries; i++) {
		int fd = open("secret", O_RDONLY);
		if (fd >= 0)
			close(fd);
		__atomic_add_fetch(fd >= 0 ? &sum->opened : errno == EPERM ? &sum->refused : &sum->other, 1, __ATOMIC_RELAXED);
	}
}

static void *thread(void *unused)
{
	pthread_barrier_wait(&all);
	open_secret();
	return unused;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	int n = atoi(argv[2]);
	tries = atoi(argv[3]);
	sum = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(argv[1], "threads")) {
		pthread_t t[n];
		pthread_attr_t small;
		pthread_attr_init(&small);
		pthread_attr_setstacksize(&small, 64 << 10);
		pthread_barrier_init(&all, NULL, n);
		for (int i = 0; i < n; i++)
			if (pthread_create(&t[i], &small, thread, NULL))
				return 1;
		for (int i = 0; i < n; i++)
			pthread_join(t[i], NULL);
	} else if (!strcmp(argv[1], "forks")) {
		for (int i = 0; i < n; i++)
			if (fork() == 0) { // no process ends before the last is there
				__atomic_add_fetch(&sum->started, 1, __ATOMIC_RELAXED);
				while (__atomic_load_n(&sum->started, __ATOMIC_RELAXED) < n)
					usleep(1000);
				open_secret();
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
	} else {
		struct rlimit l = {200, 200};
		setrlimit(RLIMIT_NOFILE, &l);
		for (int i = 0; i < n; i++) {
			int fd, last = 0;
			while ((fd = open("plain", O_RDONLY)) >= 0)
				last = fd;
			printf("%d %s\n", last, strerror(errno));
			close(last);
			open_secret();
			for (fd = 3; fd < last; fd++)
				close(fd);
		}
	}
	printf("opened %ld refused %ld other %ld\n", sum->opened, sum->refused, sum->other);
	return 0;
}
