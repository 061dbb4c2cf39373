// SPDX-License-Identifier: Apache-2.0
// sealrace SECRET PLAIN ROUNDS: one thread exchanges the two names for ever, another opens
// the second and counts how often it got a file whose first byte is 's'.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *a, *b;
static volatile int done;

static void *flip(void *unused)
{
	while (!done)
		renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int won = 0, opened = 0;
	if (argc < 4)
		return 2;
	a = argv[1], b = argv[2];
	pthread_create(&t, 0, flip, 0);
	for (int i = atoi(argv[3]); i > 0; i--) {
		char c = 0;
		int fd = open(b, O_RDONLY);
		if (fd < 0)
			continue;
		opened++;
		if (read(fd, &c, 1) == 1 && c == 's')
			won++;
		close(fd);
	}
	done = 1;
	pthread_join(t, 0);
	printf("won %s, opened %s\n", won ? "some" : "none", opened ? "some" : "none");
	return 0;
}
