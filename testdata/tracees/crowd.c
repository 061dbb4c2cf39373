// SPDX-License-Identifier: Apache-2.0
// crowd N threads|processes FILE OPENS: N others open FILE once and stay idle; then one more
// opens it OPENS times, prints the microseconds of an open, and makes the file "ready". It ends
// when its input does. With FIFOs p and q there, two more then wait for a writer, and a third comes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *file;
static int ready[2];

static void *idle(void *arg)
{
	char c = 'r';
	int fd = open(file, O_RDWR);
	if (fd < 0)
		c = 'f';
	close(fd);
	if (write(ready[1], &c, 1) != 1)
		exit(3);
	for (;;)
		pause();
	return arg;
}

// asleep waits until a thread sleeps in its open: its state says so.
static void asleep(volatile int *tid)
{
	char path[64], state = 0;
	while (state != 'S') {
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", *tid);
		FILE *f = fopen(path, "re");
		if (f && fscanf(f, "%*d %*s %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
		sched_yield();
	}
}

static volatile int tids[2];

static void *reads(void *name)
{
	tids[*(char *)name - 'p'] = gettid();
	close(open(name, O_RDONLY));
	return NULL;
}

static void *writes(void *arg)
{
	if (open("p", O_WRONLY) < 0 || open("q", O_WRONLY) < 0)
		exit(4);
	return arg;
}

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	if (argc < 5 || pipe(ready))
		return 2;
	int n = atoi(argv[1]), opens = atoi(argv[4]), bad = 0;
	file = argv[3];
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < n; i++) {
		if (strcmp(argv[2], "threads")) {
			pid_t pid = fork();
			if (pid == 0)
				idle(NULL);
			bad += pid < 0;
		} else {
			pthread_t t;
			bad += pthread_create(&t, &small, idle, NULL) != 0;
		}
	}
	for (int i = 0; i < n - bad; i++) {
		char c = 'f';
		if (read(ready[0], &c, 1) != 1 || c != 'r')
			bad++;
	}
	double from = now();
	for (int i = 0; i < opens; i++)
		close(open(file, O_RDWR));
	printf("%d idle, %d failed, %.2f us\n", n, bad, (now() - from) / (opens ? opens : 1));
	pthread_t p, q, w;
	if (access("p", F_OK) == 0) {
		pthread_create(&p, &small, reads, "p");
		pthread_create(&q, &small, reads, "q");
		asleep(&tids[0]);
		asleep(&tids[1]);
		pthread_create(&w, &small, writes, NULL);
		pthread_join(w, NULL);
		pthread_join(p, NULL);
		pthread_join(q, NULL);
		puts("met");
	}
	fflush(stdout);
	close(open("ready", O_WRONLY | O_CREAT, 0600));
	char c;
	while (read(0, &c, 1) > 0)
		;
	signal(SIGTERM, SIG_IGN);
	if (strcmp(argv[2], "threads"))
		kill(0, SIGTERM);
	return 0;
}
