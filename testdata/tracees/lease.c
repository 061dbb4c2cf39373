// SPDX-License-Identifier: Apache-2.0
//
// lease: one process holds a lease on a file, another truncates the file by name, which waits for
// the holder, and the first works on meanwhile before it gives the lease back.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int *truncated, broken;

static void told(int sig)
{
	broken = sig;
}

int main(void)
{
	truncated = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open("leased", O_RDONLY | O_CREAT, 0644);
	signal(SIGIO, told);
	if (fcntl(fd, F_SETLEASE, F_RDLCK))
		perror("lease");
	if (fork() == 0) {
		if (truncate("leased", 3))
			perror("truncate");
		*truncated = 1;
		_exit(0);
	}
	while (!broken)
		usleep(1000);
	for (int i = 0; i < 100; i++) {
		close(open("work", O_WRONLY | O_CREAT, 0644));
		unlink("work");
	}
	printf("%s\n", *truncated ? "truncated" : "waits");
	fcntl(fd, F_SETLEASE, F_UNLCK);
	wait(NULL);
	printf("%s %ld\n", *truncated ? "truncated" : "waits", (long)lseek(fd, 0, SEEK_END));
	return 0;
}
