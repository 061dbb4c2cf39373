// SPDX-License-Identifier: Apache-2.0
// affinity FILE: how often the affinity is another than it must be: in a program that does
// one thing at a time or many, in what it makes, and after it has been changed. FILE is opened
// all the time, so that there are stops.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *file;
static cpu_set_t all;

static void opens(int n)
{
	for (int i = 0; i < n; i++)
		close(open(file, O_RDWR));
}

static int differs(pid_t tid, const cpu_set_t *want)
{
	cpu_set_t got;
	CPU_ZERO(&got);
	// The system call itself: the library's getter may keep what it has once seen.
	return syscall(SYS_sched_getaffinity, tid, sizeof got, &got) < 0 || !CPU_EQUAL(&got, want);
}

static int often(int n, const cpu_set_t *want)
{
	int bad = 0;
	for (int i = 0; i < n; i++) {
		opens(i % 7);
		bad += differs(0, want);
	}
	return bad;
}

static void *thread(void *want)
{
	int first = differs(0, want); // before its first open
	return (void *)(long)(first + often(50, want));
}

static int threads(int n, int at_once, cpu_set_t *want)
{
	pthread_t t[16];
	long bad = 0;
	for (int i = 0; i < n; i += at_once) {
		void *r;
		for (int j = 0; j < at_once; j++) {
			opens(9);
			if (pthread_create(&t[j], NULL, thread, want))
				exit(1);
		}
		for (int j = 0; j < at_once; j++) {
			pthread_join(t[j], &r);
			bad += (long)r;
		}
	}
	return (int)bad;
}

static int forks(int n, const cpu_set_t *want)
{
	int status;
	volatile int bad = 0; // vfork(2)
	for (volatile int i = 0; i < n; i++) {
		opens(9);
		pid_t pid = i % 2 ? fork() : vfork();
		if (pid == 0)
			_exit(differs(0, want)); // the first thing it does
		waitpid(pid, &status, 0);
		bad += status != 0;
	}
	return bad;
}

// another changes and reads the mask of a process that opens meanwhile.
static int another(int cpus)
{
	int bad = 0;
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			opens(100);
	for (int c = 0; c < CPU_SETSIZE && cpus; c++) {
		cpu_set_t one;
		if (!CPU_ISSET(c, &all))
			continue;
		cpus--;
		CPU_ZERO(&one);
		CPU_SET(c, &one);
		bad += sched_setaffinity(pid, sizeof one, &one) != 0;
		for (int i = 0; i < 50; i++) {
			opens(i % 7);
			bad += differs(pid, &one);
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return bad;
}

static void report(const char *what, int bad) { printf("%s: %d differ\n", what, bad); }

int main(int argc, char **argv)
{
	if (argc < 2 || sched_getaffinity(0, sizeof all, &all))
		return 2;
	file = argv[1];
	printf("%d CPUs\n", CPU_COUNT(&all));
	report("alone", often(200, &all));
	report("a thread after the other", threads(20, 1, &all));
	report("threads at once", threads(32, 16, &all));
	report("a process after the other", forks(30, &all));
	fflush(stdout);
	// Of each CPU alone, set by the caller as 0 and by its number.
	int own = 0, children = 0, next = 0, cpus = 0;
	for (int c = 0; c < CPU_SETSIZE && cpus < 4; c++) {
		cpu_set_t one;
		if (!CPU_ISSET(c, &all))
			continue;
		cpus++;
		CPU_ZERO(&one);
		CPU_SET(c, &one);
		opens(50);
		own += sched_setaffinity(cpus % 2 ? 0 : gettid(), sizeof one, &one) != 0;
		own += often(50, &one);
		children += forks(4, &one);
		next += threads(4, 2, &one);
		opens(50);
		own += sched_setaffinity(cpus % 2 ? gettid() : 0, sizeof all, &all) != 0;
		own += often(50, &all);
	}
	report("its own", own);
	report("its children's", children);
	report("its threads'", next);
	report("another's", another(4));
	return 0;
}
