// SPDX-License-Identifier: Apache-2.0
//
// H6: four threads that stop all the time; another process wants an answer within 50 ms for nine
// of ten of its opens.
#include "cfgh.h"

static volatile long *stops;

static void *hammer(void *arg)
{
	for (;;) {
		close(open("secret", O_RDONLY));
		__atomic_add_fetch(stops, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static int later(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

// SUCCEEDED: the probe was starved. Without ptguard there is nobody to starve, so there the
// flood itself is the act: it takes effect if the secret can be opened.
int main(void)
{
	static double t[300];
	if (!tracer())
		verdict(open("secret", O_RDONLY));
	stops = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 4; i++)
			start(hammer, NULL);
		for (;;)
			pause();
	}
	must(pid, "fork");
	while (*stops < 2000)
		sched_yield();
	for (int i = 0; i < 300; i++) {
		double from = seconds();
		close(open("new", O_CREAT | O_WRONLY, 0644));
		t[i] = seconds() - from;
	}
	kill(pid, SIGKILL);
	qsort(t, 300, sizeof *t, later);
	finish(t[270] > 0.05 ? "SUCCEEDED" : "REFUSED", "latency of an open: median %.1f ms, p90 %.1f ms, max %.1f ms", t[150] * 1e3, t[270] * 1e3, t[299] * 1e3);
}
