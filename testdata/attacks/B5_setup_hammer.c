// SPDX-License-Identifier: Apache-2.0
//
// B5, A20: while the first judged call of an address space brings the window in, a thread maps
// memory of its own over the whole range in which windows lie. If an open then succeeds without
// a window of ptguard's, the call ran on arguments that we could have changed.
// cc: -static
#include "attack.h"

#define FIRST 0x7e8000000000UL
#define SPAN ((1UL << 34) + (1UL << 20))

static volatile int go;

static void *hammer(void *arg)
{
	while (!go)
		;
	for (;;)
		mmap((void *)FIRST, SPAN, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	return arg;
}

static int missing(void)
{
	char text[1 << 16], *at;
	int fd = open("/proc/self/maps", O_RDONLY), found = 0;
	ssize_t n;
	while (fd >= 0 && (n = read(fd, text, sizeof text - 1)) > 0) {
		text[n] = 0;
		for (at = text; (at = strstr(at, "/memfd:ptguard")); at++)
			found++;
	}
	close(fd);
	return fd >= 0 && !found;
}

int main(void)
{
	while (race_more()) {
		pid_t pid = fork();
		must(pid, "fork");
		if (!pid) {
			alarm(2);
			start(hammer, NULL);
			go = 1;
			int fd = open("secreT", O_RDONLY);
			_exit(fd >= 0 && missing() ? 42 : 7);
		}
		int st;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
	}
	race_end();
}
