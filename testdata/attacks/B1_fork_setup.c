// SPDX-License-Identifier: Apache-2.0
// Images that fork from one thread while another makes the first protected open of the address
// space: the child may lack the window, and puts its own memory where it would lie.
// cc: -static
#include "attack.h"

static void *forker(void *arg)
{
	for (int i = 0; i < 6; i++) {
		pid_t pid = fork();
		if (!pid) {
			static char name[] = "secreT";
			flip(name + 5, 'T', 't');
			for (int j = 0; j < 30; j++)
				if (is_secret((int)syscall(SYS_open, name, O_RDONLY)))
					_exit(42);
			_exit(0);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		if (WIFEXITED(st) && WEXITSTATUS(st) == 42)
			_exit(42);
	}
	return arg;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		pthread_t t[2] = {start(forker, NULL), start(forker, NULL)};
		for (int j = 0; j < 10; j++)
			close((int)syscall(SYS_open, "secreT", O_RDONLY));
		pthread_join(t[0], NULL), pthread_join(t[1], NULL);
		_exit(0);
	}
	while (race_more()) {
		pid_t pid = fork();
		if (!pid) {
			execl("/proc/self/exe", argv[0], "again", NULL);
			_exit(1);
		}
		int st = 0;
		waitpid(pid, &st, 0);
		race_won(WIFEXITED(st) && WEXITSTATUS(st) == 42);
		race_tries += 11; // forks
	}
	race_end();
}
