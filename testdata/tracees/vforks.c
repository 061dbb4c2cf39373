// SPDX-License-Identifier: Apache-2.0
// A storm: four threads, each 100 times vfork, execve, wait.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static long bad[4];

static void *storm(void *arg)
{
	for (int i = 0; i < 100; i++) {
		int st, p = vfork();
		if (p == 0) {
			execl("/bin/true", "true", (char *)0);
			_exit(99);
		}
		if (p < 0 || waitpid(p, &st, 0) != p || st != 0)
			bad[(long)arg]++;
	}
	return 0;
}

int main(void)
{
	pthread_t t[4];
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], 0, storm, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	printf("bad %ld\n", bad[0] + bad[1] + bad[2] + bad[3]);
	return 0;
}
