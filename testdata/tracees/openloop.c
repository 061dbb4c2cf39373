// SPDX-License-Identifier: Apache-2.0
// openloop FILE N: opens and closes a file N times and prints the nanoseconds of one turn.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	close(open(argv[1], O_RDONLY)); // what is set up once is not counted
	double from = now();
	for (long i = 0; i < n; i++) {
		int fd = open(argv[1], O_RDONLY);
		if (fd < 0) {
			perror(argv[1]);
			return 1;
		}
		close(fd);
	}
	printf("%.0f\n", (now() - from) / (double)n);
	return 0;
}
