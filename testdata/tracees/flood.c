// SPDX-License-Identifier: Apache-2.0
//
// flood N CALLS old|new: N processes that make calls which stop, as fast as they can, and one that
// makes CALLS of them meanwhile, older than they or newer. It prints how many the others made for
// each of its own.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long *made;

static void one(int calls, int n)
{
	while (*made < 100 * n)
		usleep(1000);
	long before = *made, most = 0;
	for (int i = 0; i < calls; i++) {
		long from = *made;
		close(open("mine", O_WRONLY | O_CREAT, 0644));
		if (*made - from > most)
			most = *made - from;
	}
	long others = *made - before;
	printf("%ld calls of others for each, %ld at most\n", others / calls, most);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), calls = atoi(argv[2]), old = argv[3][0] == 'o';
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[64], victim = 0; // n <= 64
	if (old && (victim = fork()) == 0)
		one(calls, n);
	for (int i = 0; i < n; i++)
		if ((pid[i] = fork()) == 0)
			for (;;) {
				close(open("flood", O_WRONLY | O_CREAT, 0644));
				__atomic_add_fetch(made, 1, __ATOMIC_RELAXED);
			}
	if (!old && (victim = fork()) == 0)
		one(calls, n);
	waitpid(victim, NULL, 0);
	for (int i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
