// SPDX-License-Identifier: Apache-2.0
// A thread executes the program anew while others are in flight; the new image opens the file first of all.
#include "attack.h"

static void *opener(void *arg)
{
	static char name[] = "secreT";
	for (;;) {
		((volatile char *)name)[5] ^= 'T' ^ 't';
		if (is_secret(open(name, O_RDONLY)))
			_exit(42);
	}
	return arg;
}

static void *execer(void *arg)
{
	usleep(500);
	execl("/proc/self/exe", "x", arg, NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 20;
	if (argc == 1) {
		pid_t pid = fork();
		if (pid)
			verdict_child(pid);
	}
	if (is_secret(open("secret", O_RDONLY)))
		_exit(42);
	if (left == 0)
		_exit(0);
	static char text[12];
	snprintf(text, sizeof text, "%d", left - 1);
	for (int i = 0; i < 4; i++)
		start(opener, NULL);
	start(execer, text);
	for (;;)
		pause();
}
