// SPDX-License-Identifier: Apache-2.0
// Makes the file "ready", then prints the name of each signal it gets; ends with status 9 on
// the signal whose number is argv[1].
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	sigset_t all;
	siginfo_t si;
	setvbuf(stdout, 0, _IOLBF, 0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, 0);
	close(open("ready", O_CREAT | O_WRONLY, 0644));
	for (;;) {
		int s = sigwaitinfo(&all, &si);
		if (s < 0)
			continue;
		printf("SIG%s\n", sigabbrev_np(s));
		if (argc > 1 && s == atoi(argv[1]))
			return 9;
	}
}
