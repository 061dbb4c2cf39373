// SPDX-License-Identifier: Apache-2.0
// A thread that is not the leader executes while a call of the leader is carried out: the
// leader is gone, and the new image has its id. What comes of the old call must not be
// taken for the first calls of the new image, which are refused.
#include "inflight.h"

static int round_at;

static void *execer(void *arg)
{
	char text[12];
	snprintf(text, sizeof text, "%d", round_at);
	soon(round_at);
	execl("/proc/self/exe", "x", text, NULL);
	_exit(1);
	return arg;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		char name[64];
		snprintf(name, sizeof name, "denied/n%s", argv[1]);
		mkdir(name, 0755);
		_exit(is_secret(open("secret", O_RDONLY)) ? 42 : 0);
	}
	full_socket();
	for (int i = 0; race_more(); i++) {
		int st = 0;
		pid_t pid = fork();
		must(pid, "fork");
		if (!pid) {
			round_at = i;
			flip(flying + 5, 'D', 'd');
			start(execer, NULL);
			fly(i);
		}
		while (waitpid(pid, &st, 0) < 0)
			;
		race_won(landed(i) || (WIFEXITED(st) && WEXITSTATUS(st) == 42));
	}
	race_end();
}
