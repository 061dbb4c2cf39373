// SPDX-License-Identifier: Apache-2.0
// fifos N: N threads each wait in the open of a FIFO of their own, then the first thread opens
// the other sides, the last one first; a signal interrupts and restarts the waits meanwhile.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char names[1000][16];

static void nothing(int sig) { (void)sig; }

static void *reader(void *arg)
{
	char c = 0;
	int fd = open(arg, O_RDONLY);
	if (fd < 0 || read(fd, &c, 1) != 1)
		perror(arg);
	close(fd);
	return (void *)(long)c;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, right = 0;
	pthread_t t[1000];
	struct sigaction act = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &act, NULL);
	for (int i = 0; i < n; i++) {
		snprintf(names[i], sizeof names[i], "fifo%d", i);
		if (mkfifo(names[i], 0600) || pthread_create(&t[i], NULL, reader, names[i]))
			return 2;
	}
	for (int i = 0; i < n; i++)
		pthread_kill(t[i], SIGUSR1);
	for (int i = n - 1; i >= 0; i--) {
		char c = 'a' + i % 26;
		int fd = open(names[i], O_WRONLY);
		if (fd < 0 || write(fd, &c, 1) != 1)
			perror("write");
		close(fd);
	}
	for (int i = 0; i < n; i++) {
		void *got;
		pthread_join(t[i], &got);
		right += (long)got == 'a' + i % 26;
	}
	printf("%d of %d\n", right, n);
	return 0;
}
