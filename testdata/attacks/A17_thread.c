// SPDX-License-Identifier: Apache-2.0
// A thread, its thread, and a thread in a child: none may be without a filter.
#include "attack.h"

static void *inner(void *arg)
{
	(void)arg;
	if (is_secret(open("secret", O_RDONLY)))
		_exit(42);
	return NULL;
}

static void *outer(void *arg)
{
	pthread_join(start(inner, arg), NULL);
	return inner(arg);
}

int main(void)
{
	pid_t pid = fork();
	if (!pid) {
		pthread_join(start(outer, NULL), NULL);
		_exit(1);
	}
	verdict_child(pid);
}
