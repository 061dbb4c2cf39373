// SPDX-License-Identifier: Apache-2.0
//
// H8: 500 threads at once, each of which opens its own and the secret.
#include "cfgh.h"

static int won, bad;

static void *storm(void *arg)
{
	for (int i = 0; i < 4; i++) {
		int fd = open("secreT", O_RDONLY);
		if (fd < 0)
			__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
		close(fd);
		if (is_secret(open("secret", O_RDONLY)))
			__atomic_add_fetch(&won, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

int main(void)
{
	pthread_t t[500];
	for (int i = 0; i < 500; i++)
		t[i] = start(storm, NULL);
	for (int i = 0; i < 500; i++)
		pthread_join(t[i], NULL);
	if (bad)
		finish("SUCCEEDED", "%d opens of an allowed file failed", bad);
	errno = EPERM;
	verdict(won ? 0 : -1);
}
