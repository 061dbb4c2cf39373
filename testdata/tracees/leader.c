// SPDX-License-Identifier: Apache-2.0
// The leader thread ends first; a second thread goes on, opens a file, starts a child and
// ends the process with status 5. Argument "exec": it calls execve instead.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int doexec;
static char state[64];

// zombie waits until the leader is a zombie, which is what main's end makes it.
static void zombie(void)
{
	char line[256];
	snprintf(state, sizeof state, "/proc/self/task/%d/stat", getpid());
	for (;;) {
		FILE *f = fopen(state, "r");
		if (!f || !fgets(line, sizeof line, f))
			exit(9);
		fclose(f);
		if (strstr(line, ") Z"))
			return;
		sched_yield();
	}
}

static void *rest(void *arg)
{
	zombie();
	if (open("made", O_CREAT | O_WRONLY, 0644) < 0)
		exit(8);
	if (doexec) {
		execl("/bin/sh", "sh", "-c", "echo exec; exit 6", (char *)0);
		exit(9);
	}
	if (system("echo child") != 0)
		exit(7);
	exit(5);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	doexec = argc > 1 && !strcmp(argv[1], "exec");
	pthread_create(&t, 0, rest, 0);
	syscall(SYS_exit, 0); // this thread only
}
