// SPDX-License-Identifier: Apache-2.0
// Fork, vfork, clone and threads in a storm; each newborn opens the file first of all.
#include "attack.h"

static volatile int *hit;
static void *newborn(void *arg)
{
	if (is_secret((int)syscall(SYS_open, "secret", O_RDONLY)))
		*hit = 1;
	return arg;
}

static void *forker(void *arg)
{
	for (int i = 0; i < 60 && !*hit; i++) {
		pid_t pid = (pid_t)(i % 3 == 0 ? syscall(SYS_fork) : i % 3 == 1 ? syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
		if (!pid) {
			newborn(NULL);
			_exit(0);
		}
		if (pid > 0 && i % 3 != 1)
			waitpid(pid, NULL, 0);
		pthread_t t;
		if (!pthread_create(&t, NULL, newborn, NULL))
			pthread_join(t, NULL);
	}
	return arg;
}

int main(void)
{
	hit = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		t[i] = start(forker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	if (*hit)
		succeeded();
	finish("REFUSED", "no newborn");
}
