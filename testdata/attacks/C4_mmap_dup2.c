// SPDX-License-Identifier: Apache-2.0
//
// C4, E2: an executable mapping of a descriptor that flips between an allowed program and one
// that must not run. The process may be killed for it, so children try.
#include "cfgh.h"

static int ok, bad, fd = 100;
static long *count;

static void *duping(void *arg)
{
	for (;;) {
		dup2(ok, fd);
		dup2(bad, fd);
	}
	return arg;
}

static int mapped(void *p)
{
	char line[512];
	int won = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f)) {
		unsigned long at;
		if (sscanf(line, "%lx-", &at) == 1 && at == (unsigned long)p)
			won = strstr(line, "/victim\n") != NULL;
	}
	if (f)
		fclose(f);
	return won;
}

static void try(void)
{
	start(duping, NULL);
	while (race_more()) {
		count[1]++;
		void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			continue;
		if (mapped(p)) {
			race_won(1);
			count[0]++;
		}
		munmap(p, 4096);
	}
	_exit(0);
}

int main(void)
{
	int st = 0;
	must(ok = open("victiM", O_RDONLY), "open");
	must(bad = open("victim", O_RDONLY), "open");
	dup2(ok, fd);
	count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	race_more(); // the time runs from here, in the children too
	do {
		pid_t pid = fork();
		must(pid, "fork");
		if (pid == 0)
			try();
		waitpid(pid, &st, 0);
	} while (!WIFEXITED(st));
	race_wins = count[0];
	race_tries = count[1];
	race_end();
}
